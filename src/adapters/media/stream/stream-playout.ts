import { silence } from '@trunkline/rtp/g711.ts'
import { frameBytes, octetsPerMs } from '../embedded/g711-frame.ts'
import { maxFeedBytes, maxStreamMarks } from '../limits.ts'

type Waiting = { readonly octets: Buffer } | { readonly mark: string }

/** Octets to which short chunks are joined. */
const joinedBytes = 1_600

/** Ticks for which a part of a frame waits for the rest of it. */
const partTicks = 2

/**
 * The audio of a server that waits to be played, with marks in it: µ-law in chunks of any length. A mark is reported with
 * the last packet before it. Silence is played while nothing waits, so that no delay is added in advance.
 */
export class StreamPlayout {
  private readonly reached: (name: string) => void
  private readonly waiting: Waiting[] = []
  /** Octets of the first chunk that were read. */
  private offset = 0
  private octets = 0
  private marks = 0
  /** Ticks for which a part of a frame has waited. */
  private waited = 0

  /** @param reached reports a mark: everything before it was played, or dropped */
  constructor(reached: (name: string) => void) {
    this.reached = reached
  }

  /** @returns the octets that were dropped, as too much waits */
  push(chunk: Buffer): number {
    const taken = chunk.subarray(0, Math.max(0, maxFeedBytes - this.octets))
    this.waited = 0
    this.octets += taken.length
    const last = this.waiting.at(-1)
    // Short chunks are joined, as an object for each octet would take much more memory than the octets.
    if (last && 'octets' in last && last.octets.length + taken.length <= joinedBytes)
      this.waiting[this.waiting.length - 1] = { octets: Buffer.concat([last.octets, taken]) }
    else if (taken.length > 0) this.waiting.push({ octets: taken })
    return chunk.length - taken.length
  }

  /** @returns false if too many marks wait */
  mark(name: string): boolean {
    if (this.waiting.length === 0) this.reached(name)
    else if (this.marks >= maxStreamMarks) return false
    else {
      this.waiting.push({ mark: name })
      this.marks++
    }
    return true
  }

  /** Drops what waits, and reports its marks. */
  clear(): void {
    const dropped = this.waiting.splice(0)
    this.offset = 0
    this.octets = 0
    this.marks = 0
    for (const one of dropped) if ('mark' in one) this.reached(one.mark)
  }

  /** Milliseconds that wait. */
  get waitingMs(): number {
    return this.octets / octetsPerMs
  }

  /** Reads the frame of a tick: 20 ms of µ-law. */
  read(): Buffer {
    const frame = Buffer.alloc(frameBytes, silence.pcmu)
    if (this.octets === 0 || this.mustWait()) return frame
    this.waited = 0
    let filled = 0
    for (let first = this.waiting[0]; first && filled < frameBytes; first = this.waiting[0]) {
      // The rest of the frame stays silent: the sound after a mark begins with a packet of its own.
      if ('mark' in first) break
      const copied = first.octets.copy(frame, filled, this.offset)
      filled += copied
      this.offset += copied
      if (this.offset < first.octets.length) break
      this.waiting.shift()
      this.offset = 0
    }
    this.octets -= filled
    for (let first = this.waiting[0]; first && 'mark' in first; first = this.waiting[0]) {
      this.waiting.shift()
      this.marks--
      this.reached(first.mark)
    }
    return frame
  }

  /** Whether a part of a frame waits for the rest of it. Before a mark it is played at once. */
  private mustWait(): boolean {
    return this.octets < frameBytes && this.marks === 0 && this.waited++ < partTicks
  }
}
