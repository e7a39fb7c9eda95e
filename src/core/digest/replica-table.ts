import { MAX_PROBE_COUNT, sameGeometry, sameHashing, type FilterGeometry } from '../filter/filter-geometry.ts'
import type { KeyHash } from '../filter/key-hash.ts'
import { probeSequence } from '../filter/probing.ts'
import { DigestMatrix } from './digest-matrix.ts'
import { DoubleBuffer } from './double-buffer.ts'
import { FoldedBuffers } from './folded-buffers.ts'
import { PEERS_PER_WORD } from './matrix-rows.ts'
import type { ReplicaBuffers } from './replica-bits.ts'
import type { Replica } from './replica.ts'
import type { StateHead } from './state-head.ts'

/**
 * For 8 peers of one geometry already a pass over a matrix is quicker than testing each (`npm run bench -- filters`); from 16
 * on it takes no more memory than two arrays for each, either.
 */
const SLICED_FROM = 16
/** Of a matrix that is full, to that of the one that takes its place: each digest is moved twice at most on average. */
const GROWTH = 1.5
/** A matrix with room for so many times its members is too large. */
const SHRINK_AT = 4
/** A folded digest as dense as this tells little; its set bits over the matrix's size are more than its density. */
const MAX_FOLDED_DENSITY = 0.5
/** A digest that is larger by more is nearly empty, if its fold is sparse enough: its publisher will take a smaller one. */
const MAX_FOLD = 16

export interface ReplicaTableOptions {
  /** Peers of one geometry from which on they stand in a matrix, until they are half as many; 16 by default. */
  readonly slicedFrom?: number
}

/** The peers whose digests have one geometry. */
class Family {
  readonly geometry: FilterGeometry
  readonly members = new Set<number>()
  matrix: DigestMatrix | undefined
  /** Of its matrix, kept for members: digests folded onto it get what is left over. */
  seats = 0

  constructor(geometry: FilterGeometry) {
    this.geometry = geometry
  }
}

/**
 * The peers' replicas by peer index, and where their states lie: in arrays of their own and tested one after another
 * while few have the same geometry, in a matrix and tested all at once when they are many. A digest that is larger than
 * a matrix by powers of two is folded onto it.
 */
export class ReplicaTable {
  readonly #slicedFrom: number
  readonly #replicas: (Replica | undefined)[] = []
  readonly #families: Family[] = []
  /** Those that somebody stands in; one whose family has shrunk among them, until all have left. */
  #matrices: DigestMatrix[] = []
  readonly #probes = new Uint32Array(MAX_PROBE_COUNT)
  /** Indices of the peers to be tested one after another. */
  #alone: Uint32Array = new Uint32Array(0)
  #aloneCount = 0
  #isAloneKnown = false
  readonly #changed = (): void => {
    this.#isAloneKnown = false
  }

  constructor(options: ReplicaTableOptions = {}) {
    this.#slicedFrom = options.slicedFrom ?? SLICED_FROM
  }

  /** Undefined: the peer is gone. What it held is given back. */
  set(peerIndex: number, replica: Replica | undefined): void {
    const old = this.#replicas[peerIndex]
    if (old !== undefined && old !== replica) {
      old.release()
      this.#leaveFamily(peerIndex)
    }
    this.#replicas[peerIndex] = replica
    this.#isAloneKnown = false
  }

  /** Where a peer's states of that geometry are to lie: what its replica takes for `makeBuffers`. */
  buffersFor(peerIndex: number, state: StateHead): ReplicaBuffers {
    this.#leaveFamily(peerIndex)
    const family = this.#familyOf(state.geometry)
    family.members.add(peerIndex)
    if (family.matrix !== undefined || family.members.size < this.#slicedFrom) {
      return this.#home(family, peerIndex, state.setBitCount)
    }
    return this.#slice(family, peerIndex)
  }

  /**
   * The peers whose digest may contain the key.
   * @param out gets their indices, ascending; as long as there are peers
   * @returns how many
   */
  candidates(key: KeyHash, out: Uint32Array): number {
    const probes = this.#probes
    probeSequence(key, MAX_PROBE_COUNT, probes)
    let count = 0
    for (let m = 0; m < this.#matrices.length; m++) {
      const found = this.#matrices[m]!.candidates(probes, out, count)
      for (let i = count; i < found; i++) if (this.#isMeant(out[i]!, probes)) out[count++] = out[i]!
    }
    const sliced = count
    if (!this.#isAloneKnown) this.#findAlone()
    for (let i = 0; i < this.#aloneCount; i++) {
      const peer = this.#alone[i]!
      if (this.#replicas[peer]!.claims(probes)) out[count++] = peer
    }
    if (sliced > 0) sortFew(out, count)
    return count
  }

  /** Of all matrices: what stands in arrays comes on top. */
  get matrixBytes(): number {
    return this.#matrices.reduce((sum, matrix) => sum + matrix.sizeInBytes, 0)
  }

  /** Is the peer's digest tested together with others? */
  isSliced(peerIndex: number): boolean {
    return this.#replicas[peerIndex]?.buffers?.isSliced === true
  }

  /** Is the digest claimed that a column stands for? What is folded onto it must be asked itself. */
  #isMeant(peerIndex: number, probes: Uint32Array): boolean {
    const replica = this.#replicas[peerIndex]!
    if (!(replica.buffers instanceof FoldedBuffers)) return true
    return replica.buffers.isSliced && replica.claims(probes)
  }

  /** @param setBitCount of the digest, where it is known: without, it is not folded */
  #home(family: Family, peerIndex: number, setBitCount: number | undefined): ReplicaBuffers {
    this.#changed()
    const { matrix } = family
    if (matrix !== undefined) {
      return isFull(matrix) ? this.#slice(family, peerIndex) : matrix.addPeer(peerIndex, this.#changed)
    }
    const plain = new DoubleBuffer(family.geometry.bitCount)
    const onto = setBitCount === undefined ? undefined : this.#matrixToFoldOnto(family.geometry, setBitCount)
    return onto === undefined ? plain : new FoldedBuffers(plain, onto.addPeer(peerIndex, this.#changed), this.#changed)
  }

  /** The largest matrix that is smaller, where its column would not be too dense. */
  #matrixToFoldOnto(geometry: FilterGeometry, setBitCount: number): DigestMatrix | undefined {
    let best: DigestMatrix | undefined
    for (const family of this.#families) {
      const { matrix } = family
      if (matrix === undefined || !folds(geometry, setBitCount, family.geometry)) continue
      const keptForMembers = Math.max(0, family.seats - family.members.size)
      const hasRoom = matrix.capacity - matrix.peerCount > keptForMembers
      if (hasRoom && (best === undefined || family.geometry.bitCount > best.geometry.bitCount)) best = matrix
    }
    return best
  }

  /**
   * Gives the family a matrix with room for its members and some more, and moves them there one after the other.
   * @returns the room of the one for whom it is done
   */
  #slice(family: Family, newcomer: number): ReplicaBuffers {
    family.seats = Math.ceil(GROWTH * family.members.size)
    family.matrix = new DigestMatrix(family.geometry, family.seats + this.#foldableOnto(family.geometry))
    this.#matrices.push(family.matrix)
    const room = family.matrix.addPeer(newcomer, this.#changed)
    for (const peer of family.members) if (peer !== newcomer) this.#move(family, peer)
    this.#moveFolded(family)
    return room
  }

  /** How many digests of families that have no matrix could be folded onto one of that geometry. */
  #foldableOnto(geometry: FilterGeometry): number {
    let count = 0
    for (const other of this.#families) {
      if (other.matrix !== undefined) continue
      for (const peer of other.members) {
        const setBitCount = this.#replicas[peer]?.state?.setBitCount
        if (setBitCount !== undefined && folds(other.geometry, setBitCount, geometry)) count++
      }
    }
    return count
  }

  #shrink(family: Family): void {
    const [first] = family.members
    if (first !== undefined) this.#replicas[first]?.moveTo(this.#slice(family, first), family.geometry)
  }

  /** Sends the members back to arrays of their own. */
  #unslice(family: Family): void {
    family.matrix = undefined
    for (const peer of family.members) this.#move(family, peer)
    this.#moveFolded(family)
  }

  /** Those of other families that are folded, or now can be. */
  #moveFolded(family: Family): void {
    for (const other of this.#families) {
      if (other.matrix !== undefined || !sameHashing(other.geometry, family.geometry)) continue
      for (const peer of other.members) {
        const replica = this.#replicas[peer]
        const setBitCount = replica?.state?.setBitCount
        const canFold = setBitCount !== undefined && this.#matrixToFoldOnto(other.geometry, setBitCount) !== undefined
        if (canFold || replica?.buffers instanceof FoldedBuffers) this.#move(other, peer)
      }
    }
  }

  #move(family: Family, peerIndex: number): void {
    const replica = this.#replicas[peerIndex]
    replica?.moveTo(this.#home(family, peerIndex, replica.state?.setBitCount), family.geometry)
  }

  #leaveFamily(peerIndex: number): void {
    for (const family of this.#families) {
      if (!family.members.delete(peerIndex)) continue
      if (family.matrix !== undefined) {
        if (family.members.size < this.#slicedFrom / 2) this.#unslice(family)
        else if (family.matrix.capacity > SHRINK_AT * Math.max(family.members.size, PEERS_PER_WORD))
          this.#shrink(family)
      }
      if (family.members.size === 0) this.#families.splice(this.#families.indexOf(family), 1)
      break
    }
  }

  #familyOf(geometry: FilterGeometry): Family {
    let family = this.#families.find((other) => sameGeometry(other.geometry, geometry))
    if (family === undefined) {
      family = new Family(geometry)
      this.#families.push(family)
    }
    return family
  }

  /** What follows from who lies where. */
  #findAlone(): void {
    this.#matrices = this.#matrices.filter(
      (matrix) => matrix.peerCount > 0 || this.#families.some((family) => family.matrix === matrix),
    )
    if (this.#alone.length < this.#replicas.length) this.#alone = new Uint32Array(2 * this.#replicas.length)
    this.#aloneCount = 0
    for (const [index, replica] of this.#replicas.entries()) {
      if (replica !== undefined && replica.buffers?.isSliced !== true) this.#alone[this.#aloneCount++] = index
    }
    this.#isAloneKnown = true
  }
}

/** May a digest be folded onto a matrix of that geometry? */
function folds(digest: FilterGeometry, setBitCount: number, onto: FilterGeometry): boolean {
  return (
    sameHashing(digest, onto) &&
    digest.probeCount === onto.probeCount &&
    digest.bitCount > onto.bitCount &&
    digest.bitCount <= MAX_FOLD * onto.bitCount &&
    setBitCount <= MAX_FOLDED_DENSITY * onto.bitCount
  )
}

function isFull(matrix: DigestMatrix): boolean {
  return matrix.peerCount === matrix.capacity
}

/** Ascending, in place: by insertion, since candidates are few. */
function sortFew(values: Uint32Array, count: number): void {
  for (let i = 1; i < count; i++) {
    const value = values[i]!
    let at = i
    for (; at > 0 && values[at - 1]! > value; at--) values[at] = values[at - 1]!
    values[at] = value
  }
}
