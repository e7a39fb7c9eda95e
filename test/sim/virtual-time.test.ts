import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../src/sim/virtual-clock.ts'
import { VirtualTime } from '../../src/sim/virtual-time.ts'

const settle = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))
const on = (): boolean => true

describe('virtual time', () => {
  test('fires timers in the order of their moments and, at one moment, of their making', async () => {
    const time = new VirtualTime(settle)
    const fired: string[] = []
    for (const [atMs, what] of [
      [30, 'd'],
      [10, 'a'],
      [20, 'b'],
      [20, 'c'],
    ] as const) {
      time.at(atMs, 0, () => fired.push(`${what} ${time.nowMs}`))
    }
    time.at(15, 0, () => fired.push('never')).cancel()
    await time.run(25, on)
    expect(fired).toEqual(['a 10', 'b 20', 'c 20'])
    expect(time.nowMs).toBe(25)
    await time.run(40, on)
    expect(fired.at(-1)).toBe('d 30')
    expect(time.stepCount).toBe(4)
  })

  test('lets what a timer sets going come to rest before the next one fires, however long its chain of promises', async () => {
    const time = new VirtualTime(settle)
    const seen: string[] = []
    const chain = async (): Promise<void> => {
      for (let i = 0; i < 5_000; i++) await Promise.resolve()
      seen.push('rest')
    }
    time.at(1, 7, () => void chain())
    time.at(1, 8, () => seen.push('next'))
    const owners: number[] = []
    await time.run(2, (owner) => {
      owners.push(owner)
      seen.push('step')
      return true
    })
    expect(seen).toEqual(['rest', 'step', 'next', 'step'])
    expect(owners).toEqual([7, 8])
  })

  test('says when somebody sets alarms for one moment for ever', async () => {
    const time = new VirtualTime(settle)
    const again = (): void => void time.after(0, 3, again)
    again()
    await expect(time.run(1, on)).rejects.toThrow('time stands still at 0 ms, by 3')
  })
})

describe("a life's clock", () => {
  const aborted = (): AbortSignal => AbortSignal.abort()

  test('wakes sleepers at their moment, at once when they are given up, and none once it is stopped', async () => {
    const time = new VirtualTime(settle)
    const clock = new VirtualClock(time, 0, 1_000)
    const woken: string[] = []
    const sleeps = (name: string, ms: number, signal: AbortSignal): void => {
      void clock.sleep(ms, signal).then(() => woken.push(`${name} ${time.nowMs}`))
    }
    const stop = new AbortController()
    sleeps('gone already', 500, aborted())
    sleeps('ten', 10, new AbortController().signal)
    sleeps('given up', 500, stop.signal)
    sleeps('killed', 40, new AbortController().signal)
    time.at(20, 0, () => stop.abort())
    time.at(30, 0, () => clock.stop())
    await time.run(100, on)
    expect(woken).toEqual(['gone already 0', 'ten 10', 'given up 20'])
  })

  test('shows a wall clock that steps, and monotonic time that does not', async () => {
    const time = new VirtualTime(settle)
    const clock = new VirtualClock(time, 0, 1_000)
    await time.run(50, on)
    clock.stepWall(-3_600_000)
    expect(clock.wallMs()).toBe(1_050 - 3_600_000)
    expect(clock.monotonicMs()).toBe(50)
  })
})
