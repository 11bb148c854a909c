const firstMs = 1_000

/** On loopback nobody is far away: a carrier that was restarted is met again at once. */
const firstNearMs = 200

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || host.startsWith('127.')

/** ±20 %, so that what broke together does not come back together. */
export const spread = (ms: number): number => ms * (0.8 + Math.random() * 0.4)

/** Waits between attempts to connect: 1, 2, 4 … 60 s, each ±20 %; on loopback 0.2, 1, 2 s. */
export class BackOff {
  private readonly near: boolean
  private readonly most: number
  private failures = 0

  constructor(host: string, mostSeconds: number | undefined) {
    this.near = isLoopback(host)
    this.most = (mostSeconds ?? (this.near ? 2 : 60)) * 1_000
  }

  /** The milliseconds to wait after one more failure. */
  next(): number {
    const doubled = firstMs * 2 ** (this.failures - (this.near ? 1 : 0))
    const wait = this.near && this.failures === 0 ? firstNearMs : Math.min(this.most, doubled)
    this.failures = Math.min(this.failures + 1, 20)
    return spread(wait)
  }

  reset(): void {
    this.failures = 0
  }
}
