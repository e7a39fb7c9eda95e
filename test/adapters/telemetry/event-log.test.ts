import { pino } from 'pino'
import { expect, test } from 'vitest'
import { EventLog } from '../../../src/adapters/telemetry/event-log.ts'
import type { ProxyEvent } from '../../../src/proxy/proxy-event.ts'
import { requestEnded } from './request-ended.ts'

const EVENTS: readonly ProxyEvent[] = [
  { kind: 'peer-changed', peer: 'b', state: 'connected', reason: 'its stream is open' },
  { kind: 'peer-changed', peer: 'b', state: 'refused', reason: 'density near one' },
  { kind: 'peer-turned-away', peer: 'c', cause: 'signature', reason: 'another key' },
  { kind: 'digest-turned', incarnation: 1, generation: 4, reason: 'pending clears' },
  { kind: 'peer-asked', peer: 'b', outcome: 'hit', cause: undefined, requestBytes: 1, replyBytes: 2, elapsedMs: 3 },
  {
    kind: 'peer-asked',
    peer: 'b',
    outcome: 'false-hit',
    cause: 'variant',
    requestBytes: 1,
    replyBytes: 2,
    elapsedMs: 3,
  },
  { kind: 'origin-asked', outcome: 'fetched' },
  { kind: 'origin-asked', outcome: 'failed' },
  { kind: 'local-miss', peers: 1, icpQueryBytes: 60, icpReplyBytes: 50 },
  { kind: 'digest-sent', frame: 'delta', count: 2, bytes: 90 },
  requestEnded(),
]

test('an operator sees what changes at peers and digests; trouble is a warning; requests are not here', () => {
  expect(logged('info')).toMatchObject([
    { level: 30, msg: 'peer connected', peer: 'b', reason: 'its stream is open' },
    { level: 40, msg: 'peer refused', peer: 'b', reason: 'density near one' },
    { level: 40, msg: 'peer turned away', peer: 'c', cause: 'signature', reason: 'another key' },
    { level: 30, msg: 'new digest generation', generation: 4, reason: 'pending clears' },
  ])
})

test('whoever looks for a fault sees vain questions, and at the finest level every frame', () => {
  expect(logged('debug').map(({ msg }) => msg)).toEqual([
    'peer connected',
    'peer refused',
    'peer turned away',
    'new digest generation',
    'peer asked in vain',
    'origin asked in vain',
  ])
  expect(logged('trace').at(-1)).toMatchObject({ level: 10, msg: 'digest frame', frame: 'delta' })
})

function logged(level: string): { readonly level: number; readonly msg: string }[] {
  const lines: { level: number; msg: string }[] = []
  const log = new EventLog(pino({ level }, { write: (line: string) => lines.push(JSON.parse(line)) }))
  for (const event of EVENTS) log.emit(event)
  return lines
}
