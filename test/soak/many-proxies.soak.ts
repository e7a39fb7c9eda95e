import { expect, test } from 'vitest'
import { compareNames } from '../../src/core/digest/digest-name.ts'
import { DEFAULT_LOOKUP_POLICY } from '../../src/core/peers/lookup-plan.ts'
import type { Action, Plan } from '../../src/sim/faults.ts'
import { Simulation } from '../../src/sim/simulation.ts'
import type { SimulatedWorld, SimulationWitness } from '../../src/sim/simulation-witness.ts'
import { Transcript } from '../../src/sim/transcript.ts'

const PROXIES = 1_000
/** By then all have found each other: those that were asked before they had started are asked again after pauses. */
const SETTLED_MS = 8_000
const CHANGES = 100
const CHANGE_EVERY_MS = 20
const WITHIN_MS = 2_000

/** Looks on until every replica stands where its publisher does. */
class Convergence implements SimulationWitness {
  #world: SimulatedWorld | undefined
  #nextLookMs = 0
  replicas = 0
  convergedMs: number | undefined

  begins(world: SimulatedWorld): void {
    this.#world = world
  }

  hasConverged(sinceMs: number): boolean {
    const { nowMs } = this.#world!.time
    if (nowMs < this.#nextLookMs) return false
    this.#nextLookMs = nowMs + 25
    if (this.#allAgree(nowMs)) this.convergedMs = nowMs - sinceMs
    return this.convergedMs !== undefined || nowMs > sinceMs + 10 * WITHIN_MS
  }

  #allAgree(nowMs: number): boolean {
    const { proxies } = this.#world!
    const publishers = new Map(proxies.map((proxy) => [proxy.name, proxy.protocol.publisher]))
    this.replicas = 0
    for (const { protocol } of proxies) {
      for (const { digest, peer } of protocol.peers.all()) {
        const { name, summary } = publishers.get(peer.name)!
        const { state } = digest
        if (state === undefined || compareNames(state.name, name) !== 0 || !digest.isProved(nowMs)) return false
        if (summary.openChangeCount > 0 || digest.replica.bits!.countSet() !== summary.setBitCount) return false
        this.replicas++
      }
    }
    return true
  }

  started(): void {}
  stopped(): void {}
  membersChanged(): void {}
  published(): void {}
  arrived(): void {}
  claimChanged(): void {}
  event(): void {}
  asked(): void {}
  originAnswered(): void {}
  requested(): void {}
  replied(): void {}
  stepped(): void {}
  ended(): void {}
}

function planOf(proxyCount: number): Plan {
  const actions = Array.from({ length: CHANGES }, (_, i): Action => {
    return {
      kind: 'request',
      atMs: SETTLED_MS + i * CHANGE_EVERY_MS,
      proxy: (i * 7) % proxyCount,
      document: i,
      method: 'GET',
      language: 'en',
      demand: '',
      patienceMs: undefined,
    }
  })
  return {
    seed: 1,
    setting: {
      proxyCount,
      documentCount: CHANGES,
      mode: 'streams',
      durationMs: actions.at(-1)!.atMs,
      expectedEntries: 16,
      profile: 'fresh',
      pendingClearShare: 0.03,
      generationAgeMs: 86_400_000,
      heartbeatMs: 5_000,
      capacityBytes: 100_000,
      eviction: 'sieve',
      fillMs: 0,
      fillFailureShare: 0,
      lookup: DEFAULT_LOOKUP_POLICY,
      switchesOff: true,
      probeShare: 0,
      sharing: 'copy',
      versions: Array.from({ length: proxyCount }, () => 2),
    },
    actions,
  }
}

test(`${PROXIES} proxies hold the same replicas of each other within two seconds of the last change`, async () => {
  const witness = new Convergence()
  const settle = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))
  const simulation = new Simulation(planOf(PROXIES), { settle, witness, transcript: new Transcript(false) })
  const startMs = performance.now()
  await simulation.run()
  const seconds = Math.round((performance.now() - startMs) / 1000)
  const gigabytes = (process.memoryUsage().rss / 1e9).toFixed(1)
  process.stdout.write(
    `${witness.replicas} replicas agree ${Math.round(witness.convergedMs ?? Infinity)} ms after the last change; ` +
      `${simulation.time.stepCount} steps in ${seconds} s, ${gigabytes} GB\n`,
  )
  expect(witness.replicas).toBe(PROXIES * (PROXIES - 1))
  expect(witness.convergedMs).toBeLessThanOrEqual(WITHIN_MS)
})
