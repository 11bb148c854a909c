import { encodeSample, samplesOf } from '@trunkline/rtp/g711.ts'

/** The peer of a leg: it sends a tone and records what it receives. */
export type Peer = {
  offer(): Promise<string>
  answer(offer: string): Promise<string>
  accept(answer: string): Promise<void>
  /** Sends a tone of this frequency from now on; 0 sends silence, null sends nothing. */
  sendTone(hertz: number | null): void
  /** The received sound, decoded, 8,000 samples a second, without gaps. */
  readonly samples: readonly number[]
  readonly sequences: readonly number[]
  readonly digits: string
  readonly sent: number
  readonly received: number
  close(): Promise<void>
}

const framesOf = (hertz: number, first: number, codec: 'pcmu' | 'pcma'): Buffer =>
  Buffer.from(
    Array.from({ length: 160 }, (_, i) =>
      encodeSample(codec, hertz === 0 ? 0 : Math.round(12_000 * Math.sin((2 * Math.PI * hertz * (first + i)) / 8_000))),
    ),
  )

/** Produces a packet every 20 ms while there is something to send. */
export const makeToneSender = (
  codec: () => 'pcmu' | 'pcma',
  give: (payload: Buffer, index: number) => void,
  frame: (hertz: number, index: number) => Buffer = (hertz, index) => framesOf(hertz, index * 160, codec()),
) => {
  let hertz: number | null = null
  let index = 0
  let due = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    // Timers of a busy machine fire late: overdue packets are sent at once.
    for (due = Math.max(due, now - 200); due <= now; due += 20) {
      if (hertz !== null) give(frame(hertz, index), index)
      index++
    }
  }, 20)
  return {
    say: (tone: number | null) => {
      hertz = tone
    },
    stop: () => clearInterval(timer),
  }
}

export const decode = (codec: 'pcmu' | 'pcma', payload: Buffer): number[] =>
  [...payload].map((octet) => samplesOf[codec][octet] ?? 0)
