import type { Socket } from 'node:net'
import { Frames } from '../frames.ts'
import type { Timers } from '../timers.ts'
import { type Flow, makeFlowId, mostUnread, type Receiver } from './flow.ts'

const pong = Buffer.from('\r\n')

/** One connection over TCP or TLS, whoever opened it. */
export class Connection implements Flow {
  readonly id: string
  readonly protocol: 'TCP' | 'TLS'
  readonly address: string
  readonly port: number
  private readonly socket: Socket
  private readonly receiver: Receiver
  private readonly timers: Timers
  private readonly idleMs: number
  private readonly frames = new Frames(
    (octets) => this.receiver.received(octets, this),
    () => this.send(pong),
  )
  private reason = 'closed by the peer'
  private heardAt: number
  private stopWatch: () => void

  constructor(socket: Socket, protocol: 'TCP' | 'TLS', idleMs: number, timers: Timers, receiver: Receiver) {
    this.id = makeFlowId(protocol)
    this.protocol = protocol
    this.address = socket.remoteAddress ?? ''
    this.port = socket.remotePort ?? 0
    this.socket = socket
    this.receiver = receiver
    this.timers = timers
    this.idleMs = idleMs
    this.heardAt = timers.now()
    this.stopWatch = timers.after(idleMs, () => this.watch())
    socket.setNoDelay(true)
    socket.setKeepAlive(true, 60_000)
    socket.on('data', (chunk: Buffer) => this.read(chunk))
    socket.on('error', (error) => {
      this.reason = error.message
    })
    socket.on('close', () => {
      this.stopWatch()
      receiver.closed(this, this.reason)
    })
  }

  get isOpen(): boolean {
    return this.socket.writable
  }

  send(octets: Buffer): boolean {
    if (!this.isOpen) return false
    if (this.socket.writableLength > mostUnread) {
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

  toward(): Flow {
    return this
  }

  private read(chunk: Buffer): void {
    this.heardAt = this.timers.now()
    if (!this.frames.push(chunk)) this.close('the peer lost the framing')
  }

  private watch(): void {
    const left = this.heardAt + this.idleMs - this.timers.now()
    if (left <= 0) this.close('silent for too long')
    else this.stopWatch = this.timers.after(left, () => this.watch())
  }
}
