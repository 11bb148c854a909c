import { hash } from 'node:crypto'

/**
 * Returns a generator of whole numbers below `limit`, identical for the same seed on every machine (mulberry32 over
 * SHA-256).
 */
export const seededRandom = (seed: string): ((limit: number) => number) => {
  let state = hash('sha256', seed, 'buffer').readUInt32LE()
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4_294_967_296) * limit)
  }
}

/** Pads `start` to `length` digits with random digits. */
export const padWithDigits = (next: (limit: number) => number, start: string, length: number): string => {
  let digits = start
  while (digits.length < length) digits += next(10)
  return digits
}
