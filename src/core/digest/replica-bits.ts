import type { PositionSink } from '../filter/position-list.ts'

/** The bits of one state of a replica: an array of their own (`BitArray`), or a column of a matrix. */
export interface ReplicaBits {
  readonly bitCount: number
  get(index: number): boolean
  /** Returns whether the bit was 0. */
  set(index: number): boolean
  /** Returns whether the bit was 1. */
  clear(index: number): boolean
  /** Bits 32 `wordIndex` and up, the first one least significant; unsigned. */
  word(wordIndex: number): number
  setWord(wordIndex: number, value: number): void
  /** Set bits in words `fromWord` to `toWord`, the latter not included. */
  countSet(fromWord?: number, toWord?: number): number
  /** Hands on the index of each set bit in words `fromWord` to `toWord`, ascending. */
  pushSet(sink: PositionSink, fromWord?: number, toWord?: number): void
}

/** Where a replica's states lie: the one in use, and room to build the next one beside it (PROTOCOL rule 4). */
export interface ReplicaBuffers {
  readonly bitCount: number
  /** Words that are copied or zeroed in the time that one position takes. */
  readonly wordsPerStep: number
  /** Are its bits found by testing all peers' at once? Otherwise they are tested by themselves. */
  readonly isSliced: boolean
  /** The state in use. Before `show`, and after `hide`, room that no reader looks at. */
  readonly active: ReplicaBits
  /**
   * Room to build in, with whatever was in it: no reader looks at it until it is swapped in. Undefined while readers, or
   * others who build, keep all of it: then later. Ends with `swap` or `discard`.
   */
  idle(): ReplicaBits | undefined
  /** Makes what `idle` gave the active state. Readers see the old one or the new one. */
  swap(bits: ReplicaBits): void
  /** Gives back what `idle` gave. */
  discard(bits: ReplicaBits): void
  /** From now on readers look at the active state. */
  show(): void
  /** Nobody is to look any more; what was held is lost. */
  hide(): void
  /** It is not used again. */
  release(): void
  /** Whether there is something to do that nobody waits for. */
  readonly hasWork: boolean
  /** Does about `maxSteps` of it; nothing while readers keep all room. */
  work(maxSteps: number): void
}
