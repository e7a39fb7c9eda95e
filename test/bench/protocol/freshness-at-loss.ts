import { cacheKey } from '../../../src/core/http/cache-key.ts'
import { planOf, type Plan } from '../../../src/sim/faults.ts'
import { Simulation } from '../../../src/sim/simulation.ts'
import type { SimulatedWorld, SimulationWitness } from '../../../src/sim/simulation-witness.ts'
import { Transcript } from '../../../src/sim/transcript.ts'
import type { VirtualTime } from '../../../src/sim/virtual-time.ts'
import type { Finding } from '../finding.ts'
import type { Measurement } from '../measurement.ts'

const CHANGES_PER_SECOND = 100
const LOSS_SHARE = 0.2
const ENTRIES = 20_000

/**
 * How long an insert takes to be seen by a peer where a fifth of all messages, either way, is lost by itself: virtual time,
 * and the live code, over a network that is worse than TCP makes one.
 */
export const FRESHNESS_AT_LOSS: Measurement = {
  name: 'freshness at loss',
  async run({ quick, progress }) {
    const seconds = quick ? 10 : 120
    progress(`${seconds} s of virtual time, ${LOSS_SHARE * 100} % of all messages lost`)
    const sight = new Sight(seconds * 1_000)
    const settle = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))
    await new Simulation(lossyPlan(seconds), { settle, witness: sight, transcript: new Transcript(false) }).run()
    const delays = sight.delays.toSorted((a, b) => a - b)
    const name = `insert to visible, profile fresh, ${CHANGES_PER_SECOND} changes a second, ${LOSS_SHARE * 100} % of messages lost`
    const at = (share: number): number => delays[Math.min(delays.length - 1, Math.floor(share * delays.length))]!
    const finding = (what: string, value: number): Finding => {
      return { name: `${name}: ${what}`, value, unit: 'ms', reference: null, ratio: null }
    }
    return [
      finding('median', at(0.5)),
      { ...finding('p99', at(0.99)), goal: { of: 'value', is: 'at most', limit: 5_000 } },
      finding('most', at(1)),
    ]
  },
}

function lossyPlan(seconds: number): Plan {
  const { setting } = planOf(1, { proxyCount: 2 })
  const fault = { lossShare: LOSS_SHARE }
  const forMs = seconds * 1_000
  return {
    seed: 1,
    setting: {
      ...setting,
      mode: 'datagrams',
      durationMs: forMs,
      expectedEntries: ENTRIES,
      profile: 'fresh',
      generationAgeMs: 86_400_000,
      heartbeatMs: 5_000,
      versions: [2, 2],
    },
    actions: [
      { kind: 'link', atMs: 0, from: 0, to: 1, forMs, fault },
      { kind: 'link', atMs: 0, from: 1, to: 0, forMs, fault },
    ],
  }
}

/** Inserts at the first proxy, and sees when the second knows. */
class Sight implements SimulationWitness {
  readonly delays: number[] = []
  readonly #endMs: number
  readonly #unseen: { readonly number: number; readonly atMs: number }[] = []
  #world: SimulatedWorld | undefined
  #hasBegun = false

  constructor(endMs: number) {
    this.#endMs = endMs
  }

  begins(world: SimulatedWorld): void {
    this.#world = world
  }

  stepped(): void {
    const { proxies, time } = this.#world!
    const replica = proxies[1]?.protocol.peers.all()[0]?.digest.replica
    if (replica === undefined) return
    // Both have to have met first.
    if (!this.#hasBegun && replica.state !== undefined && !replica.lacks) this.#begin(time)
    const [first] = this.#unseen
    if (first === undefined || !replica.mayContain(key(first.number))) return
    let seen = 0
    for (const { atMs, number } of this.#unseen) {
      if (!replica.mayContain(key(number))) break
      this.delays.push(time.nowMs - atMs)
      seen++
    }
    this.#unseen.splice(0, seen)
  }

  #begin(time: VirtualTime): void {
    this.#hasBegun = true
    const everyMs = 1_000 / CHANGES_PER_SECOND
    for (let number = 0, atMs = time.nowMs + everyMs; atMs < this.#endMs; number++, atMs += everyMs) {
      time.at(atMs, 0, () => {
        this.#world!.proxies[0]!.protocol.claimed(key(number), number)
        this.#unseen.push({ number, atMs })
      })
    }
  }

  hasConverged(): boolean {
    return this.#hasBegun && this.#unseen.length === 0
  }

  started(): void {}
  stopped(): void {}
  membersChanged(): void {}
  originAnswered(): void {}
  requested(): void {}
  replied(): void {}
  published(): void {}
  arrived(): void {}
  claimChanged(): void {}
  event(): void {}
  asked(): void {}
  ended(): void {}
}

function key(number: number) {
  return cacheKey(`http://origin.example/${number}`)
}
