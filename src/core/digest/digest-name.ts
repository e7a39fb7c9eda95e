/** The name of a published state. A later one compares greater, field by field. */
export interface DigestName {
  /** One life of the publisher, in wall-clock milliseconds; a safe integer, strictly greater at each start. */
  readonly incarnation: number
  /** A stretch of publishing in which bits are only ever set; from 0. */
  readonly generation: number
  /** Number of the delta within its generation; from 0, the generation's first state. */
  readonly sequence: number
}

/** Negative when `a` is older than `b`, positive when newer, 0 when they name the same state. */
export function compareNames(a: DigestName, b: DigestName): number {
  return a.incarnation - b.incarnation || a.generation - b.generation || a.sequence - b.sequence
}

export function formatName(name: DigestName): string {
  return `${name.incarnation}.${name.generation}.${name.sequence}`
}
