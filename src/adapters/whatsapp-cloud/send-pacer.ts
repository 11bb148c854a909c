import { setTimeout as pause } from 'node:timers/promises'
import { maxSendWaitMs, sendIntervalMs } from './limits.ts'

/** Paces the messages of one number at the network's rate limit, and pauses after a rate-limit error. */
export type SendPacer = {
  /** Waits for a turn. @returns null, or the seconds until a turn when that is too far away */
  acquire(): Promise<number | null>
  /** Pauses sending for this many seconds. */
  pauseFor(seconds: number): void
}

export const makeSendPacer = (): SendPacer => {
  let next = 0
  return {
    acquire: async () => {
      const now = performance.now()
      const mine = Math.max(now, next)
      if (mine - now > maxSendWaitMs) return (mine - now) / 1_000
      next = mine + sendIntervalMs
      if (mine > now) await pause(mine - now)
      return null
    },
    pauseFor: (seconds) => {
      next = Math.max(next, performance.now() + seconds * 1_000)
    },
  }
}
