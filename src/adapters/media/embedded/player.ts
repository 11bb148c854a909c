import { type G711, otherLaw } from '@trunkline/rtp/g711.ts'
import type { MediaPlayed } from '../../../ports/media.ts'
import { defaultPacketMs } from '../limits.ts'
import { frameBytes } from './g711-frame.ts'
import type { UnnumberedPacket } from './rtp-sender.ts'
import type { SoundReader } from './sound-reader.ts'

/** Counts players, so that the packets of each are a source of their own. */
let made = 0

/** Plays sounds to a leg one after the other: a packet for each tick of the clock. */
export class Player {
  private readonly name = `player ${made++}`
  /** Null until the sounds are open. */
  private readers: readonly SoundReader[] | null = null
  private packets = 0
  private readonly finished = Promise.withResolvers<MediaPlayed>()
  isOver = false

  /** Resolves when the last packet was sent, or the player was stopped. */
  get ended(): Promise<MediaPlayed> {
    return this.finished.promise
  }

  begin(readers: readonly SoundReader[]): void {
    this.readers = readers
    if (this.isOver) this.closeReaders()
  }

  /** Returns the next packet; null before the sounds are open, and after the last packet. */
  next(codec: G711, payloadType: number): UnnumberedPacket | null {
    while (this.readers) {
      const [reader] = this.readers
      if (!reader) {
        this.finish('done')
        break
      }
      const frame = reader()
      if (!frame) {
        reader.close?.()
        this.readers = this.readers.slice(1)
        continue
      }
      const number = this.packets++
      return {
        source: this.name,
        sequence: number & 0xffff,
        timestamp: (number * frameBytes) >>> 0,
        marker: false,
        payloadType,
        payload: codec === 'pcmu' ? frame : otherLaw('pcmu', frame),
      }
    }
    return null
  }

  stop(): void {
    this.finish('stopped')
  }

  private closeReaders(): void {
    for (const reader of this.readers ?? []) reader.close?.()
  }

  private finish(how: MediaPlayed['how']): void {
    this.isOver = true
    this.closeReaders()
    this.finished.resolve({ how, ms: this.packets * defaultPacketMs })
  }
}
