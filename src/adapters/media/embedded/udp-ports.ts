import { createSocket, type Socket, type SocketOptions } from 'node:dgram'
import { lookup } from 'node:dns'
import { once } from 'node:events'
import { isIP, isIPv6 } from 'node:net'
import { socketBytes } from '../limits.ts'

/** First and last UDP port; [0, 0] for any free port. */
export type PortRange = readonly [number, number]

/** Lookup that Node calls per packet sent. Node's own waits for the next tick even if the host is an IP address. */
const resolve: SocketOptions['lookup'] = (host, options, callback) => {
  if (isIP(host)) callback(null, host, 0)
  else lookup(host, options, callback)
}

/** @returns null if the port is in use or privileged @throws Error for any other failure */
export const openSocket = async (address: string, port: number): Promise<Socket | null> => {
  const type = isIPv6(address) ? 'udp6' : 'udp4'
  const socket = createSocket({ type, ipv6Only: type === 'udp6', recvBufferSize: socketBytes, lookup: resolve })
  try {
    const listening = once(socket, 'listening')
    socket.bind(port, address)
    await listening
    return socket
  } catch (error) {
    socket.close()
    // In use or privileged: the caller tries the next port.
    if (error instanceof Error && 'code' in error && (error.code === 'EADDRINUSE' || error.code === 'EACCES'))
      return null
    throw error
  }
}

/** Allocates the UDP ports of a range in turn, so that a released port rests as long as possible. */
export class UdpPorts {
  private readonly range: PortRange
  private readonly address: string
  private next: number

  constructor(address: string, range: PortRange) {
    this.address = address
    this.range = range
    this.next = range[0]
  }

  /** @throws Error if the range has no free port */
  async openOne(): Promise<Socket> {
    return (await this.find(1, (port) => openSocket(this.address, port))) ?? this.none()
  }

  /** Returns an even port for RTP and the next one for RTCP (RFC 3550, 11); any two for [0, 0]. */
  async openPair(): Promise<readonly [Socket, Socket]> {
    const both = async (port: number) => {
      const rtp = await openSocket(this.address, port)
      const rtcp = rtp && (await openSocket(this.address, port === 0 ? 0 : port + 1))
      if (rtp && !rtcp) rtp.close()
      return rtp && rtcp ? ([rtp, rtcp] as const) : null
    }
    return (await this.find(2, both)) ?? this.none()
  }

  private async find<T>(step: 1 | 2, take: (port: number) => Promise<T | null>): Promise<T | null> {
    const [first, last] = this.range
    if (last === 0) return take(0)
    for (let tried = first; tried <= last; tried += step) {
      let port = step === 2 ? this.next + (this.next % 2) : this.next
      if (port + step - 1 > last) port = step === 2 ? first + (first % 2) : first
      this.next = port + step > last ? first : port + step
      const taken = await take(port)
      if (taken) return taken
    }
    return null
  }

  private none(): never {
    throw new Error(`no free UDP port from ${this.range[0]} to ${this.range[1]} on ${this.address}`)
  }
}

/** Returns a worker's own part of a range, which starts with an even port. */
export const rangeShare = ([first, last]: PortRange, worker: number, workers: number): PortRange => {
  if (last === 0) return [0, 0]
  const size = Math.floor((last - first + 1) / workers / 2) * 2
  const start = first + (first % 2) + worker * size
  return [start, Math.min(last, start + size - 1)]
}
