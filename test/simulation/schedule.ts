import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { seeded } from '../../src/platform/jobs/job-testing.ts'

/** A simulated process: services of one instance in one of the module copies. */
export type Process = {
  readonly name: string
  /** Number of its copy of the modules. */
  readonly slot: number
  alive: boolean
  /** True once its services run: faults of the start are no part of the simulation. */
  isStarted: boolean
}

/** Something that may happen next. */
type Choice = {
  readonly label: string
  readonly owner: Process | null
  readonly weight: number
  readonly go: () => unknown
}

type Timer = { readonly owner: Process; readonly at: number; readonly n: number; readonly go: () => void }

/** Where code of a simulated process runs. Code outside of any uses the real clock and timers. */
export type Place = { readonly schedule: Schedule; readonly process: Process }

export const place = new AsyncLocalStorage<Place>()

/** The end of an id, by which traces name it. */
export const short = (id: string): string => id.slice(-4)

/** Runs code as a simulated process does. */
export const inProcess = <T>(schedule: Schedule, process: Process, work: () => T): T =>
  place.run({ schedule, process }, work)

/** A broken promise, with the schedule that broke it. */
export class Violation extends Error {}

/** Milliseconds since 1970 at which the first schedule begins. */
const firstMoment = Date.UTC(2030, 0, 1)

/** Schedules begin at least this far apart, so that nothing of an earlier one is due later. */
const daysApart = 2

const maxSteps = 4_000

let moments = 0

/** The order of everything that happens in one run, drawn from a seed: statements, answers, timers, faults. */
export class Schedule {
  readonly seed: number
  /** Distinct for each run, also of one seed: for ids of other systems, which all schedules of a database share. */
  readonly number = moments++
  readonly random: () => number
  /** Statements whose answer is lost, crashes and long pauses that may still happen. */
  readonly faults: { lost: number; crashes: number; pauses: number }
  /** Whether any fault was planned: without one, nothing is done twice. */
  readonly isFaulty: boolean
  readonly trace: string[] = []
  /** Called after every step: throws a Violation. */
  readonly invariants: (() => void)[] = []
  now: number
  readonly #began: number
  #choices: Choice[] = []
  #timers: Timer[] = []
  #immediates: { owner: Process; go: () => void }[] = []
  #numbers = 0
  #broken: Violation | null = null

  constructor(seed: number) {
    this.seed = seed
    this.random = seeded(seed * 2_654_435_761 + 12_345)
    this.#began = firstMoment + this.number * daysApart * 86_400_000
    this.now = this.#began
    this.isFaulty = this.random() < 0.7
    const few = (most: number) => (this.isFaulty ? Math.floor(this.random() * (most + 1)) : 0)
    this.faults = { lost: few(3), crashes: few(2), pauses: few(1) }
  }

  /** A whole number from 0 to below the limit. */
  below(limit: number): number {
    return Math.floor(this.random() * limit)
  }

  pick<T>(all: readonly [T, ...T[]]): T {
    return all[this.below(all.length)] ?? all[0]
  }

  note(text: string): void {
    this.trace.push(`${String(this.trace.length).padStart(4)} +${(this.now - this.#began).toFixed(0)} ms  ${text}`)
  }

  /** Reports a broken promise; the run ends with it. */
  violate(text: string): void {
    this.note(`VIOLATED: ${text}`)
    this.#broken ??= new Violation(text)
  }

  /** @throws Violation if a promise was broken */
  assertKept(): void {
    if (this.#broken) throw this.#broken
  }

  /** Adds something that the scheduler may let happen at any later time. */
  offer(label: string, owner: Process | null, go: () => unknown, weight = 10): void {
    this.#choices.push({ label, owner, weight, go })
  }

  /** Parks the caller until the scheduler chooses it. Never resolves for a process that has crashed. */
  park(label: string, owner: Process): Promise<void> {
    return new Promise((resolve) => {
      if (owner.alive) this.offer(label, owner, resolve)
    })
  }

  /** Whether something other than time is left to choose. */
  get isParked(): boolean {
    return this.#choices.length > 0
  }

  setTimer(owner: Process, milliseconds: number, go: () => void): number {
    const n = ++this.#numbers
    if (owner.alive) {
      this.#timers.push({ owner, n, at: this.now + Math.max(1, milliseconds || 0), go })
      this.#timers.sort((a, b) => a.at - b.at || a.n - b.n)
    }
    return n
  }

  setImmediate(owner: Process, go: () => void): void {
    if (owner.alive) this.#immediates.push({ owner, go })
  }

  clearTimer(n: number): void {
    const i = this.#timers.findIndex((timer) => timer.n === n)
    if (i >= 0) this.#timers.splice(i, 1)
  }

  /** Drops all that a crashed process waits for. @returns the labels of what was parked */
  forget(owner: Process): void {
    owner.alive = false
    this.#choices = this.#choices.filter((choice) => choice.owner !== owner)
    this.#timers = this.#timers.filter((timer) => timer.owner !== owner)
    this.#immediates = this.#immediates.filter((immediate) => immediate.owner !== owner)
  }

  /** Lets the code run until it waits for a choice or a timer. */
  async #settle(): Promise<void> {
    for (;;) {
      await nextTurn()
      const ready = this.#immediates.splice(0)
      if (ready.length === 0) return
      for (const { owner, go } of ready) if (owner.alive) go()
    }
  }

  async #check(): Promise<void> {
    await this.#settle()
    for (const invariant of this.invariants) invariant()
    this.assertKept()
    if (this.trace.length > maxSteps) throw new Violation('the schedule does not come to rest')
  }

  /** Moves the time to the next timer, or to a later moment. All timers of that time are then due. */
  advance(least = 0): void {
    const [next] = this.#timers
    this.now = Math.max(this.now, next?.at ?? 0, least)
  }

  /** Timers that are due: those of a process fire in their order. */
  #dueTimers(): Choice[] {
    const first = new Map<Process, Timer>()
    for (const timer of this.#timers) if (timer.at <= this.now && !first.has(timer.owner)) first.set(timer.owner, timer)
    return [...first.values()].map(({ owner, n, go }) => ({
      label: `${owner.name} timer`,
      owner,
      weight: 10,
      go: () => {
        this.clearTimer(n)
        go()
      },
    }))
  }

  #draw(among: readonly Choice[]): Choice | undefined {
    let left = this.random() * among.reduce((sum, { weight }) => sum + weight, 0)
    return among.find(({ weight }) => {
      left -= weight
      return left < 0
    })
  }

  /** Makes one step. @param extra choices of the caller: faults, and the passing of time @returns whether there was one */
  async step(extra: readonly { label: string; weight: number; go: () => unknown }[] = []): Promise<boolean> {
    await this.#check()
    const among = [...this.#choices, ...this.#dueTimers(), ...extra.map((one) => ({ ...one, owner: null }))]
    const choice = this.#draw(among)
    if (!choice) return false
    const i = this.#choices.indexOf(choice)
    if (i >= 0) this.#choices.splice(i, 1)
    this.note(choice.label)
    await choice.go()
    await this.#check()
    return true
  }
}
