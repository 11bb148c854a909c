import { defaultPacketMs } from '../limits.ts'
import type { TimedPacket } from './dtmf.ts'
import type { UnnumberedPacket } from './rtp-sender.ts'

/** Counts sequences of keys: right after another one, the next would seem to repeat it. */
let made = 0

/** Sends the packets of key presses, events or tones, with the ticks of the clock. */
export class KeySource {
  private readonly name = `keys ${made++}`
  private readonly packets: Iterator<TimedPacket>
  private readonly payloadType: number
  private readonly finished = Promise.withResolvers<void>()
  private following: TimedPacket | null
  private sequence = 0
  /** Milliseconds since the first packet, and those at which the next one is due. */
  private passed = -defaultPacketMs
  private dueMs: number

  constructor(packets: Iterable<TimedPacket>, payloadType: number) {
    this.packets = packets[Symbol.iterator]()
    this.payloadType = payloadType
    this.following = this.take()
    this.dueMs = this.following?.delayMs ?? 0
    if (this.isOver) this.finished.resolve()
  }

  /** Resolves when the last packet was sent, or the source was stopped. */
  get ended(): Promise<void> {
    return this.finished.promise
  }

  get isOver(): boolean {
    return this.following === null
  }

  /** Returns the packets that are due after a tick. */
  tick(): UnnumberedPacket[] {
    this.passed += defaultPacketMs
    const due: UnnumberedPacket[] = []
    while (this.following && this.dueMs <= this.passed) {
      const { timestamp, marker, payload } = this.following
      const { name: source, payloadType } = this
      due.push({ source, sequence: this.sequence++, timestamp, marker, payloadType, payload })
      this.following = this.take()
      this.dueMs += this.following?.delayMs ?? 0
    }
    if (this.isOver) this.finished.resolve()
    return due
  }

  stop(): void {
    this.following = null
    this.finished.resolve()
  }

  private take(): TimedPacket | null {
    const { value, done } = this.packets.next()
    return done ? null : value
  }
}
