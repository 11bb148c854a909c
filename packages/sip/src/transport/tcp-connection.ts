import type { Socket } from 'node:net'
import { MessageFramer } from '../message-framer.ts'
import type { Timers } from '../timers.ts'
import { type Flow, makeFlowId, maxUnread, type TransportReceiver } from './flow.ts'

const pong = Buffer.from('\r\n')

/** A connection over TCP or TLS, opened by either side. */
export class TcpConnection implements Flow {
  readonly id: string
  readonly protocol: 'TCP' | 'TLS'
  readonly address: string
  readonly port: number
  private readonly socket: Socket
  private readonly receiver: TransportReceiver
  private readonly timers: Timers
  private readonly idleMs: number
  private readonly framer = new MessageFramer(
    (octets) => this.receiver.received(octets, this),
    () => this.send(pong),
  )
  private reason = 'closed by the peer'
  private lastReceivedAt: number
  private stopIdleTimer: () => void

  constructor(socket: Socket, protocol: 'TCP' | 'TLS', idleMs: number, timers: Timers, receiver: TransportReceiver) {
    this.id = makeFlowId(protocol)
    this.protocol = protocol
    this.address = socket.remoteAddress ?? ''
    this.port = socket.remotePort ?? 0
    this.socket = socket
    this.receiver = receiver
    this.timers = timers
    this.idleMs = idleMs
    this.lastReceivedAt = timers.now()
    this.stopIdleTimer = timers.after(idleMs, () => this.checkIdle())
    socket.setNoDelay(true)
    socket.setKeepAlive(true, 60_000)
    socket.on('data', (chunk: Buffer) => this.read(chunk))
    socket.on('error', (error) => {
      this.reason = error.message
    })
    socket.on('close', () => {
      this.stopIdleTimer()
      receiver.closed(this, this.reason)
    })
  }

  get isOpen(): boolean {
    return this.socket.writable
  }

  send(octets: Buffer): boolean {
    if (!this.isOpen) return false
    if (this.socket.writableLength > maxUnread) {
      this.close('the peer does not read')
      return false
    }
    this.socket.write(octets)
    return true
  }

  close(reason: string): void {
    this.reason = reason
    this.socket.destroy()
  }

  withPort(): Flow {
    return this
  }

  private read(chunk: Buffer): void {
    this.lastReceivedAt = this.timers.now()
    if (!this.framer.push(chunk)) this.close('the peer lost the framing')
  }

  private checkIdle(): void {
    const left = this.lastReceivedAt + this.idleMs - this.timers.now()
    if (left <= 0) this.close('silent for too long')
    else this.stopIdleTimer = this.timers.after(left, () => this.checkIdle())
  }
}
