// The fifth byte of a frame, and the flags that a type knows in its sixth.
export const TYPE_WANT = 1
export const TYPE_SNAPSHOT = 2
export const TYPE_DELTA = 3
export const TYPE_TURNOVER = 4
export const TYPE_HEARTBEAT = 5
export const TYPE_GOODBYE = 6

/** The asker has a state and names it. */
export const WANT_HAVE = 1
/** And says up to where it wants more. */
export const WANT_UNTIL = 2
/** Set positions in gap code, not raw bits. */
export const SNAPSHOT_GAPS = 1
/** The bytes of the raw bits in rANS code. Not together with gaps. */
export const SNAPSHOT_CODED = 2
