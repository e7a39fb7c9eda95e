import { BitArray } from '../filter/bit-array.ts'
import { MatrixColumn } from './matrix-rows.ts'
import type { ReplicaBits } from './replica-bits.ts'

/** Copies words `fromWord` to `toWord`, the latter not included. */
export function copyWords(source: ReplicaBits, target: ReplicaBits, fromWord: number, toWord: number): void {
  if (source instanceof BitArray && target instanceof BitArray) target.copyFrom(source, fromWord, toWord)
  else if (source instanceof MatrixColumn && target instanceof MatrixColumn && target.isBeside(source)) {
    target.copyFrom(source, fromWord, toWord)
  } else for (let i = fromWord; i < toWord; i++) target.setWord(i, source.word(i))
}
