import { readFileSync } from 'node:fs'
import type { Static } from 'typebox'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { openapiDocument } from '../../../src/adapters/admin/openapi-document.ts'
import type { EntrySchema, ExplanationSchema } from '../../../src/adapters/admin/schemas/cache-schemas.ts'
import type { OwnDigestSchema, ReplicaSchema } from '../../../src/adapters/admin/schemas/digest-schemas.ts'
import type { PeerSchema } from '../../../src/adapters/admin/schemas/peer-schemas.ts'
import type { ClusterSchema, StatisticsSchema } from '../../../src/adapters/admin/schemas/statistics-schemas.ts'
import type { StatusSchema } from '../../../src/adapters/admin/schemas/status-schemas.ts'
import type {
  ClusterView,
  EntryView,
  Explanation,
  OwnDigestView,
  PeerView,
  ProxyStatus,
  ReplicaView,
  Statistics,
} from '../../../src/proxy/views.ts'

const PUBLISHED = new URL('../../../openapi/openapi.json', import.meta.url)

interface Document {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}
interface Operation {
  readonly operationId?: string
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly responses: Readonly<Record<string, unknown>>
}

describe('the OpenAPI document', () => {
  test('openapi/openapi.json is what the routes say (npm run openapi writes it)', async () => {
    expect(readFileSync(PUBLISHED, 'utf8')).toBe(`${JSON.stringify(await openapiDocument(), null, 2)}\n`)
  })

  test('every operation has a name of its own, a summary and a tag', async () => {
    const { paths } = (await openapiDocument()) as Document
    const operations = Object.values(paths).flatMap((path) => Object.values(path))
    expect(operations.length).toBe(19)
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
    for (const operation of operations)
      expect(operation).toMatchObject({ summary: expect.any(String), tags: [expect.any(String)] })
  })

  test('every reference leads to a component, and every component but that of the stream is referred to', async () => {
    const document = (await openapiDocument()) as Document
    const references = new Set(JSON.stringify(document).match(/(?<="\$ref":")[^"]+/g))
    const components = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`)
    for (const reference of references) expect(components).toContain(reference)
    expect(components.filter((component) => !references.has(component))).toEqual(['#/components/schemas/Event'])
  })

  test('what may be null says so', async () => {
    const { schemas } = ((await openapiDocument()) as Document).components
    expect(schemas['Peer']).toMatchObject({
      properties: { digest: { anyOf: [{ $ref: '#/components/schemas/Replica' }, { type: 'null' }] } },
    })
    expect(schemas['Guesses']).toMatchObject({ properties: { measuredError: { type: ['number', 'null'] } } })
    expect(schemas['Entry']).toMatchObject({ properties: { contentType: { type: ['string', 'null'] } } })
  })
})

test('a schema and the view that it describes are one type', () => {
  expectTypeOf<Static<typeof StatusSchema>>().toExtend<ProxyStatus>()
  expectTypeOf<ProxyStatus>().toExtend<Static<typeof StatusSchema>>()
  expectTypeOf<Static<typeof StatisticsSchema>>().toExtend<Statistics>()
  expectTypeOf<Statistics>().toExtend<Static<typeof StatisticsSchema>>()
  expectTypeOf<Static<typeof PeerSchema>>().toExtend<PeerView>()
  expectTypeOf<PeerView>().toExtend<Static<typeof PeerSchema>>()
  expectTypeOf<Static<typeof ReplicaSchema>>().toExtend<ReplicaView>()
  expectTypeOf<ReplicaView>().toExtend<Static<typeof ReplicaSchema>>()
  expectTypeOf<Static<typeof OwnDigestSchema>>().toExtend<OwnDigestView>()
  expectTypeOf<OwnDigestView>().toExtend<Static<typeof OwnDigestSchema>>()
  expectTypeOf<Static<typeof EntrySchema>>().toExtend<EntryView>()
  expectTypeOf<EntryView>().toExtend<Static<typeof EntrySchema>>()
  expectTypeOf<Static<typeof ExplanationSchema>>().toExtend<Explanation>()
  expectTypeOf<Explanation>().toExtend<Static<typeof ExplanationSchema>>()
  expectTypeOf<Static<typeof ClusterSchema>>().toExtend<ClusterView>()
  expectTypeOf<ClusterView>().toExtend<Static<typeof ClusterSchema>>()
})
