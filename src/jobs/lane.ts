import { type Db, isUnavailable, sqlState } from '../db/sql.ts'
import type { Berth, Grant } from './berth.ts'
import { backoff, type Done, type Job, type Kind, type Log } from './kind.ts'
import { type Held, isPassing, judge, type Outcome, textOf } from './outcome.ts'
import { bury, extend, type Leased, putBack, type Return, reclaim, type Turn, turn } from './store.ts'

/** Statements under way for a kind: while one is in PostgreSQL, Node prepares the other. */
const mostTurns = 2

/** Times that a job may lose its worker beyond its attempts: a job that kills every worker must end too. */
const spared = 5

/** Where a round over the accounts begins: before every id. */
const first = '00000000-0000-0000-0000-000000000000'

/** One kind's life in one worker: claims, runs, and writes down how it ended. */
export class Lane implements Berth {
  readonly #kind: Kind
  readonly #db: Db
  readonly #log: Log
  readonly worker: string
  readonly #batch: number
  /** Leased to us, until the end is committed. */
  readonly #held = new Set<Held>()
  #outcomes: Outcome[] = []
  /** Outcomes of a batch that the database refused: each is written alone, so that one bad row fails alone. */
  #alone: Outcome[] = []
  #running = 0
  /** Places granted to jobs that are being added. */
  #reserved = 0
  #turns = 0
  #claiming = 0
  #due = true
  #after: string | null = null
  /** More wait than a claim or two take: the last one found as many as were wanted, or a round over the accounts goes on. */
  #isFar = false
  #catching: (() => void)[] = []
  /** The answer to a claim was lost: there may be jobs leased to us that we do not know of. */
  #doubtful = false
  #failures = 0
  #pause: NodeJS.Timeout | undefined
  /** When ends were last written down, by the monotonic clock. */
  #endedAt = Number.NEGATIVE_INFINITY
  #resting: NodeJS.Timeout | undefined
  #scheduled = false
  #state: 'open' | 'closing' | 'closed' = 'open'
  #onIdle: (() => void) | undefined

  constructor(kind: Kind, db: Db, log: Log, worker: string) {
    this.#kind = kind
    this.#db = db
    this.#log = log
    this.worker = worker
    this.#batch = Math.min(kind.batch ?? 128, 1000)
  }

  get kind(): string {
    return this.#kind.kind
  }

  /** Jobs whose handler runs in this process. */
  get running(): number {
    return this.#running
  }

  get leaseSeconds(): number {
    return this.#kind.leaseSeconds
  }

  caughtUp(): Promise<void> | null {
    const isClose = (this.#scheduled || this.#claiming > 0) && !this.#isFar && this.#state === 'open'
    if (!isClose || this.#pause !== undefined) return null
    return new Promise((resolve) => this.#catching.push(resolve))
  }

  reserve(count: number): Grant | null {
    const isBehind = this.#due || this.#claiming > 0 || this.#doubtful || this.#pause !== undefined
    if (isBehind || this.#state !== 'open') return null
    const granted = Math.min(count, this.#free())
    if (granted === 0) return null
    this.#reserved += granted
    return { count: granted, at: performance.now() }
  }

  take({ count, at }: Grant, jobs: readonly Job[]): void {
    this.#reserved -= count
    const leased = jobs.map((job) => ({ job, fence: 1 }))
    // An answer that took so long may be that of a lease that another worker has by now.
    const isLate = performance.now() - at > this.leaseSeconds * 500
    if (isLate || this.#state === 'closed') void this.#release(leased)
    else for (const one of leased) this.#start(one, at)
    this.look()
  }

  forsake({ count }: Grant, doubtful: boolean): void {
    this.#reserved -= count
    this.#doubtful ||= doubtful
    this.wake()
  }

  /** There may be jobs to do. */
  wake(): void {
    this.#due = true
    this.look()
  }

  /** Goes on at the end of this turn of the event loop, so that what ends within one turn is written together. */
  look(): void {
    if (this.#scheduled) return
    if (this.#pause !== undefined || this.#state === 'closed') {
      this.#tellCaught()
      return
    }
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#step()
    })
  }

  /** Prolongs the leases of which a third has gone. Aborts the handlers of those that another worker has. */
  async extend(): Promise<void> {
    const { leaseSeconds } = this.#kind
    const now = performance.now()
    const old = [...this.#held].filter(({ ending, leasedAt }) => !ending && now - leasedAt > (leaseSeconds * 1000) / 3)
    if (old.length === 0) return
    const kept = await extend(
      this.#db,
      old.map(({ job, fence }) => ({ job, fence, leaseSeconds })),
    )
    for (const held of old) {
      if (kept.has(held.job.id)) held.leasedAt = now
      else if (this.#held.has(held) && !held.ending) {
        this.#held.delete(held)
        this.#log.warn({ kind: this.kind, job: held.job.id }, 'a job lost its lease while it ran')
        held.controller.abort(new Error('the lease was lost'))
      }
    }
  }

  /** Claims no more; resolves when all that runs has ended and is written down, or else after so many milliseconds, when
   *  handlers are told to end and their jobs go back to the queue. */
  async close(deadline: number): Promise<void> {
    this.#state = 'closing'
    const timer = Promise.withResolvers<void>()
    const timeout = setTimeout(timer.resolve, deadline)
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
    this.look()
    await Promise.race([idle, timer.promise])
    clearTimeout(timeout)
    this.#state = 'closed'
    clearTimeout(this.#pause)
    clearTimeout(this.#resting)
    const left = [...this.#held]
    for (const { controller } of left) controller.abort(new Error('the worker stops'))
    await this.#release(left)
  }

  async #release(jobs: readonly Leased[]): Promise<void> {
    if (jobs.length === 0) return
    await putBack(
      this.#db,
      jobs.map(({ job, fence }) => ({ job, fence, seconds: 0, error: null, counted: false, waitsFor: null })),
    ).catch((error) => this.#log.error({ err: error, kind: this.kind }, 'leases could not be released'))
  }

  #step(): void {
    while (this.#turns < mostTurns && this.#pause === undefined && this.#state !== 'closed') {
      const alone = this.#alone.shift()
      const outcomes = alone ? [alone] : this.#rests ? [] : this.#outcomes.splice(0, this.#batch)
      if (outcomes.length > 0) this.#endedAt = performance.now()
      // The end of a job makes way for the next one of its key, which the same statement may claim.
      if (outcomes.some(({ what, held }) => what !== 'back' && held.job.key !== null)) this.#due = true
      // Where jobs end by a statement of their own, the claim is another one.
      const wanted = alone || (this.#kind.end && outcomes.length > 0) ? 0 : this.#wanted()
      if (outcomes.length === 0 && wanted === 0) break
      void this.#turn(outcomes, wanted)
    }
    if (this.#claiming === 0) this.#tellCaught()
    const isIdle = this.#held.size === 0 && this.#turns === 0 && this.#reserved === 0
    if (this.#state === 'closing' && isIdle) this.#onIdle?.()
  }

  /** Whether what has ended waits for more to end; then it is written down by itself. */
  get #rests(): boolean {
    const left = this.#endedAt + (this.#kind.spacing ?? 0) - performance.now()
    if (left <= 0 || this.#outcomes.length * 2 >= this.#batch || this.#state !== 'open') return false
    this.#resting ??= setTimeout(() => {
      this.#resting = undefined
      this.look()
    }, left)
    return true
  }

  #tellCaught(): void {
    for (const go of this.#catching.splice(0)) go()
  }

  #wanted(): number {
    if (!this.#due || this.#state !== 'open') return 0
    // One claim at a time: the answers to two may come in the wrong order.
    if (this.#claiming > 0) return 0
    // The database is slower than the handlers.
    if (this.#outcomes.length > 4 * this.#batch) return 0
    // What this worker holds beyond what it knows of is taken back first: not what is being added.
    if (this.#doubtful && this.#reserved > 0) return 0
    return Math.min(this.#batch, this.#free())
  }

  /** How many more jobs could start at this moment. */
  #free(): number {
    const most = Math.min(this.#kind.concurrency - this.#running, this.#kind.room?.() ?? Number.POSITIVE_INFINITY)
    return Math.max(0, Math.floor(most) - this.#reserved)
  }

  async #turn(outcomes: Outcome[], wanted: number): Promise<void> {
    this.#turns++
    this.#claiming += wanted
    for (const { held } of outcomes) held.ending = true
    if (wanted > 0) this.#due = false
    let done = false
    try {
      if (wanted > 0 && this.#doubtful) await this.#settleDoubts()
      const result = await this.#write(outcomes, wanted)
      done = true
      this.#failures = 0
      for (const { held } of outcomes) this.#held.delete(held)
      this.#expect(outcomes)
      if (wanted > 0) this.#advance(result, wanted)
      this.#claiming -= wanted
      // The deadline of a stop passed while the claim was under way.
      if (this.#state === 'closed') await this.#release(result.claimed)
      else for (const leased of result.claimed) this.#start(leased)
    } catch (error) {
      if (!done) this.#claiming -= wanted
      this.#failed(error, outcomes, wanted)
    }
    // Also where the next claim follows at once: that may be the first of a long queue.
    if (wanted > 0) this.#tellCaught()
    this.#turns--
    this.look()
  }

  async #settleDoubts(): Promise<void> {
    // Another doubt may come meanwhile.
    this.#doubtful = false
    const known = [...this.#held].map(({ job }) => job.id)
    await reclaim(this.#db, this.worker, this.kind, known).catch((error) => {
      this.#doubtful = true
      throw error
    })
  }

  /** In one statement where that will do, else in one transaction. */
  #write(outcomes: Outcome[], count: number): Promise<Turn> {
    const { leaseSeconds, settle, failed } = this.#kind
    const wanted = { kind: this.kind, count, worker: this.worker, leaseSeconds, after: this.#after }
    const done: (Leased & Done)[] = []
    const back: Return[] = []
    const dead: (Leased & { error: string })[] = []
    for (const outcome of outcomes) {
      const { job, fence } = outcome.held
      if (outcome.what === 'done') done.push({ job, fence, result: outcome.result })
      else if (outcome.what === 'back') back.push({ ...outcome, job, fence })
      else dead.push({ job, fence, error: outcome.error })
    }
    if (back.length === 0 && dead.length === 0 && (!settle || done.length === 0))
      return turn(this.#db, done, wanted).then((result) => this.#notice(result, done.length, result.ended.size))

    const ending = back.length === 0 && dead.length === 0 && count === 0 ? this.#kind.end?.(this.#db, done) : null
    if (ending)
      return ending.then((ended) => this.#notice({ ended, claimed: [], seen: 0, after: null }, done.length, ended.size))

    return this.#db.begin(async (tx) => {
      const returned = back.length > 0 ? await putBack(tx, back) : new Set()
      const buried = dead.length > 0 ? await bury(tx, dead) : new Set()
      for (const { job, error } of dead) if (buried.has(job.id)) await failed?.call(this.#kind, tx, job, error)
      const result = await turn(tx, done, wanted)
      const ours = result.ended.size === done.length ? done : done.filter(({ job }) => result.ended.has(job.id))
      if (ours.length > 0) await settle?.call(this.#kind, tx, ours)
      return this.#notice(result, outcomes.length, ours.length + returned.size + buried.size)
    })
  }

  #notice(result: Turn, ended: number, held: number): Turn {
    if (held < ended)
      this.#log.warn({ kind: this.kind, jobs: ended - held }, 'jobs ended after their lease was lost: refused')
    return result
  }

  /** Logs a run that failed. The text of its error stays with the job: it may quote what was sent. */
  #report({ held, ...outcome }: Outcome, error: unknown): void {
    const type = error instanceof Error ? error.name : typeof error
    const { id, attempt, account } = held.job
    const fields = { kind: this.kind, job: id, account, attempt, type, code: sqlState(error) ?? undefined }
    if (outcome.what === 'back') this.#log.debug({ ...fields, seconds: outcome.seconds }, 'jobs: retry scheduled')
    else this.#log.debug(fields, 'jobs: job failed for good')
  }

  /** What was put back for a moment only is not left to the next look at the queue. */
  #expect(outcomes: Outcome[]): void {
    const soon = outcomes.flatMap((outcome) =>
      outcome.what === 'back' && outcome.seconds < 0.5 ? [outcome.seconds] : [],
    )
    if (soon.length > 0) setTimeout(() => this.wake(), Math.ceil(Math.min(...soon) * 1000) + 1).unref()
  }

  /** Whether to claim again, and from which account on. */
  #advance({ seen, after }: Turn, wanted: number): void {
    if (this.#after !== null) {
      // Jobs without an account, and the oldest, have their turn at the end of a round.
      this.#due = true
      this.#after = after
    } else if (seen >= wanted) {
      this.#due = true
      if (this.#kind.fair) this.#after = first
    }
    this.#isFar = seen >= wanted || this.#after !== null
  }

  #start(leased: Leased, leasedAt = performance.now()): void {
    const held = { ...leased, controller: new AbortController(), leasedAt, ending: false }
    this.#held.add(held)
    const { attempt } = leased.job
    if (attempt > this.#kind.maxAttempts + spared)
      this.#outcomes.push({ held, what: 'dead', error: `lost its worker in attempt ${attempt - 1}` })
    else if (this.#kind.run) {
      this.#running++
      void this.#run(held)
    } else this.#outcomes.push({ held, what: 'done', result: undefined })
  }

  async #run(held: Held): Promise<void> {
    let outcome: Outcome
    try {
      outcome = { held, what: 'done', result: await this.#kind.run?.(held.job, held.controller.signal) }
    } catch (error) {
      outcome = judge(this.#kind, held, error)
      this.#report(outcome, error)
    }
    this.#running--
    this.#outcomes.push(outcome)
    this.look()
  }

  #failed(error: unknown, outcomes: Outcome[], wanted: number): void {
    for (const { held } of outcomes) held.ending = false
    if (wanted > 0) {
      this.#due = true
      this.#doubtful ||= isUnavailable(error)
    }
    if (isPassing(error)) {
      this.#outcomes.unshift(...outcomes)
      // What is in the way of another goes on quickly; a database that is away is not asked more than once a second.
      const away = isUnavailable(error)
      if (away && this.#failures++ === 0) this.#log.warn({ err: error, kind: this.kind }, 'the database is away')
      const delay = away ? Math.min(1000, 50 * 2 ** Math.min(this.#failures, 5)) : Math.random() * 10
      this.#pause ??= setTimeout(() => {
        this.#pause = undefined
        this.look()
      }, delay)
      return
    }
    this.#log.error({ err: error, kind: this.kind }, 'the end of jobs could not be written')
    const [only, ...others] = outcomes
    if (!only) this.#pauseAfterFault()
    else if (others.length > 0) this.#alone.push(...outcomes)
    else this.#giveBack(only, error)
  }

  /** A claim that fails by a fault (a missing function, say) must not spin. */
  #pauseAfterFault(): void {
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined
      this.look()
    }, 1000)
  }

  /** `settle` or `failed` refused this very job: that is a failure of the job. */
  #giveBack(outcome: Outcome, error: unknown): void {
    const { held } = outcome
    // A failing `failed` is tried again with the job's next run; what cannot even be put back returns when its lease ends.
    const next = judge(this.#kind, held, error)
    if (outcome.what === 'done') this.#outcomes.push(next)
    else if (outcome.what === 'dead')
      this.#outcomes.push({
        held,
        what: 'back',
        seconds: backoff(12),
        error: textOf(error),
        counted: true,
        waitsFor: null,
      })
    else this.#held.delete(held)
  }
}
