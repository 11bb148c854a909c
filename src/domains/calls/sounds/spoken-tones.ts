import { encodeSample, silence } from '@trunkline/rtp/g711.ts'
import { maxToneBytes } from '../limits.ts'

// Speech of the sandbox: a text as tones, so that tests and handsets of the sandbox can read what a call says. A symbol
// of four bits is one of 16 frequencies for 20 ms. A text is cut into chunks, each with these symbols:
//
//   sync (6)   more (1): 1 before a further chunk, 0 in the last   length in bytes (2)   UTF-8 (2 each)   CRC-16 (4)

const rate = 8_000
const symbolSamples = 160
const symbols = 16
const lowestHertz = 700
const stepHertz = 150
const amplitude = 8_000

const sync = [0, 15, 7, 8, 3, 12] as const

/** Bytes of a chunk. A damaged chunk does not spoil the others. */
const chunkBytes = 64

/** Symbols of silence before each chunk. */
const gapSymbols = 2

/** All frequencies are multiples of 50 Hz, so that a symbol has whole periods. */
const hertzOf = (symbol: number): number => lowestHertz + symbol * stepHertz

const tones = Array.from({ length: symbols }, (_, symbol) =>
  Buffer.from(
    Array.from({ length: symbolSamples }, (_, i) =>
      encodeSample('pcmu', Math.round(amplitude * Math.sin((2 * Math.PI * hertzOf(symbol) * i) / rate))),
    ),
  ),
)

/** CRC-16 with the polynomial of ITU-T V.41, beginning with ones. */
const crc16 = (bytes: Uint8Array): number => {
  let crc = 0xffff
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
  }
  return crc
}

/** Cuts a text into chunks of whole characters. */
const chunksOf = (text: string): Buffer[] => {
  const chunks: Buffer[] = []
  let [chunk, bytes, total] = ['', 0, 0]
  for (const character of text) {
    const size = Buffer.byteLength(character)
    total += size
    if (total > maxToneBytes) break
    if (bytes + size > chunkBytes) {
      chunks.push(Buffer.from(chunk))
      chunk = ''
      bytes = 0
    }
    chunk += character
    bytes += size
  }
  return bytes > 0 ? [...chunks, Buffer.from(chunk)] : chunks
}

/** Returns the symbols of a header and its chunk, with the checksum. */
const framed = (chunk: Buffer, hasMore: boolean): number[] => {
  const body = Buffer.concat([Buffer.from([hasMore ? 1 : 0, chunk.length]), chunk])
  const crc = crc16(body)
  const [, more = 0, ...rest] = [...body, crc >> 8, crc & 0xff].flatMap((byte) => [byte >> 4, byte & 0x0f])
  return [...sync, more, ...rest]
}

/** Returns a text as tones: µ-law, 8 kHz. An empty text has none; a longer one than `maxToneBytes` is cut. */
export const speakTones = (text: string): Buffer => {
  const chunks = chunksOf(text)
  const gap = Buffer.alloc(gapSymbols * symbolSamples, silence.pcmu)
  const pieces = chunks.flatMap((chunk, i) => [
    gap,
    ...framed(chunk, i < chunks.length - 1).map((symbol) => tones[symbol] ?? gap),
  ])
  return Buffer.concat(pieces.length === 0 ? [] : [...pieces, gap])
}

const coefficients = Array.from(
  { length: symbols },
  (_, symbol) => 2 * Math.cos((2 * Math.PI * hertzOf(symbol)) / rate),
)

/** Energy at a frequency, by Goertzel's algorithm, in the unit of the sum of squares. */
const energyAt = (samples: Int16Array, start: number, coefficient = 0): number => {
  let [before, last] = [0, 0]
  for (let i = start; i < start + symbolSamples; i++) {
    const next = (samples[i] ?? 0) + coefficient * last - before
    before = last
    last = next
  }
  return ((before * before + last * last - coefficient * before * last) * 2) / symbolSamples
}

/** Energy of a symbol below which there is no tone: some -50 dBm0. */
const leastEnergy = symbolSamples * 100 ** 2

/** Returns the energy of all frequencies at a position; 0 without a tone, and after the end. */
const totalAt = (samples: Int16Array, start: number): number => {
  if (start + symbolSamples > samples.length) return 0
  let total = 0
  for (let i = start; i < start + symbolSamples; i++) total += (samples[i] ?? 0) ** 2
  return total < leastEnergy ? 0 : total
}

/** Returns the symbol at a position; null if no frequency has most of the energy. */
const symbolAt = (samples: Int16Array, start: number): number | null => {
  const total = totalAt(samples, start)
  if (total === 0) return null
  const symbol = coefficients.findIndex((coefficient) => energyAt(samples, start, coefficient) * 2 > total)
  return symbol < 0 ? null : symbol
}

/** Returns the energy of the sync symbols at a position; 0 if they are not there. */
const syncAt = (samples: Int16Array, start: number): number => {
  let sum = 0
  for (const [i, expected] of sync.entries()) {
    const at = start + i * symbolSamples
    const total = totalAt(samples, at)
    const energy = total === 0 ? 0 : energyAt(samples, at, coefficients[expected])
    if (energy * 2 <= total || total === 0) return 0
    sum += energy
  }
  return sum
}

/** Samples between two positions at which the sync symbols are searched for. */
const searchStep = 16

/** Reads bytes at a position; null if a symbol is missing. */
const bytesAt = (samples: Int16Array, start: number, count: number): Buffer | null => {
  const bytes = Buffer.alloc(count)
  for (let i = 0; i < 2 * count; i++) {
    const found = symbolAt(samples, start + i * symbolSamples)
    if (found === null) return null
    bytes[i >> 1] = ((bytes[i >> 1] ?? 0) << 4) | found
  }
  return bytes
}

type Chunk = { readonly text: string; readonly hasMore: boolean; readonly end: number }

/** Reads the chunk whose sync symbols begin at a position; null if it is damaged. */
const chunkAt = (samples: Int16Array, start: number): Chunk | null => {
  const at = start + sync.length * symbolSamples
  const more = symbolAt(samples, at)
  const length = bytesAt(samples, at + symbolSamples, 1)?.[0]
  if (more === null || length === undefined || length > chunkBytes) return null
  const body = bytesAt(samples, at + 3 * symbolSamples, length + 2)
  if (!body) return null
  const text = body.subarray(0, length)
  const isRight = crc16(Buffer.concat([Buffer.from([more, length]), text])) === body.readUInt16BE(length)
  const end = at + (3 + 2 * (length + 2)) * symbolSamples
  return isRight ? { text: text.toString(), hasMore: more === 1, end } : null
}

/**
 * Reads the texts that `speakTones` wrote, also after G.711, at another level and with noise. A damaged chunk is U+FFFD.
 * @param samples 16 bits, 8,000 per second; their begin need not be that of a symbol
 */
export const readSpokenTones = (samples: Int16Array): string[] => {
  const texts: string[] = []
  let text: string | null = null
  for (let start = 0; start + symbolSamples <= samples.length; ) {
    if (syncAt(samples, start) === 0) {
      start += searchStep
      continue
    }
    // The position with the most energy within the next symbol is exact.
    let [best, energy] = [start, 0]
    for (let at = start; at < start + symbolSamples; at += searchStep / 4) {
      const found = syncAt(samples, at)
      if (found > energy) {
        best = at
        energy = found
      }
    }
    const chunk = chunkAt(samples, best)
    text = (text ?? '') + (chunk?.text ?? '\ufffd')
    if (chunk?.hasMore === false) {
      texts.push(text)
      text = null
    }
    start = chunk?.end ?? best + sync.length * symbolSamples
  }
  return text === null ? texts : [...texts, text]
}
