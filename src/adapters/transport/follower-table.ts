import type { ServerResponse } from 'node:http'
import type { ProtocolVersion } from '../../proxy/ports.ts'
import { TAG_BYTES, type FrameMac } from './frame-mac.ts'

/** A connection each, with what waits in its buffer. */
export const MAX_FOLLOWERS = 1_024
// Beside the largest frame it has been sent: who reads slower than that is cut, and asks for what it lacks when it is
// back.
const MAX_UNREAD_BYTES = 1024 * 1024
const PREFIX_BYTES = 4

export interface Follower {
  /** By name or address. */
  readonly asker: string
  readonly version: ProtocolVersion
  readonly response: ServerResponse
  /** Undefined: its frames carry no tags. */
  readonly mac: FrameMac | undefined
}

/** A follower, and what may wait for it. */
interface Place {
  readonly follower: Follower
  largestFrameBytes: number
}

/** Those that follow our digest: what is published goes to each of their streams. */
export class FollowerTable {
  readonly #places = new Set<Place>()
  readonly #onCut: (follower: Follower, unreadBytes: number) => void
  #reserved = 0

  /** @param onCut a follower has not read for too long */
  constructor(onCut: (follower: Follower, unreadBytes: number) => void) {
    this.#onCut = onCut
  }

  get size(): number {
    return this.#places.size
  }

  /** Keeps a place for one that is about to be added. False: all are taken. */
  reserve(): boolean {
    if (this.#places.size + this.#reserved >= MAX_FOLLOWERS) return false
    this.#reserved++
    return true
  }

  /** Gives a place back that was reserved. */
  release(): void {
    this.#reserved--
  }

  /** Counts it among the followers until its stream closes, and sends it what it lacks. */
  add(follower: Follower, frames: readonly Uint8Array[]): void {
    const place: Place = { follower, largestFrameBytes: 0 }
    this.#places.add(place)
    follower.response.once('close', () => this.#places.delete(place))
    for (const frame of frames) this.#send(place, frame, lengthPrefix(frame, follower))
  }

  /** Returns how many followers it went to. */
  broadcast(frame: Uint8Array): number {
    let count = 0
    // One buffer, however many followers there are: a key is for all of them or for none.
    let prefix: Uint8Array | undefined
    for (const place of this.#places) {
      prefix ??= lengthPrefix(frame, place.follower)
      if (this.#send(place, frame, prefix)) count++
    }
    return count
  }

  /** Ends every stream, after what has been sent. */
  end(): void {
    for (const { follower } of this.#places) follower.response.end()
  }

  /** False: it was cut. */
  #send(place: Place, frame: Uint8Array, prefix: Uint8Array): boolean {
    const { mac, response } = place.follower
    const unreadBytes = response.writableLength
    if (unreadBytes > MAX_UNREAD_BYTES + place.largestFrameBytes) {
      this.#places.delete(place)
      response.destroy()
      this.#onCut(place.follower, unreadBytes)
      return false
    }
    place.largestFrameBytes = Math.max(place.largestFrameBytes, frame.length)
    // Together: one chunk and one packet where they fit. The frame itself is not copied.
    response.cork()
    response.write(prefix)
    response.write(frame)
    if (mac !== undefined) response.write(mac.tag(frame))
    response.uncork()
    return true
  }
}

/** The length as it goes on the stream: that of the frame and its tag. */
export function lengthPrefix(frame: Uint8Array, { mac }: Pick<Follower, 'mac'>): Uint8Array {
  const prefix = new Uint8Array(PREFIX_BYTES)
  new DataView(prefix.buffer).setUint32(0, frame.length + (mac === undefined ? 0 : TAG_BYTES))
  return prefix
}
