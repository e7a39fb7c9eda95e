import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { isIPv6, type AddressInfo } from 'node:net'
import type { Clock, DatagramPort } from '../../proxy/ports.ts'
import type { DatagramDrop } from '../../proxy/proxy-event.ts'

export interface DirUpdateUdpOptions {
  readonly clock: Clock
}

// A sender of ours stays at 640 datagrams of 1,472 bytes a second. What comes beyond these is dropped unread.
const DATAGRAMS_PER_SECOND = 1_000
const BYTES_PER_SECOND = 1_500_000
/** A peer that moves to another address is found there after so long. */
const RESOLVE_EVERY_MS = 30_000
/** The system's default holds some hundred packets; where it allows no more than that, that is what it gives. */
const RECEIVE_BUFFER_BYTES = 1024 * 1024

interface Correspondent {
  readonly name: string
  readonly host: string
  readonly port: number
  /** Undefined until its name is resolved. */
  address: string | undefined
  resolvedAtMs: number
  windowStartMs: number
  datagrams: number
  bytes: number
}

/** The UDP socket cannot be had. */
export class UpdatesListenError extends Error {
  override readonly name = 'UpdatesListenError'
  readonly code = 'UPDATES_LISTEN'
  /** The system's, such as EADDRINUSE. */
  readonly systemCode: string
  constructor(cause: NodeJS.ErrnoException) {
    super(cause.message, { cause })
    this.systemCode = cause.code ?? ''
  }
}

/**
 * The socket of the paper's wire. It reads only what comes from the address and port of an admitted peer: the format has no
 * room for a MAC, so that this and the network's own filters are all that keeps forgers out.
 */
export class DirUpdateUdp implements DatagramPort {
  readonly #clock: Clock
  readonly #socket: Socket
  readonly #isIPv6: boolean
  readonly #byName = new Map<string, Correspondent>()
  /** By the `address port` that datagrams come from. */
  readonly #bySource = new Map<string, Correspondent>()
  readonly #dropped = new Map<DatagramDrop, number>()
  #isOpen = true

  private constructor(socket: Socket, ipv6: boolean, { clock }: DirUpdateUdpOptions) {
    this.#clock = clock
    this.#socket = socket
    this.#isIPv6 = ipv6
    // What the system says of one datagram: it is lost, as others are.
    socket.on('error', () => this.#drop('unsent'))
  }

  /** @throws {UpdatesListenError} */
  static async listen(host: string, port: number, options: DirUpdateUdpOptions): Promise<DirUpdateUdp> {
    let socket: Socket | undefined
    try {
      const { address } = await lookup(host)
      const ipv6 = isIPv6(address)
      const bound = createSocket({ type: ipv6 ? 'udp6' : 'udp4' })
      socket = bound
      await new Promise<void>((resolve, reject) => {
        bound.once('error', reject)
        bound.bind({ address, port, exclusive: true }, () => {
          bound.removeListener('error', reject)
          resolve()
        })
      })
      bound.setRecvBufferSize(RECEIVE_BUFFER_BYTES)
      return new DirUpdateUdp(bound, ipv6, options)
    } catch (error) {
      socket?.close()
      throw new UpdatesListenError(error as NodeJS.ErrnoException)
    }
  }

  get address(): AddressInfo {
    return this.#socket.address()
  }

  start(receive: (peer: string, bytes: Uint8Array) => void): void {
    this.#socket.on('message', (bytes, source) => {
      const from = this.#bySource.get(sourceOf(source.address, source.port))
      if (from === undefined) this.#drop('unknown-sender')
      else if (this.#isWithinRate(from, source)) receive(from.name, bytes)
      else this.#drop('over-rate')
    })
  }

  admit(peer: string, address: string): void {
    const { hostname, port } = new URL(`udp://${address}`)
    const correspondent: Correspondent = {
      name: peer,
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port),
      address: undefined,
      resolvedAtMs: -Infinity,
      windowStartMs: -Infinity,
      datagrams: 0,
      bytes: 0,
    }
    this.dismiss(peer)
    this.#byName.set(peer, correspondent)
    void this.#resolve(correspondent)
  }

  dismiss(peer: string): void {
    const correspondent = this.#byName.get(peer)
    if (correspondent === undefined) return
    this.#byName.delete(peer)
    this.#forgetSource(correspondent)
  }

  send(peer: string, bytes: Uint8Array): void {
    const to = this.#byName.get(peer)
    if (to === undefined || !this.#isOpen) return
    if (this.#clock.monotonicMs() - to.resolvedAtMs > RESOLVE_EVERY_MS) void this.#resolve(to)
    if (to.address === undefined) {
      this.#drop('unsent')
      return
    }
    const address = this.#isIPv6 && !isIPv6(to.address) ? `::ffff:${to.address}` : to.address
    this.#socket.send(bytes, to.port, address, (error) => {
      if (error) this.#drop('unsent')
    })
  }

  takeDropped(): Readonly<Partial<Record<DatagramDrop, number>>> {
    const dropped = Object.fromEntries(this.#dropped)
    this.#dropped.clear()
    return dropped
  }

  close(): Promise<void> {
    this.#isOpen = false
    return new Promise((resolve) => {
      this.#socket.close(() => resolve())
    })
  }

  /** A name that cannot be resolved stays what it was, and is tried again when something is to be sent. */
  async #resolve(correspondent: Correspondent): Promise<void> {
    const { host, name, port } = correspondent
    correspondent.resolvedAtMs = this.#clock.monotonicMs()
    let address: string
    try {
      address = (await lookup(host, this.#isIPv6 ? {} : { family: 4 })).address
    } catch {
      this.#drop('unsent')
      return
    }
    if (this.#byName.get(name) !== correspondent || correspondent.address === address) return
    this.#forgetSource(correspondent)
    correspondent.address = address
    this.#bySource.set(sourceOf(address, port), correspondent)
  }

  #forgetSource(correspondent: Correspondent): void {
    if (correspondent.address === undefined) return
    const source = sourceOf(correspondent.address, correspondent.port)
    if (this.#bySource.get(source) === correspondent) this.#bySource.delete(source)
  }

  #isWithinRate(from: Correspondent, { size }: RemoteInfo): boolean {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - from.windowStartMs >= 1_000) {
      from.windowStartMs = nowMs
      from.datagrams = 0
      from.bytes = 0
    }
    from.datagrams++
    from.bytes += size
    return from.datagrams <= DATAGRAMS_PER_SECOND && from.bytes <= BYTES_PER_SECOND
  }

  #drop(cause: DatagramDrop): void {
    this.#dropped.set(cause, (this.#dropped.get(cause) ?? 0) + 1)
  }
}

/** An IPv4 address that came by an IPv6 socket is what it is elsewhere. */
function sourceOf(address: string, port: number): string {
  return `${address.replace(/^::ffff:(?=\d+\.)/, '')} ${port}`
}
