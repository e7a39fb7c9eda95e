import { describe, expect, test } from 'vitest'
import { seededRandom } from '../core/filter/test-keys.ts'
import { Comparison, Harness, median, threadCpuNs } from './harness.ts'

/** A harness whose clock moves only as the measured code says. */
function givenTime(rounds: number, warmUps = 0): { harness: Harness; spend: (ns: number) => void } {
  let nowNs = 0
  const harness = new Harness({ rounds, warmUps, clock: () => nowNs, random: seededRandom(1) })
  return { harness, spend: (ns) => void (nowNs += ns) }
}

describe('a median', () => {
  test('is the middle one, or the mean of the two in the middle', () => {
    expect(median([7])).toBe(7)
    expect(median([10, 9, 1])).toBe(9)
    expect(median([100, 2, 30, 4])).toBe(17)
  })

  test('of nothing is refused', () => {
    expect(() => median([])).toThrow(RangeError)
  })
})

describe('a comparison', () => {
  test('gives ratios within rounds, which a slow round does not move', () => {
    const comparison = new Comparison(
      new Map([
        ['a', [10, 1_000, 20]],
        ['b', [5, 500, 10]],
      ]),
    )
    expect(comparison.ratio('a', 'b')).toBe(2)
    expect(comparison.range('a')).toEqual({ min: 10, median: 20, max: 1_000 })
  })

  test('pairs by round: the ratio of the medians is another thing', () => {
    const comparison = new Comparison(
      new Map([
        ['a', [1, 2, 30]],
        ['b', [1, 20, 3]],
      ]),
    )
    expect(comparison.ratio('a', 'b')).toBe(1)
    expect(comparison.range('a').median / comparison.range('b').median).toBeCloseTo(2 / 3)
  })

  test('knows only what was measured', () => {
    expect(() => new Comparison(new Map()).range('a')).toThrow('nothing was measured as a')
  })
})

describe('the harness', () => {
  test('divides by the operations, and leaves out what prepares them', async () => {
    const { harness, spend } = givenTime(3)
    const run = (): number => {
      spend(1_000)
      return 4
    }
    const comparison = await harness.compare([harness.timed('a', 100, run, () => spend(77_777))])
    expect(comparison.range('a')).toEqual({ min: 10, median: 10, max: 10 })
    expect(harness.kept).toBe(12)
  })

  test('throws the warm-up away', async () => {
    const { harness, spend } = givenTime(5, 2)
    let calls = 0
    const comparison = await harness.compare([
      harness.timedAsync('a', 1, async () => {
        spend(++calls <= 2 ? 9_000 : 3)
        return 0
      }),
    ])
    expect(calls).toBe(7)
    expect(comparison.range('a')).toEqual({ min: 3, median: 3, max: 3 })
  })

  test('takes every candidate once a round, and not always in one order', async () => {
    const { harness } = givenTime(20)
    const order: string[] = []
    const candidate = (name: string) => ({ name, sample: () => order.push(name) })
    await harness.compare(['a', 'b', 'c'].map(candidate))
    const rounds = Array.from({ length: 20 }, (_, round) => order.slice(3 * round, 3 * round + 3))
    for (const round of rounds) expect(round.toSorted()).toEqual(['a', 'b', 'c'])
    expect(new Set(rounds.map((round) => round.join(''))).size).toBe(6)
  })

  test('refuses two candidates of one name', async () => {
    const { harness } = givenTime(1)
    const twin = { name: 'a', sample: () => 1 }
    await expect(harness.compare([twin, twin])).rejects.toThrow(RangeError)
  })
})

test('the clock counts what this thread does, and not how long it waits', () => {
  const before = threadCpuNs()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20)
  const waited = threadCpuNs()
  let sum = 0
  for (let i = 0; i < 20_000_000; i++) sum = (sum + i) | 0
  const worked = threadCpuNs()
  expect(sum).not.toBe(0)
  expect(waited - before).toBeLessThan(worked - waited)
})
