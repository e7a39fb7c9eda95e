import { describe, expect, test } from 'vitest'
import { RecentPurges } from '../../src/proxy/recent-purges.ts'
import { SingleFlight } from '../../src/proxy/single-flight.ts'

describe('a flight', () => {
  test('is given up when the last who waits for it has gone, not before', () => {
    const flight = new SingleFlight<never>().begin('k')
    const [first, second] = [new AbortController(), new AbortController()]
    flight.board(first.signal)
    flight.board(second.signal)
    first.abort()
    expect(flight.signal.aborted).toBe(false)
    second.abort()
    expect(flight.signal.aborted).toBe(true)
  })

  test('that has landed is nobody’s to give up', () => {
    const flight = new SingleFlight<never>().begin('k')
    const client = new AbortController()
    const leave = flight.board(client.signal)
    leave()
    leave()
    client.abort()
    expect(flight.signal.aborted).toBe(false)
  })

  test('is over for new askers once it has ended, and only its own end ends it', () => {
    const flights = new SingleFlight<never>()
    const old = flights.begin('k')
    const current = flights.begin('k')
    flights.end('k', old)
    expect(flights.under('k')).toBe(current)
    flights.end('k', current)
    expect(flights.under('k')).toBeUndefined()
  })
})

describe('uncacheable-serialised: a key whose answer could not be stored', () => {
  test('is remembered for two minutes, or until it can be', () => {
    const flights = new SingleFlight<never>()
    flights.remember('k', true, 0)
    expect(flights.isLoner('k', 119_999)).toBe(true)
    expect(flights.isLoner('k', 120_000)).toBe(false)
    flights.remember('k', true, 0)
    flights.remember('k', false, 1)
    expect(flights.isLoner('k', 2)).toBe(false)
  })

  test('and the memory of them is bounded', () => {
    const flights = new SingleFlight<never>()
    for (let i = 0; i < 10_000; i++) flights.remember(`k${i}`, true, 0)
    expect(flights.isLoner('k0', 1)).toBe(false)
    expect(flights.isLoner('k9999', 1)).toBe(true)
  })
})

describe('purges of late', () => {
  test('tell what was asked for before them, and are kept for a while, bounded', () => {
    const purges = new RecentPurges()
    purges.add('u', 100)
    expect(purges.since('u', 100)).toBe(true)
    expect(purges.since('u', 101)).toBe(false)
    purges.add('v', 400_000)
    expect(purges.since('u', 0)).toBe(false)
    for (let i = 0; i < 10_000; i++) purges.add(`u${i}`, 400_001)
    expect(purges.since('v', 0)).toBe(false)
    expect(purges.since('u9999', 0)).toBe(true)
  })
})
