import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PeerAccounts } from '../../src/proxy/peer-accounts.ts'
import { DIGEST_FRAME_KINDS, type ProxyEvent } from '../../src/proxy/proxy-event.ts'

const added = (peer: string): ProxyEvent => ({ kind: 'peer-changed', peer, state: 'added', reason: '' })
const removed = (peer: string): ProxyEvent => ({ kind: 'peer-changed', peer, state: 'removed', reason: '' })
const missed = (peers: number): ProxyEvent => ({
  kind: 'local-miss',
  peers,
  icpQueryBytes: 60 * peers,
  icpReplyBytes: 50 * peers,
})

test('rule 10: each event is counted at its peer, in both counts, by its own size', () => {
  const peer = fc.constantFrom('a', 'b')
  const bytes = fc.nat(1_000)
  const event = fc.oneof(
    fc.record({
      kind: fc.constant('digest-received' as const),
      peer,
      frame: fc.constantFrom(...DIGEST_FRAME_KINDS),
      count: fc.constant(1),
      bytes,
    }),
    fc.record({
      kind: fc.constant('peer-asked' as const),
      peer,
      outcome: fc.constantFrom('hit' as const, 'failed' as const),
      cause: fc.constant(undefined),
      requestBytes: bytes,
      replyBytes: bytes,
      elapsedMs: fc.constant(1),
    }),
    fc.record({
      kind: fc.constant('peer-probed' as const),
      peer,
      why: fc.constant('unclaimed' as const),
      outcome: fc.constant('hit' as const),
      replicaAgeMs: fc.constant(1),
      requestBytes: bytes,
      replyBytes: bytes,
      elapsedMs: fc.constant(1),
    }),
  )
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const accounts = new PeerAccounts()
      for (const name of ['a', 'b']) accounts.emit(added(name))
      for (const each of events) accounts.emit(each)
      for (const name of ['a', 'b']) {
        const own = events.filter((each) => each.peer === name)
        const frames = own.flatMap((each) => (each.kind === 'digest-received' ? [each] : []))
        const asks = own.flatMap((each) => (each.kind === 'digest-received' ? [] : [each]))
        const questions = asks.filter(({ kind }) => kind === 'peer-asked')
        const updates = frames.filter(({ frame }) => ['delta', 'turnover', 'snapshot'].includes(frame))
        const account = accounts.of(name)
        expect(account.messagesPaper).toBe(updates.length + questions.length)
        const answers = asks.filter(({ replyBytes }) => replyBytes > 0)
        expect(account.messagesFull).toBe(frames.length + asks.length + answers.length)
        const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)
        expect(account.bytes).toBe(
          sum(frames.map((each) => each.bytes)) + sum(asks.map((each) => each.requestBytes + each.replyBytes)),
        )
      }
    }),
    { numRuns: 60 },
  )
})

test('what ICP would have cost counts the misses while the peer was one', () => {
  const accounts = new PeerAccounts()
  accounts.emit(added('a'))
  accounts.emit(missed(1))
  accounts.emit(added('b'))
  accounts.emit(missed(2))
  accounts.emit(missed(2))
  expect(accounts.of('a').icp).toEqual({ messagesPaper: 3, messagesFull: 6, bytes: 330 })
  expect(accounts.of('b').icp).toEqual({ messagesPaper: 2, messagesFull: 4, bytes: 220 })
  accounts.emit(removed('b'))
  accounts.emit(added('b'))
  expect(accounts.of('b').icp).toEqual({ messagesPaper: 0, messagesFull: 0, bytes: 0 })
})
