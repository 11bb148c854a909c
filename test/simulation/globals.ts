import { type Place, place } from './schedule.ts'

// Replaces timers, clocks and randomness: code of a simulated process uses those of its schedule, all other code the
// real ones.

const real = {
  setTimeout: globalThis.setTimeout,
  setInterval: globalThis.setInterval,
  setImmediate: globalThis.setImmediate,
  clearTimeout: globalThis.clearTimeout,
  dateNow: Date.now,
  performanceNow: performance.now.bind(performance),
  random: Math.random,
}

/** A timer of a schedule, with as much of NodeJS.Timeout as the product uses. */
class SimulatedTimer {
  readonly #at: Place
  #n: number
  constructor(at: Place, n: number) {
    this.#at = at
    this.#n = n
  }
  renew(n: number): void {
    this.#n = n
  }
  clear(): void {
    this.#at.schedule.clearTimer(this.#n)
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }
  hasRef(): boolean {
    return true
  }
}

type Callback = (...values: unknown[]) => void

const timeout = (go: Callback, milliseconds?: number, ...values: unknown[]) => {
  const at = place.getStore()
  if (!at) return real.setTimeout(go, milliseconds, ...values)
  return new SimulatedTimer(
    at,
    at.schedule.setTimer(at.process, milliseconds ?? 0, () => place.run(at, go, ...values)),
  )
}

const interval = (go: Callback, milliseconds?: number, ...values: unknown[]) => {
  const at = place.getStore()
  if (!at) return real.setInterval(go, milliseconds, ...values)
  const arm = (): number =>
    at.schedule.setTimer(at.process, milliseconds ?? 0, () => {
      timer.renew(arm())
      place.run(at, go, ...values)
    })
  const timer = new SimulatedTimer(at, 0)
  timer.renew(arm())
  return timer
}

const immediate = (go: Callback, ...values: unknown[]) => {
  const at = place.getStore()
  if (!at) return real.setImmediate(go, ...values)
  at.schedule.setImmediate(at.process, () => place.run(at, go, ...values))
  return undefined
}

const clear = (timer: NodeJS.Timeout | SimulatedTimer | undefined) => {
  if (timer instanceof SimulatedTimer) timer.clear()
  else real.clearTimeout(timer)
}

/** Replaces the globals for the rest of the process. */
export const replaceGlobals = (): void => {
  Object.assign(globalThis, {
    setTimeout: timeout,
    setInterval: interval,
    setImmediate: immediate,
    clearTimeout: clear,
    clearInterval: clear,
  })
  Date.now = () => place.getStore()?.schedule.now ?? real.dateNow()
  performance.now = () => place.getStore()?.schedule.now ?? real.performanceNow()
  Math.random = () => place.getStore()?.schedule.random() ?? real.random()
}
