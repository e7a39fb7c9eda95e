import { MAX_PROBE_COUNT } from '../filter/filter-geometry.ts'
import type { KeyHash } from '../filter/key-hash.ts'
import { probeSequence } from '../filter/probing.ts'
import type { Replica } from './replica.ts'

/** The peers' replicas by peer index, for a few dozen peers: a lookup tests one after another. */
export class ReplicaTable {
  readonly #replicas: (Replica | undefined)[] = []
  readonly #probes = new Uint32Array(MAX_PROBE_COUNT)

  /** Undefined: the peer is not to be consulted. */
  set(peerIndex: number, replica: Replica | undefined): void {
    this.#replicas[peerIndex] = replica
  }

  /**
   * The peers whose digest may contain the key.
   * @param out gets their indices, ascending; as long as there are peers
   * @returns how many
   */
  candidates(key: KeyHash, out: Uint32Array): number {
    probeSequence(key, MAX_PROBE_COUNT, this.#probes)
    let count = 0
    for (let i = 0; i < this.#replicas.length; i++) if (this.#replicas[i]?.claims(this.#probes)) out[count++] = i
    return count
  }
}
