import { expect, test } from 'vitest'
import { copyWords } from '../../../src/core/digest/copy-words.ts'
import { DigestMatrix } from '../../../src/core/digest/digest-matrix.ts'
import { MatrixRows } from '../../../src/core/digest/matrix-rows.ts'
import { BitArray } from '../../../src/core/filter/bit-array.ts'
import { geometryFor } from '../../../src/core/filter/filter-geometry.ts'
import { PositionList } from '../../../src/core/filter/position-list.ts'
import { randomPositions, seededRandom } from '../filter/test-keys.ts'
import { swapUnderReaders } from './matrix-threads.ts'

const geometry = { ...geometryFor(1), bitCount: 256 }

/** One word of columns, with a reader. */
function readable(): DigestMatrix {
  return new DigestMatrix(geometry, 30, (bitCount, width) => ({
    rows: new Uint32Array(bitCount * width),
    control: new Int32Array(MatrixRows.controlWords(width, 1)),
  }))
}

test('a column has the operations of an array of bits, beside others that it leaves alone', () => {
  const random = seededRandom(3)
  const matrix = new DigestMatrix(geometry, 90)
  const columns = Array.from({ length: 40 }, (_, owner) => matrix.addPeer(owner).active)
  const arrays = columns.map(() => new BitArray(geometry.bitCount))
  for (let step = 0; step < 20_000; step++) {
    const at = Math.floor(random() * columns.length)
    const [column, array] = [columns[at]!, arrays[at]!]
    const bit = Math.floor(random() * geometry.bitCount)
    const kind = Math.floor(random() * 5)
    if (kind === 0) expect(column.set(bit)).toBe(array.set(bit))
    else if (kind === 1) expect(column.clear(bit)).toBe(array.clear(bit))
    else if (kind === 2) expect(column.get(bit)).toBe(array.get(bit))
    else if (kind === 3) {
      const from = Math.floor(random() * columns.length)
      copyWords(columns[from]!, column, bit >>> 6, bit >>> 5)
      copyWords(arrays[from]!, array, bit >>> 6, bit >>> 5)
    } else {
      const value = Math.floor(random() * 2 ** 32)
      column.setWord(bit >>> 5, value)
      array.setWord(bit >>> 5, value)
    }
  }
  for (const [i, column] of columns.entries()) {
    const [fromColumn, fromArray] = [new PositionList(), new PositionList()]
    column.pushSet(fromColumn, 1, 7)
    arrays[i]!.pushSet(fromArray, 1, 7)
    expect(fromColumn.sortUnique()).toEqual(fromArray.sortUnique())
    expect(column.countSet(2)).toBe(arrays[i]!.countSet(2))
    expect(Array.from(arrays[i]!.words, (_, w) => column.word(w))).toEqual([...arrays[i]!.words])
  }
})

// PROTOCOL rule 4
test('a reader that sleeps inside delays the reuse of columns that were retired since, and the writer never', () => {
  const matrix = readable()
  const peers = Array.from({ length: 30 }, (_, owner) => matrix.addPeer(owner))
  for (const peer of peers) {
    peer.active.set(7)
    peer.show()
  }
  matrix.rows.enter(0)
  const seen = peers.map((peer) => peer.active)
  const before = seen.map((column) => [...Array(8).keys()].map((w) => column.word(w)))
  // Two spare columns: two states come, the third waits.
  const built = peers.map((peer) => {
    const idle = peer.idle()
    if (idle === undefined) return false
    for (let w = 0; w < 8; w++) idle.setWord(w, 0)
    idle.set(9)
    peer.swap(idle)
    return true
  })
  expect(built.filter(Boolean).length).toBe(2)
  expect(peers[2]!.idle()).toBeUndefined()
  // Meanwhile deltas are merged, and nobody who comes now sees anything old.
  expect(peers[2]!.active.set(11)).toBe(true)
  const out = new Uint32Array(30)
  expect(matrix.candidates(Uint32Array.of(9, 9, 9, 9), out, 0)).toBe(2)
  expect(matrix.candidates(Uint32Array.of(11, 7, 7, 11), out, 0)).toBe(1)
  for (const [i, column] of seen.entries()) {
    if (i !== 2) expect([...Array(8).keys()].map((w) => column.word(w))).toEqual(before[i])
  }
  matrix.rows.leave(0)
  expect(peers[2]!.idle()).toBeDefined()
})

test('a column retired before a reader entered may be built in', () => {
  const matrix = readable()
  const peers = Array.from({ length: 30 }, (_, owner) => matrix.addPeer(owner))
  for (const peer of peers) peer.show()
  for (const peer of peers.slice(0, 2)) peer.swap(peer.idle()!)
  matrix.rows.enter(0)
  for (const peer of peers.slice(2, 4)) peer.swap(peer.idle()!)
  expect(peers[4]!.idle()).toBeUndefined()
  matrix.rows.leave(0)
})

test('epochs go round, and a reader from before the turn still counts as older', () => {
  const control = new Int32Array(MatrixRows.controlWords(1, 1))
  control[0] = 0x7fffffff
  const matrix = new DigestMatrix(geometry, 30, (bitCount) => ({ rows: new Uint32Array(bitCount), control }))
  const peers = Array.from({ length: 30 }, (_, owner) => matrix.addPeer(owner))
  for (const peer of peers) peer.show()
  matrix.rows.enter(0)
  for (const peer of peers.slice(0, 2)) peer.swap(peer.idle()!)
  expect(control[0]).toBe(2)
  expect(peers[4]!.idle()).toBeUndefined()
  matrix.rows.leave(0)
  expect(peers[4]!.idle()).toBeDefined()
})

test('a place given up is the next peer\u2019s, whose column begins with nothing shown', () => {
  const matrix = readable()
  const peers = Array.from({ length: 30 }, (_, owner) => matrix.addPeer(owner))
  for (const peer of peers) {
    for (const bit of randomPositions(seededRandom(1), 40, 256)) peer.active.set(bit)
    peer.show()
  }
  expect(() => matrix.addPeer(30)).toThrow(/full/)
  peers[3]!.release()
  const out = new Uint32Array(31)
  const [bit] = randomPositions(seededRandom(1), 40, 256)
  const probes = new Uint32Array(4).fill(bit!)
  expect(matrix.candidates(probes, out, 0)).toBe(29)
  const next = matrix.addPeer(30)
  expect(matrix.candidates(probes, out, 0)).toBe(29)
  for (let w = 0; w < 8; w++) next.active.setWord(w, 0)
  next.active.set(bit!)
  next.show()
  expect([...out.subarray(0, matrix.candidates(probes, out, 0))]).toContain(30)
})

test('readers on other threads never see two states at once, and miss no key that both have', async () => {
  const outcome = await swapUnderReaders(60_000, 2)
  expect(outcome.readers.map(({ fault }) => fault)).toEqual([undefined, undefined])
  expect(outcome.swaps).toBeGreaterThanOrEqual(60_000)
}, 30_000)
