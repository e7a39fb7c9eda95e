/** Something outside the program keeps it from starting or going on; the message names it, the cause and the remedy. */
export class StartError extends Error {
  override readonly name = 'StartError'
  readonly code = 'START'
}
