import { setTimeout } from 'node:timers/promises'
import { maxSendWaitMs, sendIntervalMs } from './limits.ts'

/** Paces the messages of one number at the network's rate limit, and pauses after a rate-limit error. */
export type SendPacer = {
  /** Waits for a turn. @returns null, or the seconds until a turn when that is too far away */
  acquire(): Promise<number | null>
  /** Pauses sending for this many seconds. */
  pauseFor(seconds: number): void
}

/** @param now milliseconds @param pause waits for milliseconds */
export const makeSendPacer = (
  now: () => number = () => performance.now(),
  pause: (ms: number) => Promise<void> = setTimeout,
): SendPacer => {
  let next = 0
  return {
    acquire: async () => {
      const mine = Math.max(now(), next)
      const wait = mine - now()
      if (wait > maxSendWaitMs) return wait / 1_000
      next = mine + sendIntervalMs
      if (wait > 0) await pause(wait)
      return null
    },
    pauseFor: (seconds) => {
      next = Math.max(next, now() + seconds * 1_000)
    },
  }
}
