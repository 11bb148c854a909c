// ITU-T G.711: 8 bits per sample, 8,000 samples per second. Linear samples are signed, 16 bits.

/** Decodes a µ-law octet (G.711, table 2a/2b): inverted, sign, three bits of segment, four of step. */
const ulawSample = (octet: number): number => {
  const bits = ~octet & 0xff
  const magnitude = ((((bits & 0x0f) << 3) + 0x84) << ((bits >> 4) & 7)) - 0x84
  return bits & 0x80 ? -magnitude : magnitude
}

/** Decodes an A-law octet (G.711, table 1a/1b): even bits inverted. */
const alawSample = (octet: number): number => {
  const bits = octet ^ 0x55
  const segment = (bits >> 4) & 7
  const step = ((bits & 0x0f) << 4) + 8
  const magnitude = segment === 0 ? step : (step + 0x100) << (segment - 1)
  return bits & 0x80 ? magnitude : -magnitude
}

const table = (sample: (octet: number) => number) => Int16Array.from({ length: 256 }, (_, octet) => sample(octet))

/** Linear sample of each octet. */
export const samplesOf = { pcmu: table(ulawSample), pcma: table(alawSample) } as const

export type G711 = keyof typeof samplesOf

/** Returns the nearest octet for each sample, by its upper 13 (A-law) or 14 (µ-law) bits. */
const nearest = (samples: Int16Array): Uint8Array => {
  const order = [...samples.entries()].sort(([, a], [, b]) => a - b)
  const octets = new Uint8Array(65_536)
  let at = 0
  for (let sample = -32_768; sample < 32_768; sample++) {
    const distance = (i: number) => Math.abs((order[i]?.[1] ?? Number.POSITIVE_INFINITY) - sample)
    while (at + 1 < order.length && distance(at + 1) <= distance(at)) at++
    octets[sample & 0xffff] = order[at]?.[0] ?? 0
  }
  return octets
}

const octets = { pcmu: nearest(samplesOf.pcmu), pcma: nearest(samplesOf.pcma) }

export const encodeSample = (codec: G711, sample: number): number => octets[codec][sample & 0xffff] ?? 0

const across = (from: G711, to: G711) =>
  Uint8Array.from({ length: 256 }, (_, octet) => encodeSample(to, samplesOf[from][octet] ?? 0))

const crossings = { pcmu: across('pcmu', 'pcma'), pcma: across('pcma', 'pcmu') }

/** Transcodes to the other law, at the cost of at most one quantisation step. */
export const otherLaw = (from: G711, payload: Buffer): Buffer => {
  const crossing = crossings[from]
  const converted = Buffer.allocUnsafe(payload.length)
  for (let i = 0; i < payload.length; i++) converted[i] = crossing[payload[i] ?? 0] ?? 0
  return converted
}

/** Octet of silence in each law. */
export const silence = { pcmu: encodeSample('pcmu', 0), pcma: encodeSample('pcma', 0) } as const
