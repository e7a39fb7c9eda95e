import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { MalformedFilterError } from '../../src/core/filter/filter-format.ts'
import { loadFilter } from '../../src/core/filter/filter-kinds.ts'
import { murmur3 } from '../../src/core/filter/murmur3.ts'
import { filterVectors, type FilterVector, type FilterVectors } from './filter-vectors.ts'

const FILE = 'test/vectors/filters.json'
const vectors = JSON.parse(readFileSync(FILE, 'utf8')) as FilterVectors

interface Answer {
  readonly name: string
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
  const expected = vectors.filters.map(({ name, entries, answers }) => ({ name, entries, answers }))
  expect(pythonReads(FILE)).toEqual(expected)
  // None of them is trivially right.
  expect(new Set(vectors.filters.map(({ answers }) => answers)).size).toBeGreaterThan(20)
})

describe('what is malformed', () => {
  function resealed(bytes: Buffer): Buffer {
    const words = new Uint32Array(4)
    murmur3(new DataView(bytes.buffer, bytes.byteOffset, bytes.length), 0, bytes.length - 8, words)
    bytes.writeUInt32BE(words[0]!, bytes.length - 8)
    bytes.writeUInt32BE(words[1]!, bytes.length - 4)
    return bytes
  }

  test('is refused by both readers, or by neither', () => {
    const broken: Pick<FilterVector, 'name' | 'filter' | 'secret'>[] = []
    for (const { name, filter } of vectors.filters.filter((_, i) => i % 3 === 0)) {
      const whole = Buffer.from(filter, 'base64')
      const add = (what: string, bytes: Buffer): void => {
        broken.push({ name: `${name}: ${what}`, filter: bytes.toString('base64'), secret: '00'.repeat(16) })
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
    writeFileSync(file, JSON.stringify({ members: vectors.members.slice(0, 3), strangers: [], filters: broken }))
    const theirs = pythonReads(file).map(({ refused }) => refused !== undefined)
    const ours = broken.map(({ filter }) => {
      try {
        loadFilter(Buffer.from(filter, 'base64'))
        return false
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedFilterError)
        return true
      }
    })
    const differ = broken.flatMap(({ name }, i) => (ours[i] === theirs[i] ? [] : [`${name}: ours ${ours[i]}`]))
    expect(differ).toEqual([])
    expect(ours.filter(Boolean).length).toBeGreaterThan(500)
  })
})
