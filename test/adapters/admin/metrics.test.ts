import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAdmin } from './admin-client.ts'
import type { Admin } from './admin-client.ts'
import { peerAsked, peerView, requestEnded } from './fake-proxy.ts'

let admin: Admin
beforeAll(async () => {
  admin = await startAdmin()
})
afterAll(async () => admin.server.close())

describe('/metrics', () => {
  test('is valid exposition text: each family has its help and type, and each sample a family', async () => {
    const answer = await admin.ask('GET', '/metrics')
    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(answer.text.endsWith('\n')).toBe(true)
    const { types } = parse(answer.text)
    for (const [name, type] of types) {
      expect(name).toMatch(/^summary_cache_[a-z][a-z0-9_]*$/)
      expect(name.endsWith('_total'), `${name} is a ${type}`).toBe(type === 'counter')
    }
  })

  test('gives what the proxy has counted, by outcome, cause and kind', async () => {
    admin.proxy.emit(requestEnded({ outcome: 'miss', bytesToClient: 700, bodyBytes: 500 }))
    admin.proxy.emit(peerAsked({ outcome: 'false-hit', cause: 'freshness' }))
    admin.proxy.emit({ kind: 'digest-sent', frame: 'delta', count: 2, bytes: 90 })
    admin.proxy.emit({ kind: 'local-miss', peers: 2, icpQueryBytes: 120, icpReplyBytes: 100 })
    const { samples } = parse((await admin.ask('GET', '/metrics')).text)
    expect(samples.get('summary_cache_requests_total{outcome="miss"}')).toBe(1)
    expect(samples.get('summary_cache_requests_total{outcome="failed"}')).toBe(0)
    expect(samples.get('summary_cache_client_bytes_total')).toBe(700)
    expect(samples.get('summary_cache_body_bytes_total{source="origin"}')).toBe(500)
    expect(samples.get('summary_cache_false_hits_total{cause="freshness"}')).toBe(1)
    expect(samples.get('summary_cache_inter_cache_messages_total{count="paper"}')).toBe(3)
    expect(samples.get('summary_cache_inter_cache_messages_total{count="full"}')).toBe(4)
    expect(samples.get('summary_cache_inter_cache_messages_total{count="finding"}')).toBe(3)
    expect(samples.get('summary_cache_digest_frame_bytes_sent_total{frame="delta"}')).toBe(180)
    expect(samples.get('summary_cache_icp_messages_total{count="full"}')).toBe(4)
    expect(samples.get('summary_cache_peers_turned_away_total{cause="signature"}')).toBe(3)
    expect(samples.get('summary_cache_peers_turned_away_total{cause="slow"}')).toBe(1)
    expect(samples.get('summary_cache_store_used_bytes')).toBe(4096)
    expect(samples.get('summary_cache_start_time_seconds')).toBe(Date.UTC(2026, 11, 1) / 1000)
  })

  test("gives each peer's guesses, and of a replica its age and both its errors", async () => {
    const { samples } = parse((await admin.ask('GET', '/metrics')).text)
    expect(samples.get('summary_cache_peer_false_hits_total{peer="b",cause="collision"}')).toBe(2)
    expect(samples.get('summary_cache_peer_false_misses_total{peer="b"}')).toBe(2)
    expect(samples.get('summary_cache_peer_false_miss_causes_total{peer="b",cause="freshness"}')).toBe(1)
    expect(samples.get('summary_cache_replica_age_seconds{peer="b"}')).toBe(0.64)
    expect(samples.get('summary_cache_replica_expected_error_ratio{peer="b"}')).toBe(0.0024)
    expect(samples.get('summary_cache_replica_measured_error_ratio{peer="b"}')).toBe(0.0208)
    expect(samples.get('summary_cache_peer_state{peer="b",state="up"}')).toBe(1)
    expect(samples.get('summary_cache_peer_state{peer="c",state="up"}')).toBe(0)
    expect(samples.has('summary_cache_replica_age_seconds{peer="c"}'), 'c has no replica').toBe(false)
  })

  test('gives what each peer has cost by kind, and what ICP would have cost in its place', async () => {
    const { samples } = parse((await admin.ask('GET', '/metrics')).text)
    const of = (family: string, labels = '') => samples.get(`summary_cache_peer_${family}_total{peer="b"${labels}}`)
    expect(of('frames_received', ',frame="heartbeat"')).toBe(12)
    expect(of('frame_bytes_received', ',frame="heartbeat"')).toBe(620)
    expect(of('frame_bytes_received', ',frame="snapshot"')).toBe(4_000)
    expect(of('heads', ',kind="question"')).toBe(24)
    expect(of('heads', ',kind="probe"')).toBe(3)
    expect(of('heads', ',kind="answer"')).toBe(26)
    expect(of('head_bytes')).toBe(4_100)
    expect(of('messages', ',count="paper"')).toBe(30)
    expect(of('messages', ',count="full"')).toBe(71)
    expect(of('icp_messages', ',count="full"')).toBe(240)
    expect(of('icp_bytes')).toBe(16_800)
  })

  test('counters never fall, however many scrape at once', async () => {
    let before = new Map<string, number>()
    for (let round = 0; round < 5; round++) {
      admin.proxy.emit(requestEnded({ outcome: round % 2 === 0 ? 'local-hit' : 'remote-hit' }))
      const answers = await Promise.all([1, 2, 3].map(async () => admin.ask('GET', '/metrics')))
      for (const { types, samples } of answers.map((answer) => parse(answer.text))) {
        for (const [series, value] of samples) {
          if (types.get(series.split('{')[0]!) === 'counter')
            expect(value).toBeGreaterThanOrEqual(before.get(series) ?? 0)
        }
        expect(samples.get('summary_cache_requests_total{outcome="local-hit"}')).toBe(Math.floor(round / 2) + 1)
        before = samples
      }
    }
  })

  test('a peer that was removed leaves no series behind', async () => {
    const { views } = admin.proxy
    admin.proxy.views = [...views, peerView('gone', 'up')]
    expect((await admin.ask('GET', '/metrics')).text).toContain('peer="gone"')
    admin.proxy.views = views
    expect((await admin.ask('GET', '/metrics')).text).not.toContain('peer="gone"')
  })

  test('servers of one process do not share their figures', async () => {
    const other = await startAdmin()
    const { samples } = parse((await other.ask('GET', '/metrics')).text)
    expect(samples.get('summary_cache_requests_total{outcome="miss"}')).toBe(0)
    await other.server.close()
  })
})

/** Strict about what the format allows (Prometheus, exposition formats, text 0.0.4). */
function parse(text: string) {
  const types = new Map<string, string>()
  const helps = new Set<string>()
  const samples = new Map<string, number>()
  let family = ''
  for (const line of text.split('\n')) {
    if (line === '') continue
    const help = /^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (?:[^\\]|\\\\|\\n)+$/.exec(line)
    const type = /^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge)$/.exec(line)
    const sample =
      /^(([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{[a-z_]+="(?:[^"\\]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\]|\\["\\n])*")*\})?) (\S+)$/.exec(
        line,
      )
    if (help !== null) {
      expect(helps.has(help[1]!), `${help[1]} comes once`).toBe(false)
      helps.add((family = help[1]!))
    } else if (type !== null) {
      expect(type[1]).toBe(family)
      types.set(family, type[2]!)
    } else if (sample !== null) {
      expect(sample[2]).toBe(family)
      expect(samples.has(sample[1]!), `${sample[1]} comes once`).toBe(false)
      expect(Number.isFinite(Number(sample[3])), line).toBe(true)
      samples.set(sample[1]!, Number(sample[3]))
    } else {
      expect.fail(`no line of the format: ${line}`)
    }
  }
  expect([...types.keys()]).toEqual([...helps])
  return { types, samples }
}
