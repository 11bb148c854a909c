import { createSocket, type Socket, type SocketOptions } from 'node:dgram'
import { lookup } from 'node:dns'
import { once } from 'node:events'
import { isIP, isIPv6 } from 'node:net'

/** First and last UDP port to use; [0, 0] for any free one. */
export type PortRange = readonly [number, number]

/** Holds two seconds of one call while the worker is busy. */
const socketBytes = 262_144

/** Node asks for every packet sent. Its own way waits for the next tick even for an address that is none to be looked up. */
const resolve: SocketOptions['lookup'] = (host, options, callback) => {
  if (isIP(host)) callback(null, host, 0)
  else lookup(host, options, callback)
}

const open = async (address: string, port: number): Promise<Socket | null> => {
  const type = isIPv6(address) ? 'udp6' : 'udp4'
  const socket = createSocket({ type, ipv6Only: type === 'udp6', recvBufferSize: socketBytes, lookup: resolve })
  try {
    const listening = once(socket, 'listening')
    socket.bind(port, address)
    await listening
    return socket
  } catch (error) {
    socket.close()
    // Somebody else's, or one that only the administrator may use: the next one, then.
    if (error instanceof Error && 'code' in error && (error.code === 'EADDRINUSE' || error.code === 'EACCES'))
      return null
    throw error
  }
}

/** Gives out the UDP ports of a range, one after the other round about: a port that was just given back rests longest. */
export class Ports {
  private readonly range: PortRange
  private readonly address: string
  private next: number

  constructor(address: string, range: PortRange) {
    this.address = address
    this.range = range
    this.next = range[0]
  }

  /** @throws Error when the range has no free one */
  async one(): Promise<Socket> {
    return (await this.find(1, (port) => open(this.address, port))) ?? this.none()
  }

  /** An even port for RTP and the odd one above it for RTCP (RFC 3550, 11); any two with [0, 0]. */
  async pair(): Promise<readonly [Socket, Socket]> {
    const both = async (port: number) => {
      const rtp = await open(this.address, port)
      const rtcp = rtp && (await open(this.address, port === 0 ? 0 : port + 1))
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

/** The part of a range that one of several workers has to itself, beginning with an even port. */
export const share = ([first, last]: PortRange, worker: number, workers: number): PortRange => {
  if (last === 0) return [0, 0]
  const size = Math.floor((last - first + 1) / workers / 2) * 2
  const start = first + (first % 2) + worker * size
  return [start, Math.min(last, start + size - 1)]
}
