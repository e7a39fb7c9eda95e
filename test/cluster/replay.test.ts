import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { readDemoLog } from '../../src/demo/demo-log.ts'
import { DemoOrigin } from '../../src/demo/demo-origin.ts'
import { freePorts } from '../../src/demo/free-ports.ts'
import { ProxyProcess } from '../../src/demo/proxy-process.ts'
import { replay } from '../../src/demo/replay-client.ts'

const BUDGET_BYTES = 2 * 1024 * 1024
// What a proxy takes beside its budget (docs/operate.md): the runtime, the code, and bodies on their way to clients.
const CONSTANT_BYTES = 384 * 1024 * 1024

let origin: DemoOrigin | undefined
let proxies: ProxyProcess[] = []

afterEach(async () => {
  origin?.close()
  await Promise.all(proxies.map((proxy) => proxy.stop()))
})

/** The most that a process has held in memory, or holds now where the system keeps no such record. */
function residentBytes(pid: number): number {
  const status = `/proc/${pid}/status`
  const kilobytes = existsSync(status)
    ? /VmHWM:\s+(\d+)/.exec(readFileSync(status, 'utf8'))![1]
    : execFileSync('ps', ['-o', 'rss=', '-p', String(pid)]).toString()
  return Number(kilobytes) * 1024
}

test('30,000 requests of a real log at full speed: none fails, every body is whole, memory keeps to its budget', async () => {
  const log = readDemoLog(3)
  const requests = Array.from({ length: 30_000 }, (_, i) => log.requests[i % log.requests.length]!)
  origin = new DemoOrigin(log.sizes)
  const originUrl = `http://127.0.0.1:${await origin.listen()}`
  const ports = await freePorts(23_128, 6)
  const names = ['a', 'b', 'c']
  const peers = names.map((name, i) => ({ name, url: `http://127.0.0.1:${ports[i]}` }))
  proxies = names.map(
    (name, i) =>
      new ProxyProcess({
        name,
        port: ports[i]!,
        adminPort: ports[i + 3]!,
        peers,
        memoryBytes: BUDGET_BYTES,
        expectedEntries: 1_000,
        cli: 'src/cli.ts',
      }),
  )
  const { signal } = new AbortController()
  await Promise.all(proxies.map((proxy) => proxy.ready(signal)))
  const failed = [0, 0, 0]
  const result = await replay(requests, { originUrl, targets: proxies, durationMs: 0, signal, failed })
  expect(result.firstFailure).toBeUndefined()
  expect(failed).toEqual([0, 0, 0])
  for (const proxy of proxies) {
    const { byOutcome, requests: count } = await proxy.statistics()
    expect(count).toBeGreaterThan(5_000)
    expect(byOutcome.failed).toBe(0)
    expect(byOutcome['remote-hit']).toBeGreaterThan(0)
    expect(residentBytes(proxy.pid!), `${proxy.name} after ${count} requests`).toBeLessThan(
      BUDGET_BYTES + CONSTANT_BYTES,
    )
  }
}, 60_000)
