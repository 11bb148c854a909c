import { isLoopbackHost } from './address-list.ts'

const firstMs = 1_000

/** First wait on loopback, short so that a restarted carrier is reconnected at once. */
const firstLoopbackMs = 200

/** Adds ±20 % jitter, so that connections lost together do not reconnect together. */
export const jitter = (ms: number): number => ms * (0.8 + Math.random() * 0.4)

/** Waits between attempts to connect: 1, 2, 4 … 60 s, each ±20 %; on loopback 0.2, 1, 2 s. */
export class BackOff {
  private readonly isLoopback: boolean
  private readonly maxMs: number
  private failures = 0

  constructor(host: string, mostSeconds: number | undefined) {
    this.isLoopback = isLoopbackHost(host)
    this.maxMs = (mostSeconds ?? (this.isLoopback ? 2 : 60)) * 1_000
  }

  /** Counts a failure and returns the milliseconds to wait. */
  next(): number {
    const doubled = firstMs * 2 ** (this.failures - (this.isLoopback ? 1 : 0))
    const wait = this.isLoopback && this.failures === 0 ? firstLoopbackMs : Math.min(this.maxMs, doubled)
    this.failures = Math.min(this.failures + 1, 20)
    return jitter(wait)
  }

  reset(): void {
    this.failures = 0
  }
}
