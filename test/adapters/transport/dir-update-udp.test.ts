import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { DirUpdateUdp, UpdatesListenError } from '../../../src/adapters/transport/dir-update-udp.ts'
import { until } from '../../cluster/support.ts'
import { HandClock } from '../../proxy/paper-wire.ts'

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

async function listening(host = '127.0.0.1'): Promise<{ port: DirUpdateUdp; clock: HandClock; got: string[] }> {
  const clock = new HandClock()
  const port = await DirUpdateUdp.listen(host, 0, { clock })
  open.push(() => port.close())
  const got: string[] = []
  port.start((peer, bytes) => got.push(`${peer} ${Buffer.from(bytes).toString()}`))
  return { port, clock, got }
}

/** A sender of its own, with what it has received. */
async function sender(type: 'udp4' | 'udp6' = 'udp4'): Promise<{ socket: Socket; port: number; got: string[] }> {
  const socket = createSocket(type)
  const got: string[] = []
  socket.on('message', (bytes) => got.push(bytes.toString()))
  socket.bind(0, type === 'udp4' ? '127.0.0.1' : '::1')
  await once(socket, 'listening')
  open.push(() => socket.close())
  return { socket, port: socket.address().port, got }
}

/** Admits a peer, and waits until its name is resolved: then what is sent to it arrives. */
async function admitted(port: DirUpdateUdp, name: string, host: string, from: { port: number; got: string[] }) {
  port.admit(name, `${host}:${from.port}`)
  await until(() => {
    port.send(name, Buffer.from('known'))
    return from.got.includes('known')
  })
  port.takeDropped()
}

const total = (dropped: Readonly<Record<string, number>>): number => Object.values(dropped).reduce((a, b) => a + b, 0)

describe('only a listed address is read', () => {
  test('datagrams of a peer are handed on under its name, others counted', async () => {
    const { port, got } = await listening()
    const [peer, stranger] = [await sender(), await sender()]
    await admitted(port, 'a', '127.0.0.1', peer)
    const to = port.address.port
    stranger.socket.send('from nobody', to, '127.0.0.1')
    peer.socket.send('from a', to, '127.0.0.1')
    await until(() => got.length > 0)
    const dropped: Record<string, number> = {}
    await until(() => {
      for (const [cause, count] of Object.entries(port.takeDropped())) dropped[cause] = (dropped[cause] ?? 0) + count
      return total(dropped) > 0
    })
    expect([got, dropped]).toEqual([['a from a'], { 'unknown-sender': 1 }])

    port.dismiss('a')
    peer.socket.send('from a', to, '127.0.0.1')
    await until(() => port.takeDropped()['unknown-sender'] === 1)
    expect(got).toHaveLength(1)
  })

  test('names are resolved, and a new address of a peer takes the place of the old', async () => {
    const { port, got } = await listening()
    const [before, after] = [await sender(), await sender()]
    await admitted(port, 'a', 'localhost', before)
    await admitted(port, 'a', 'localhost', after)
    before.socket.send('before', port.address.port, '127.0.0.1')
    after.socket.send('after', port.address.port, '127.0.0.1')
    await until(() => got.length > 0)
    await until(() => port.takeDropped()['unknown-sender'] === 1)
    expect(got).toEqual(['a after'])
  })

  test('a name that nobody has costs what would be sent to it, and nothing else', async () => {
    const { port } = await listening()
    port.admit('a', 'no-such-host.invalid:3130')
    port.send('a', Buffer.from('lost'))
    let unsent = 0
    await until(() => (unsent += port.takeDropped().unsent ?? 0) > 1)
    // What was to be sent, and the name.
    expect(unsent).toBe(2)
  })
})

test('rule 8: a peer that sends more than its share of a second is not read until the next', async () => {
  const { port, clock, got } = await listening()
  const peer = await sender()
  await admitted(port, 'a', '127.0.0.1', peer)
  let overRate = 0
  // In lots that a socket's buffer holds: what is counted is what arrives.
  for (let sent = 0; sent < 1_100; sent += 50) {
    for (let i = 0; i < 50; i++) peer.socket.send('x', port.address.port, '127.0.0.1')
    await until(() => {
      overRate += port.takeDropped()['over-rate'] ?? 0
      return got.length + overRate === sent + 50
    })
  }
  expect([got.length, overRate]).toEqual([1_000, 100])
  await clock.advance(1_000)
  peer.socket.send('again', port.address.port, '127.0.0.1')
  await until(() => got.length === 1_001)
})

describe('IPv6', () => {
  test('a socket on an IPv6 address speaks with a peer there', async () => {
    const { port, got } = await listening('::1')
    const peer = await sender('udp6')
    await admitted(port, 'a', '[::1]', peer)
    peer.socket.send('six', port.address.port, '::1')
    await until(() => got.length > 0)
    expect(got).toEqual(['a six'])
  })

  test('a socket on :: speaks with a peer on IPv4 as well', async () => {
    const { port, got } = await listening('::')
    const peer = await sender()
    await admitted(port, 'a', '127.0.0.1', peer)
    peer.socket.send('four', port.address.port, '127.0.0.1')
    await until(() => got.length > 0)
    expect(got).toEqual(['a four'])
  })
})

test('a port that is taken is a reason with its name', async () => {
  const { port } = await listening()
  const taken: AddressInfo = port.address
  const second = DirUpdateUdp.listen('127.0.0.1', taken.port, { clock: new HandClock() })
  await expect(second).rejects.toBeInstanceOf(UpdatesListenError)
  await expect(second).rejects.toMatchObject({ systemCode: 'EADDRINUSE' })
})
