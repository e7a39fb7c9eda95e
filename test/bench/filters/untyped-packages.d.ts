// What the benchmark uses of packages that come without types.

declare module 'bloomfilter' {
  export class BloomFilter {
    static withTargetError(n: number, error: number): BloomFilter
    add(value: string): void
    test(value: string): boolean
  }
}

declare module 'bloom-filter' {
  interface Filter {
    insert(data: Uint8Array): unknown
    contains(data: Uint8Array): boolean
  }
  const Filter: { create(elements: number, falsePositiveRate: number): Filter }
  export default Filter
}
