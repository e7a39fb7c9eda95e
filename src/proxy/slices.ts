import type { Clock } from './ports.ts'

/** A request that comes during a slice waits for its end. */
const SLICE_MS = 0.25
/** Where time stands still while something is done, as in virtual time, a slice ends all the same. */
const MAX_TURNS = 256

/**
 * Does what takes long a slice at a time, with room for everything else in between.
 * @param turn some tens of microseconds of it; false once it is done
 */
export async function inSlices(turn: () => boolean, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const endMs = clock.monotonicMs() + SLICE_MS
    for (let turns = 0; turns < MAX_TURNS && (turns === 0 || clock.monotonicMs() < endMs); turns++) {
      if (!turn()) return
    }
    await clock.sleep(0, signal)
  }
}
