import { encodeSample, samplesOf } from '../../src/connectors/media/codec/g711.ts'

/** The other end of a leg: it says a tone, and keeps what it hears. */
export type Peer = {
  offer(): Promise<string>
  answer(offer: string): Promise<string>
  accept(answer: string): Promise<void>
  /** A tone of so many hertz from now on; silence with 0; nothing at all with null. */
  say(hertz: number | null): void
  /** Everything that was heard, decoded, 8,000 samples a second, gaps left out. */
  readonly heard: readonly number[]
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

/** Gives a packet every 20 ms while there is something to say. */
export const makeVoice = (
  codec: () => 'pcmu' | 'pcma',
  give: (payload: Buffer, index: number) => void,
  frame: (hertz: number, index: number) => Buffer = (hertz, index) => framesOf(hertz, index * 160, codec()),
) => {
  let hertz: number | null = null
  let index = 0
  let due = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    // A busy machine calls late: what is due is made up for.
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
