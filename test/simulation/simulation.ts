import type { Db } from '../../src/platform/db/sql.ts'
import { testDatabase } from '../database.ts'
import { SimulatedDatabase } from './database.ts'
import { replaceGlobals } from './globals.ts'
import { type Process, place, Schedule, Violation } from './schedule.ts'

/** Time in milliseconds since 1970 of the next work, and whether that is the end of a lease. */
export type Due = { readonly at: number; readonly isLeased: boolean }

/** What one schedule does, and the promises that it must keep. */
export type Workload = {
  /** Starts the services of a process, and marks it as started. Returns what ends them: after a crash, they only unsubscribe. */
  boot(process: Process): () => void
  /** Requests of clients and acts of other systems, in order; each begins whenever the scheduler chooses. */
  readonly acts: readonly { readonly label: string; go(): void }[]
  /** When stored work is next due, or its lease ends; null if none is left. */
  nextDue(): Promise<Due | null>
  /** Reports broken promises once nothing is left to do. */
  judge(): Promise<void>
}

export type Scenario = {
  readonly name: string
  /** Loads the modules of the processes, and stores what all schedules share. */
  prepare(
    database: SimulatedDatabase,
    slots: readonly number[],
    db: Db,
  ): Promise<(schedule: Schedule, processes: Processes) => Promise<Workload>>
}

/** The processes of a schedule. */
export type Processes = {
  readonly database: SimulatedDatabase
  /** One of those that have started and not crashed; null if there is none. */
  any(): Process | null
}

const slots = [0, 1, 2]

/** Length of a pause of the whole machine, in milliseconds: leases end meanwhile. */
const pauseMs = { least: 5_000, spread: 60_000 }

/** Milliseconds that pass at once while a lease is held: less than a third of a lease. */
const restMs = 7_000

/** Times that the clock may move on at the end of a schedule before it counts as stuck. */
const maxWaits = 200

class Run implements Processes {
  readonly database: SimulatedDatabase
  readonly schedule: Schedule
  readonly #living: { process: Process; end: () => void }[] = []
  #workload: Workload | null = null
  #incarnations = 0

  constructor(database: SimulatedDatabase, schedule: Schedule) {
    this.database = database
    this.schedule = schedule
  }

  any(): Process | null {
    const started = this.#living.filter(({ process }) => process.isStarted)
    return started[this.schedule.below(started.length)]?.process ?? null
  }

  #boot(workload: Workload, slot: number): void {
    const process = { name: `${'ABC'[slot]}${++this.#incarnations}`, slot, alive: true, isStarted: false }
    this.schedule.note(`${process.name} starts`)
    const end = place.run({ schedule: this.schedule, process }, () => workload.boot(process))
    this.#living.push({ process, end })
  }

  /** Ends a process without a warning. @param isOver at the end of the schedule */
  async #crash(process: Process, isOver = false): Promise<void> {
    const [gone] = this.#living.splice(
      this.#living.findIndex((one) => one.process === process),
      1,
    )
    this.schedule.forget(process)
    await this.database.crash(process, isOver)
    if (gone) place.run({ schedule: this.schedule, process }, gone.end)
  }

  #faults(workload: Workload) {
    const { faults } = this.schedule
    const found: { label: string; weight: number; go: () => unknown }[] = []
    if (faults.crashes > 0 && this.#living.some(({ process }) => process.isStarted))
      found.push({
        label: 'crash',
        weight: 0.7,
        go: async () => {
          faults.crashes--
          const victim = this.any()
          if (!victim) return
          this.schedule.note(`${victim.name} crashes`)
          await this.#crash(victim)
          this.schedule.offer(`restart of ${victim.name}`, null, () => this.#boot(workload, victim.slot), 4)
        },
      })
    if (faults.pauses > 0)
      found.push({
        label: 'pause',
        weight: 0.5,
        go: () => {
          faults.pauses--
          this.schedule.advance(this.schedule.now + pauseMs.least + this.schedule.random() * pauseMs.spread)
        },
      })
    return found
  }

  async #act(workload: Workload): Promise<void> {
    const acts = [...workload.acts]
    // A few steps after the last act, faults still happen.
    for (let after = 40; after > 0; ) {
      const [next] = acts
      if (!next) after--
      const act =
        next && this.#living.some(({ process }) => process.isStarted)
          ? [{ label: next.label, weight: 6, go: () => void acts.shift()?.go() }]
          : []
      const time = { label: 'time passes', weight: this.schedule.isParked ? 3 : 10, go: () => this.schedule.advance() }
      await this.schedule.step([...act, ...this.#faults(workload), time])
    }
  }

  /** Lets everything end without further faults. */
  async #rest(workload: Workload): Promise<void> {
    Object.assign(this.schedule.faults, { lost: 0, crashes: 0, pauses: 0 })
    for (let waits = 0; waits < maxWaits; waits++) {
      while (await this.schedule.step());
      const due = await workload.nextDue()
      if (due === null) return
      // Processes that live extend their leases in time.
      this.schedule.advance(due.isLeased ? Math.min(due.at, this.schedule.now + restMs) : due.at)
    }
    throw new Violation('stored work is never done')
  }

  async run(begin: (schedule: Schedule, processes: Processes) => Promise<Workload>): Promise<void> {
    await this.database.setTime(this.schedule.now)
    this.#workload = await begin(this.schedule, this)
    const count = this.schedule.pick([1, 2, 2, 2, 3])
    try {
      for (const slot of slots.slice(0, count)) this.#boot(this.#workload, slot)
      await this.#act(this.#workload)
      await this.#rest(this.#workload)
      await this.#workload.judge()
      this.schedule.assertKept()
    } finally {
      this.database.watch = () => {}
      for (const { process } of [...this.#living]) await this.#crash(process, true)
    }
  }
}

export type Failure = { readonly seed: number; readonly text: string; readonly trace: readonly string[] }

export type Simulator = {
  /** Runs the schedule of a seed. @returns what it broke; null if it kept all promises */
  run(seed: number): Promise<Failure | null>
  /** Trace of the last schedule. */
  trace(): readonly string[]
  end(): Promise<void>
}

/** Prepares a scenario on a database of its own. */
export const makeSimulator = async (scenario: Scenario): Promise<Simulator> => {
  const open = async () => {
    const db = await testDatabase()
    const database = await SimulatedDatabase.open(db.url)
    return { database, begin: await scenario.prepare(database, slots, db) }
  }
  let opened = await open()
  replaceGlobals()
  let trace: readonly string[] = []
  return {
    run: async (seed) => {
      const schedule = new Schedule(seed)
      trace = schedule.trace
      try {
        await new Run(opened.database, schedule).run(opened.begin)
        return null
      } catch (error) {
        // What a failed schedule left undone must not disturb the next one.
        await opened.database.end()
        opened = await open()
        const text = error instanceof Violation ? error.message : `${error instanceof Error ? error.stack : error}`
        return { seed, text, trace }
      }
    },
    trace: () => trace,
    end: () => opened.database.end(),
  }
}
