import { alignedDelay, inTurn } from './background-turns.ts'

/** Milliseconds without a find after which a poll becomes slow. */
const quietMs = 2_000

export type PollerOptions = {
  /** Milliseconds between looks while something is found, and always while nothing wakes this process. */
  readonly fastMs: number
  /** Milliseconds between looks of an idle process that is woken: the safety net. */
  readonly slowMs: number
  /** Work of others wakes this process while `isListening`. With `isTrusted` there is no safety net then: for tests. */
  readonly wakeUps: { isListening(): boolean; readonly isTrusted?: boolean }
  look(): Promise<PollResult>
  onError(error: unknown): void
}

export type PollResult = {
  /** Whether there is work: the next looks follow fast. */
  readonly isBusy: boolean
  /** Milliseconds until the next work is due, if known: a slow look comes then, and a fast one stays as it is. */
  readonly dueInMs?: number
}

export type Poller = {
  /** Looks at once, or once more after the look under way. */
  wake(): void
  /** Looks fast for a while, as work was done here that may leave more. */
  hurry(): void
  /** Waits for the look under way, and ends. */
  end(): Promise<void>
}

/** Looks for work, one look after the other; begins with one at once. */
export const startPoller = ({ fastMs, slowMs, wakeUps, look, onError }: PollerOptions): Poller => {
  let timer: NodeJS.Timeout | undefined
  let dueAt = 0
  let activeAt = performance.now()
  let isLooking = false
  let mustRepeat = false
  let isEnded = false
  let running: Promise<void> = Promise.resolve()

  const arm = (milliseconds: number, isIdle = false) => {
    clearTimeout(timer)
    dueAt = performance.now() + milliseconds
    if (milliseconds === Number.POSITIVE_INFINITY) return
    timer = setTimeout(() => start(isIdle), milliseconds).unref()
  }

  const run = async () => {
    let result: PollResult = { isBusy: false }
    try {
      if (!isEnded) result = await look()
    } catch (error) {
      onError(error)
    }
    isLooking = false
    if (isEnded) return
    const now = performance.now()
    if (result.isBusy) activeAt = now
    const isWoken = wakeUps.isListening()
    const dueIn = Math.max(fastMs, Math.ceil(result.dueInMs ?? Number.POSITIVE_INFINITY))
    if (mustRepeat) arm(0)
    else if (isWoken && wakeUps.isTrusted) arm(dueIn)
    else if (isWoken && now - activeAt > quietMs) arm(Math.min(alignedDelay(slowMs), dueIn), true)
    else arm(fastMs)
    mustRepeat = false
  }

  const start = (isIdle: boolean) => {
    isLooking = true
    running = isIdle ? inTurn(run) : run()
  }

  start(false)
  return {
    wake: () => {
      if (isEnded) return
      if (isLooking) mustRepeat = true
      else arm(0)
    },
    hurry: () => {
      const now = performance.now()
      activeAt = now
      if (!isEnded && !isLooking && dueAt - now > fastMs) arm(fastMs)
    },
    end: async () => {
      isEnded = true
      clearTimeout(timer)
      await running
    },
  }
}
