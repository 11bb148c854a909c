import { setTimeout as pause } from 'node:timers/promises'

/** Messages a second of a number unless its account was raised (Cloud API, "Throughput"). */
const each = 1_000 / 80
/** Longer than this nobody waits for a turn, milliseconds. */
const patienceMs = 30_000

/** Turns of one number's messages: at the pace that the network bears, and later once it said that it was too much. */
export type Pace = {
  /** Resolves when it is our turn. @returns null, or the seconds to wait when that is too far away */
  turn(): Promise<number | null>
  /** Nothing goes out for so many seconds. */
  hold(seconds: number): void
}

export const makePace = (): Pace => {
  let next = 0
  return {
    turn: async () => {
      const now = performance.now()
      const mine = Math.max(now, next)
      if (mine - now > patienceMs) return (mine - now) / 1_000
      next = mine + each
      if (mine > now) await pause(mine - now)
      return null
    },
    hold: (seconds) => {
      next = Math.max(next, performance.now() + seconds * 1_000)
    },
  }
}
