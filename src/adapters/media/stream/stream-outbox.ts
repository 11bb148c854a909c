import {
  maxSocketBytes,
  maxUnconfirmedFrames,
  maxWaitingFrames,
  maxWaitingNotices,
  pingFrames,
  stalledMs,
} from '../limits.ts'
import type { FrameWriter, OwnFrame } from './stream-frames.ts'

/** The part of a WebSocket that an outbox uses. */
export type FrameSocket = {
  /** Octets that were given to the socket and that the system has not taken. */
  readonly bufferedAmount: number
  /** @param sent called once the system has taken the frame, or the connection is lost */
  send(frame: string | Buffer, sent: () => void): void
  /** Asks the server to send this text back once it has read everything before. */
  ping(text: string): void
}

export type OutboxEvents = {
  /** Audio was dropped for the first time. */
  dropped(): void
  /** The stream must end: the server takes nothing. */
  failed(reason: 'broken' | 'protocol', detail: string): void
}

export type OutboxOptions = { readonly isBinary: boolean; readonly tracks: number }

/**
 * Frames to a server, in order. Few octets are given to the socket at a time, as it drops nothing, and few frames that
 * the server has not confirmed by a pong. A server that never answers a ping is bounded by the socket alone. While they
 * wait, the oldest audio of a track is dropped after 2 s. Other frames are kept.
 */
export class StreamOutbox {
  private readonly socket: FrameSocket
  private readonly write: FrameWriter
  private readonly options: OutboxOptions
  private readonly events: OutboxEvents
  private waiting: OwnFrame[] = []
  private readonly audio = { inbound: 0, outbound: 0 }
  private sequence = 0
  /** Since when the first frame waits, by the monotonic clock; null if none does. */
  private stalledAt: number | null = null
  private isOver = false
  /** Frames of audio that the server has read; null before its first pong. */
  private confirmed: number | null = null
  sent = 0
  dropped = 0

  constructor(socket: FrameSocket, write: FrameWriter, options: OutboxOptions, events: OutboxEvents) {
    this.socket = socket
    this.write = write
    this.options = options
    this.events = events
  }

  /** @param at milliseconds of the monotonic clock */
  push(frame: OwnFrame, at: number): void {
    if (this.isOver) return
    if (this.waiting.length === 0 && this.hasRoom) {
      this.give(frame)
      return
    }
    this.stalledAt ??= at
    if (at - this.stalledAt > stalledMs) {
      this.fail('broken', `the server has taken nothing for ${stalledMs / 1_000} s`)
      return
    }
    this.waiting.push(frame)
    if (frame.event === 'media') {
      if (++this.audio[frame.track] > maxWaitingFrames) this.dropOldest(frame.track)
    } else if (this.waiting.length - this.audio.inbound - this.audio.outbound > maxWaitingNotices)
      this.fail('protocol', `more than ${maxWaitingNotices} marks and keys wait for the server`)
  }

  /** Gives everything that waits to the socket, and takes no more. */
  finish(last: OwnFrame): void {
    if (this.isOver) return
    for (const frame of this.waiting.splice(0)) this.give(frame)
    this.give(last)
    this.isOver = true
  }

  /** The server has read everything before a ping. @param text that of the ping */
  confirm(text: string): void {
    const count = Number(text)
    if (!Number.isInteger(count) || count > this.sent || count < (this.confirmed ?? 0)) return
    this.confirmed = count
    this.drain()
  }

  private get hasRoom(): boolean {
    const { sent, confirmed, socket, options } = this
    if (confirmed !== null && sent - confirmed >= maxUnconfirmedFrames * options.tracks) return false
    return socket.bufferedAmount < maxSocketBytes
  }

  private readonly drain = (): void => {
    if (this.stalledAt === null || this.isOver) return
    let given = 0
    for (; given < this.waiting.length && this.hasRoom; given++) {
      const frame = this.waiting[given]
      if (!frame) break
      if (frame.event === 'media') this.audio[frame.track]--
      this.give(frame)
    }
    if (given === 0) return
    this.waiting = this.waiting.slice(given)
    this.stalledAt = this.waiting.length === 0 ? null : performance.now()
  }

  private give(frame: OwnFrame): void {
    const { socket, options } = this
    this.sequence++
    const isRaw = options.isBinary && frame.event === 'media'
    socket.send(isRaw ? frame.payload : this.write(frame, this.sequence), this.drain)
    if (frame.event === 'media' && this.sent++ % (pingFrames * options.tracks) === 0) socket.ping(String(this.sent))
  }

  private dropOldest(track: 'inbound' | 'outbound'): void {
    const oldest = this.waiting.findIndex((one) => one.event === 'media' && one.track === track)
    this.waiting.splice(oldest, 1)
    this.audio[track]--
    if (++this.dropped === 1) this.events.dropped()
  }

  private fail(reason: 'broken' | 'protocol', detail: string): void {
    this.isOver = true
    this.events.failed(reason, detail)
  }
}
