import { sameGeometry, type FilterGeometry } from '../filter/filter-geometry.ts'
import type { ReplicaBuffers } from './replica-bits.ts'
import type { StateHead } from './state-head.ts'

interface Place {
  readonly buffers: ReplicaBuffers
  readonly geometry: FilterGeometry
}

/** Where one replica's states lie, and where they are to be moved. What it lets go of it gives back. */
export class ReplicaHome {
  readonly #makeBuffers: (state: StateHead) => ReplicaBuffers
  #present: Place | undefined
  #future: Place | undefined

  constructor(makeBuffers: (state: StateHead) => ReplicaBuffers) {
    this.#makeBuffers = makeBuffers
  }

  /** Undefined before the first state. */
  get buffers(): ReplicaBuffers | undefined {
    return this.#present?.buffers
  }

  get willMove(): boolean {
    return this.#future !== undefined
  }

  /** States of that geometry are to lie there from now on. */
  moveTo(buffers: ReplicaBuffers, geometry: FilterGeometry): void {
    this.#dropFuture()
    this.#future = { buffers, geometry }
  }

  /** Can a state be moved to where it is to lie? Not while it is of another geometry. */
  canMove(held: StateHead | undefined): boolean {
    return this.#future !== undefined && held !== undefined && sameGeometry(this.#future.geometry, held.geometry)
  }

  /** What `canMove` told of: the caller moves there now. */
  takeFuture(): ReplicaBuffers {
    const { buffers } = this.#future!
    this.#future = undefined
    return buffers
  }

  /**
   * For a whole state: the buffers there are, or new ones where they are for another geometry.
   * @param holdsState whether those there are must stay until it is built
   */
  roomFor(state: StateHead, holdsState: boolean): { readonly buffers: ReplicaBuffers; readonly isFresh: boolean } {
    const { geometry } = state
    if (this.#present !== undefined && sameGeometry(this.#present.geometry, geometry)) {
      return { buffers: this.#present.buffers, isFresh: false }
    }
    if (holdsState) this.#dropFuture()
    else this.leave()
    return { buffers: this.#makeBuffers(state), isFresh: true }
  }

  /** A state of that geometry now lies there. */
  settle(buffers: ReplicaBuffers, geometry: FilterGeometry): void {
    const left = this.#present?.buffers
    this.#present = { buffers, geometry }
    if (left !== buffers) left?.release()
  }

  /** The next whole state asks for buffers anew. */
  leave(): void {
    this.#dropFuture()
    this.#present?.buffers.release()
    this.#present = undefined
  }

  #dropFuture(): void {
    this.#future?.buffers.release()
    this.#future = undefined
  }
}
