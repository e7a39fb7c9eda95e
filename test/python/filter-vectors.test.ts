import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MalformedFilterError } from '../../src/core/filter/filter-format.ts'
import { loadFilter } from '../../src/core/filter/filter-kinds.ts'
import { KeyHasher } from '../../src/core/filter/key-hasher.ts'
import { murmur3 } from '../../src/core/filter/murmur3.ts'
import { filterVectors, type FilterVector, type FilterVectors } from './filter-vectors.ts'

const FILE = 'test/vectors/filters.json'
const vectors = JSON.parse(readFileSync(FILE, 'utf8')) as FilterVectors

interface Answer {
  readonly name: string
  readonly head?: readonly number[]
  readonly entries?: number
  readonly answers?: string
  readonly refused?: string
}

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'summary-cache-python-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

function pythonReads(file: string): Answer[] {
  const text = execFileSync('python3', ['test/python/filter_reader.py', file], { encoding: 'utf8', maxBuffer: 2 ** 26 })
  return JSON.parse(text) as Answer[]
}

test('the vectors are what this implementation writes', async () => {
  await expect(`${JSON.stringify(filterVectors(), null, 1)}\n`).toMatchFileSnapshot('../vectors/filters.json')
})

test('a reader in Python answers the same for every key of every vector', () => {
  const expected = vectors.filters.map(({ name, head, entries, answers }) => ({ name, head, entries, answers }))
  expect(pythonReads(FILE)).toEqual(expected)
  // None of them is trivially right.
  expect(new Set(vectors.filters.map(({ answers }) => answers)).size).toBeGreaterThan(20)
})

test('a file of vectors has every kind under every scheme that it can have', () => {
  const held = new Set(vectors.filters.map(({ head }) => `${head[0]} under ${head[1]}`))
  // A scalable Bloom filter has no MD5 form.
  expect(held.size).toBe(8 * 3 - 1)
})

test('a reader in Python without the secret refuses a keyed filter by the name of its key', () => {
  const keyed = vectors.filters.filter(({ secret }) => secret !== null)
  const file = join(folder, 'keyed.json')
  writeFileSync(file, JSON.stringify({ ...vectors, filters: keyed.map((each) => ({ ...each, secret: null })) }))
  const expected = keyed.map(({ name, head }) => ({ name, refused: `no secret of 16 bytes for key ${head[3]}` }))
  expect(pythonReads(file)).toEqual(expected)
})

describe('what is malformed', () => {
  function resealed(bytes: Buffer): Buffer {
    const words = new Uint32Array(4)
    murmur3(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0, bytes.length - 8, words)
    bytes.writeUInt32BE(words[0]!, bytes.length - 8)
    bytes.writeUInt32BE(words[1]!, bytes.length - 4)
    return bytes
  }

  interface Reading {
    readonly answers?: string
    readonly refused?: string
  }

  const asked = vectors.members.slice(0, 3)
  const secret = Buffer.alloc(16)

  function ours(filter: string): Reading {
    try {
      const loaded = loadFilter(Buffer.from(filter, 'base64'))
      const { hashScheme, keyId } = loaded.hashing
      const hasher =
        hashScheme === 1 ? KeyHasher.murmur3() : hashScheme === 2 ? KeyHasher.md5(16) : KeyHasher.siphash(secret, keyId)
      const claims = asked.map((key) => loaded.mayContain(hasher.hashBytes(Buffer.from(key, 'hex'))))
      return { answers: claims.map((claimed) => (claimed ? '1' : '0')).join('') }
    } catch (error) {
      if (!(error instanceof MalformedFilterError)) throw error
      return { refused: error.message.replace('no usable filter: ', '') }
    }
  }

  test('is refused by both readers, and by the same name where the format gives it one, or answered alike', () => {
    const broken: Pick<FilterVector, 'name' | 'filter' | 'secret'>[] = []
    for (const { name, filter } of vectors.filters.filter((_, i) => i % 3 === 0)) {
      const whole = Buffer.from(filter, 'base64')
      const add = (what: string, bytes: Buffer): void => {
        broken.push({ name: `${name}: ${what}`, filter: bytes.toString('base64'), secret: secret.toString('hex') })
      }
      add('a byte less', whole.subarray(0, -1))
      add('a byte more', Buffer.concat([whole, Buffer.of(0)]))
      for (const at of [0, 3, 4, 5, 6, 7, 11, 15, 19, 23, 27, 31, 35, 36, whole.length - 9]) {
        // Whether a scalable filter's sizes follow from n0 and P takes logarithms to tell, and changes no answer.
        if (name.startsWith('scalable') && (at === 23 || at === 27)) continue
        for (const by of [1, 0x80]) {
          const flipped = Buffer.from(whole)
          flipped[at]! ^= by
          add(`byte ${at} ^ ${by}`, flipped)
          add(`byte ${at} ^ ${by}, resealed`, resealed(Buffer.from(flipped)))
        }
      }
    }
    const file = join(folder, 'broken.json')
    writeFileSync(file, JSON.stringify({ members: asked, strangers: [], filters: broken }))
    const theirs = pythonReads(file)
    const named = /^(?:it does not begin|unknown|its checksum|bits behind|a body of|\d+ bytes, where)/
    const seen = { refused: 0, named: new Set<string>(), answered: 0 }
    const differ: string[] = []
    for (const [i, { name, filter }] of broken.entries()) {
      const { answers, refused } = ours(filter)
      const other = theirs[i]!
      const isNamed = refused !== undefined && named.test(refused)
      if (refused === undefined) seen.answered++
      else seen.refused++
      if (isNamed) seen.named.add(refused.replaceAll(/\d+/g, 'n'))
      const agree = isNamed
        ? refused === other.refused
        : answers === other.answers && (refused === undefined) === (other.refused === undefined)
      if (!agree) differ.push(`${name}: ${refused ?? answers}, and theirs ${other.refused ?? other.answers}`)
    }
    expect(differ).toEqual([])
    expect(seen.refused).toBeGreaterThan(500)
    expect(seen.answered).toBeGreaterThan(100)
    expect([...seen.named].sort()).toEqual([
      'a body of n bytes for n bits',
      'bits behind its end are set',
      'it does not begin with SCF',
      'its checksum is wrong',
      'n bytes, where its head says n',
      'unknown cache-key rules n',
      'unknown flags n',
      'unknown hash scheme n',
      'unknown kind n',
      'unknown version n',
    ])
  })
})
