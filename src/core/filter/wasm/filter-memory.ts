import type { BulkBits } from '../bulk-bits.ts'
import { KERNEL_BINARY } from './kernel-binary.ts'

// What of it is used: neither the language's types nor those for Node declare it, and those for browsers much else.
declare const WebAssembly: {
  readonly Memory: new (size: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer }
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown }
}

const PAGE_BYTES = 65_536
// One less than there can be: the kernel's addresses have 32 bits, and words to the very end would end at 0.
const MAX_PAGES = 65_535
/** Vectors need not be aligned, but are quicker so. */
const ALIGNMENT = 16

interface Kernel {
  or(target: number, source: number, byteCount: number): void
  and(target: number, source: number, byteCount: number): void
  countSet(from: number, byteCount: number): number
}

/**
 * Memory in which WebAssembly works on whole filters: unions run as fast as a copy. Looking single keys up is left to
 * TypeScript, which is as quick. Its size is fixed: memory that grows would leave every array in it behind.
 */
export class FilterMemory implements BulkBits {
  readonly #buffer: ArrayBuffer
  readonly #kernel: Kernel
  #used = 0

  /**
   * @param byteCount for the words of filters
   * @throws {RangeError} there is not so much memory: 4 GiB less 64 KiB at most
   */
  constructor(byteCount: number) {
    const pages = Math.ceil(byteCount / PAGE_BYTES)
    if (!(pages >= 0 && pages <= MAX_PAGES)) throw new RangeError(`a filter memory of ${byteCount} bytes`)
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages })
    const instance = new WebAssembly.Instance(new WebAssembly.Module(bytesOf(KERNEL_BINARY)), { env: { memory } })
    this.#kernel = instance.exports as Kernel
    this.#buffer = memory.buffer
  }

  /**
   * Zeroed words, which stay allocated as long as the memory itself.
   * @throws {RangeError} there is no room for so many, or that is no number of words
   */
  allocateWords(count: number): Uint32Array<ArrayBuffer> {
    if (!(Number.isInteger(count) && count >= 0)) throw new RangeError(`${count} words`)
    const byteCount = 4 * count
    const left = this.#buffer.byteLength - this.#used
    if (byteCount > left) throw new RangeError(`${byteCount} bytes of a filter memory with ${left} left`)
    const words = new Uint32Array(this.#buffer, this.#used, count)
    this.#used = Math.min(this.#buffer.byteLength, Math.ceil((this.#used + byteCount) / ALIGNMENT) * ALIGNMENT)
    return words
  }

  holds(words: Uint32Array): boolean {
    return words.buffer === this.#buffer
  }

  /** @throws {RangeError} they lie elsewhere, or differ in length */
  or(target: Uint32Array, source: Uint32Array): void {
    this.#check(target, source)
    this.#kernel.or(target.byteOffset, source.byteOffset, target.byteLength)
  }

  /** @throws {RangeError} they lie elsewhere, or differ in length */
  and(target: Uint32Array, source: Uint32Array): void {
    this.#check(target, source)
    this.#kernel.and(target.byteOffset, source.byteOffset, target.byteLength)
  }

  /** @throws {RangeError} they lie elsewhere */
  countSet(words: Uint32Array): number {
    this.#check(words, words)
    return this.#kernel.countSet(words.byteOffset, words.byteLength)
  }

  #check(a: Uint32Array, b: Uint32Array): void {
    if (!this.holds(a) || !this.holds(b)) throw new RangeError('words that lie in another memory')
    if (a.length !== b.length) throw new RangeError(`${a.length} words against ${b.length}`)
  }
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}
