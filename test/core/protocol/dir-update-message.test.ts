import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  BIT_CLEAR,
  decodeDirUpdate,
  encodeDirUpdate,
  hasRecords,
  MAX_DATAGRAM_BYTES,
  MAX_RECORDS,
  positionOf,
} from '../../../src/core/protocol/dir-update-message.ts'
import { MalformedMessageError } from '../../../src/core/protocol/malformed-message-error.ts'
import { probePositions } from '../../../src/core/filter/probing.ts'
import { paperGeometry, PaperHasher } from '../../../src/core/protocol/paper-hashing.ts'

const HEAD = { requestNumber: 7, functionCount: 4, functionBits: 32, bitCount: 524_288 }
/** A message of one record in hex, by its fields. */
const VALID = [
  '14 02 0024 00000007 00000000 00000000 00000000', // ICP's header: opcode 20, version 2, 36 bytes
  '0004 0020 00080000 00000001', // 4 functions of 32 bits, 524,288 bits, one record
  '80050f15',
]
  .join('')
  .replaceAll(' ', '')

const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'))

/** `VALID` with the bytes from `offset` on replaced. */
function withBytes(offset: number, hex: string): Uint8Array {
  const bytes = bytesOf(VALID)
  bytes.set(bytesOf(hex), offset)
  return bytes
}

test('Summary Cache: the positions of a URL are the words of its MD5 modulo the array', () => {
  const url = 'http://www.example.com/index.html'
  const positions = new Uint32Array(4)
  probePositions(new PaperHasher().hash(url, 4), paperGeometry(524_288, 4), positions)
  expect([...positions]).toEqual([331_541, 411_439, 101_515, 65_079])
})

test('Summary Cache: Function_Num, Function_Bits, BitArray_Size_InBits and Number_of_Updates follow ICP’s header', () => {
  const bytes = encodeDirUpdate({ ...HEAD, records: Uint32Array.of(331_541 | BIT_CLEAR) })
  expect(Buffer.from(bytes).toString('hex')).toBe(VALID)
  expect(hasRecords(bytes)).toBe(true)
  expect(hasRecords(encodeDirUpdate({ ...HEAD, records: new Uint32Array(0) }))).toBe(false)
})

test('Summary Cache: a record’s most significant bit clears the bit, without it the bit is set', () => {
  const { records } = decodeDirUpdate(bytesOf(VALID))
  expect([records[0]! >= BIT_CLEAR, positionOf(records[0]!)]).toEqual([true, 331_541])
  expect(decodeDirUpdate(withBytes(32, '00050f15')).records).toEqual(Uint32Array.of(331_541))
})

test('360 records fill an IP packet of 1,500 bytes', () => {
  const records = new Uint32Array(MAX_RECORDS)
  expect(MAX_RECORDS).toBe(360)
  expect(encodeDirUpdate({ ...HEAD, records })).toHaveLength(MAX_DATAGRAM_BYTES)
  expect(MAX_DATAGRAM_BYTES + 28).toBe(1_500)
  expect(() => encodeDirUpdate({ ...HEAD, records: new Uint32Array(361) })).toThrow(RangeError)
  expect(() => encodeDirUpdate({ ...HEAD, records: Uint32Array.of(524_288) })).toThrow(RangeError)
})

test('what is encoded is decoded again', () => {
  fc.assert(
    fc.property(
      fc.nat(0xffff_ffff),
      fc.integer({ min: 1, max: 16 }),
      fc.integer({ min: 1, max: 2 ** 31 }),
      fc.array(fc.tuple(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.boolean()), {
        maxLength: 360,
      }),
      (requestNumber, functionCount, bitCount, changes) => {
        const records = Uint32Array.from(changes, ([at, clear]) => Math.floor(at * bitCount) + (clear ? BIT_CLEAR : 0))
        const message = { requestNumber, functionCount, functionBits: 32, bitCount, records }
        expect(decodeDirUpdate(encodeDirUpdate(message))).toEqual(message)
      },
    ),
  )
})

test.each([
  ['nothing', new Uint8Array(0), 'ends within the header at byte 0'],
  ['half a header', bytesOf(VALID).subarray(0, 31), 'ends within the header at byte 31'],
  ['a query', withBytes(0, '01'), 'unknown opcode 1'],
  ['version 3', withBytes(1, '03'), 'unknown version 3'],
  ['a length beyond the datagram', withBytes(2, 'ffff'), 'length differs'],
  ['no hash functions', withBytes(20, '0000'), '0 hash functions'],
  ['17 hash functions', withBytes(20, '0011'), '17 hash functions'],
  ['functions of 16 bits', withBytes(22, '0010'), 'hash functions of 16 bits'],
  ['no bits', withBytes(24, '00000000'), 'a digest of 0 bits'],
  ['more bits than are accepted', withBytes(24, '00100001'), 'a digest of 1048577 bits'],
  ['more records than bytes', withBytes(28, '40000001'), '1073741825 records in 36 bytes'],
  ['fewer records than bytes', withBytes(28, '00000000'), '0 records in 36 bytes'],
  ['a record outside the array', withBytes(32, '00080000'), 'bit 524288 of 524288 at byte 32'],
])('%s is refused by name', (_name, bytes, problem) => {
  const decode = () => decodeDirUpdate(bytes, 1_048_576)
  expect(decode).toThrow(MalformedMessageError)
  expect(decode).toThrow(problem)
})

test('arbitrary and altered bytes are decoded or refused, never anything else', () => {
  const altered = fc
    .array(fc.tuple(fc.nat(35), fc.nat(255)), { maxLength: 3 })
    .map((changes) => changes.reduce((bytes, [at, value]) => bytes.fill(value, at, at + 1), bytesOf(VALID)))
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 100 }), altered), (bytes) => {
      try {
        const { bitCount, records } = decodeDirUpdate(bytes)
        expect(records.every((record) => positionOf(record) < bitCount)).toBe(true)
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedMessageError)
      }
    }),
  )
})
