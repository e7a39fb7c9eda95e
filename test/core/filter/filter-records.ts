import { decodeFilter, encodeFilter, encodedBytes, type FilterRecord } from '../../../src/core/filter/filter-format.ts'
import { FILTER_KINDS } from '../../../src/core/filter/filter-kinds.ts'
import { KeyHashList } from '../../../src/core/filter/key-hash-list.ts'
import { KeyHasher } from '../../../src/core/filter/key-hasher.ts'
import { ScalableBloomFilter } from '../../../src/core/filter/scalable-bloom-filter.ts'

export const hasher = KeyHasher.murmur3()
export const { hashing } = hasher
/** The largest number of the format. */
export const MOST = 2 ** 32 - 1

export type Parameters = FilterRecord['parameters']

function keys(count: number): KeyHashList {
  const list = new KeyHashList(count)
  for (let n = 0; n < count; n++) list.push(hasher.hashText(`key ${n}`))
  return list
}

export function built(name: string, count = 30, rate = 0.05): FilterRecord {
  const kind = FILTER_KINDS.find((each) => each.name === name)!
  return decodeFilter(kind.build(keys(count), rate, hashing).serialise())
}

/** Another value for the parameter of that index. */
export function p(index: number, value: number): (record: FilterRecord) => Partial<FilterRecord> {
  return ({ parameters }) => ({ parameters: parameters.map((old, i) => (i === index ? value : old)) as never })
}

export function sized(bits: number, ...parameters: Parameters): () => Partial<FilterRecord> {
  return () => ({ parameters, body: new Uint8Array(Math.ceil(bits / 8)) })
}

export function entries(entryCount: number): () => Partial<FilterRecord> {
  return () => ({ entryCount })
}

export function joined(...parts: Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts))
}

function slicesOf(record: FilterRecord): Uint8Array[] {
  const slices: Uint8Array[] = []
  for (let at = 0; at < record.body.length; at += slices.at(-1)!.length) {
    slices.push(record.body.subarray(at, at + encodedBytes(record.body.subarray(at))!))
  }
  return slices
}

/** One slice of a scalable filter written anew. */
export function slice(index: number, change: (inner: FilterRecord) => Partial<FilterRecord>) {
  return (record: FilterRecord): Partial<FilterRecord> => {
    const slices = slicesOf(record)
    const inner = decodeFilter(slices[index]!)
    slices[index] = encodeFilter({ ...inner, ...change(inner) })
    return { body: joined(...slices) }
  }
}

/** 30 keys in three slices, for 5, 10 and 20. */
export function scalableRecord(): FilterRecord {
  const filter = new ScalableBloomFilter(5, 0.05, hashing)
  for (let n = 0; n < 30; n++) filter.add(hasher.hashText(`key ${n}`))
  return decodeFilter(filter.serialise())
}
