import { once } from 'node:events'
import { request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import Schema from 'typebox/schema'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { MAX_LISTENERS } from '../../../src/adapters/admin/event-feed.ts'
import { EventSchema } from '../../../src/adapters/admin/schemas/event-schema.ts'
import type { ProxyEvent } from '../../../src/proxy/proxy-event.ts'
import { startAdmin } from './admin-client.ts'
import type { Admin } from './admin-client.ts'
import { peerAsked, requestEnded } from './fake-proxy.ts'

let admin: Admin
beforeEach(async () => {
  admin = await startAdmin()
})
afterEach(async () => admin.server.close())

describe('the event stream', () => {
  test('delivers each event with its kind, a growing id and the event as data', async () => {
    const stream = await open()
    admin.proxy.emit(peerAsked())
    admin.proxy.emit(requestEnded({ url: 'http://a/\n\ndata: forged' }))
    const first = await stream.next()
    const second = await stream.next()
    expect([first.event, second.event]).toEqual(['peer-asked', 'request-ended'])
    expect(second.data).toMatchObject({ kind: 'request-ended', url: 'http://a/\n\ndata: forged' })
    expect(Number(second.id!.split('-')[1])).toBe(Number(first.id!.split('-')[1]) + 1)
    expect(stream.response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    stream.close()
  })

  test('goes on after the last event that the reader has had', async () => {
    const stream = await open()
    admin.proxy.emit(requestEnded({ url: 'http://a/1' }))
    const { id } = await stream.next()
    stream.close()
    admin.proxy.emit(requestEnded({ url: 'http://a/2' }))
    const again = await open({ 'last-event-id': id! })
    expect(await again.next()).toMatchObject({ data: { url: 'http://a/2' } })
    again.close()
  })

  test('has room for so many readers; one more is told to come later, and a place is free once one has gone', async () => {
    const streams = await Promise.all(Array.from({ length: MAX_LISTENERS }, async () => open()))
    const refused = await admin.ask('GET', '/v1/events')
    expect(refused.status).toBe(503)
    expect(refused.headers['retry-after']).toBe('10')
    expect(refused.json).toMatchObject({ type: 'urn:summary-cache:problem:too-many-listeners', status: 503 })

    streams[0]!.close()
    await vi.waitFor(async () => (await open()).close())
    for (const stream of streams) stream.close()
  })

  test('sends a comment now and then, so that what lies between keeps the connection open', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] })
    try {
      const stream = await open()
      const chunk = once(stream.response, 'data')
      vi.advanceTimersByTime(15_000)
      expect(String((await chunk)[0])).toBe(': heartbeat\n\n')
      stream.close()
    } finally {
      vi.useRealTimers()
    }
  })

  test('tells a reader that does not read how many events it has lost, and keeps no more than its backlog', async () => {
    const stream = await open()
    stream.response.pause()
    const url = `http://a/${'x'.repeat(8000)}`
    const count = 4000
    for (let number = 0; number < count; number++) {
      admin.proxy.emit(requestEnded({ url: `${url}${number}` }))
      if (number % 50 === 0) await new Promise(setImmediate)
    }
    let had = 0
    let lost = 0
    while (had + lost < count) {
      const { data } = await stream.next()
      if (data['kind'] === 'dropped') lost += Number(data['count'])
      else had++
    }
    expect(lost).toBeGreaterThan(0)
    expect(had + lost).toBe(count)
    stream.close()
  })

  test('ends when the server stops, which does not wait for its readers', async () => {
    const stream = await open()
    const ended = once(stream.response, 'end')
    stream.response.resume()
    await admin.server.close()
    await ended
    expect(admin.proxy.listeners.size).toBe(0)
  })

  test('is subscribed to only while the server listens', () => {
    expect(admin.proxy.listeners.size).toBe(1)
  })
})

test('every kind of event is as its schema says', () => {
  const events: ProxyEvent[] = [
    requestEnded(),
    requestEnded({ contentType: undefined, server: 'www.example.com', outcome: 'miss' }),
    peerAsked(),
    peerAsked({ outcome: 'false-hit', cause: 'pending-clear' }),
    { kind: 'local-miss', peers: 2, icpQueryBytes: 120, icpReplyBytes: 100 },
    { kind: 'origin-asked', outcome: 'fetched' },
    { kind: 'digest-sent', frame: 'delta', count: 2, bytes: 90 },
    { kind: 'digest-received', peer: 'b', frame: 'snapshot', count: 1, bytes: 9000 },
    { kind: 'peer-changed', peer: 'b', state: 'recovered', reason: 'its replica is proved' },
    { kind: 'peer-turned-away', peer: '10.0.0.9', cause: 'share', reason: 'more than its share' },
    { kind: 'digest-turned', incarnation: 1_764_547_200_000, generation: 3, reason: 'age' },
  ]
  for (const event of events) {
    expect(Schema.Check(EventSchema, JSON.parse(JSON.stringify(event))), event.kind).toBe(true)
  }
  expect(Schema.Check(EventSchema, { kind: 'unheard-of' })).toBe(false)
})

interface StreamMessage {
  readonly id?: string
  readonly event?: string
  readonly data: Readonly<Record<string, unknown>>
}

async function open(headers: Readonly<Record<string, string>> = {}) {
  const outgoing = request({ host: '127.0.0.1', port: admin.port, path: '/v1/events', agent: false, headers })
  outgoing.end()
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`)
  response.setEncoding('utf8')
  const messages = parse(response)
  return {
    response,
    async next(): Promise<StreamMessage> {
      return (await messages.next()).value as StreamMessage
    },
    close: () => outgoing.destroy(),
  }
}

async function* parse(response: IncomingMessage): AsyncGenerator<StreamMessage, undefined> {
  let rest = ''
  for await (const chunk of response) {
    const blocks = (rest + String(chunk)).split('\n\n')
    rest = blocks.pop()!
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split('\n').map((line) => line.split(/: (.*)/s, 2)))
      if (fields['data'] !== undefined) yield { ...fields, data: JSON.parse(fields['data']) }
    }
  }
  return undefined
}
