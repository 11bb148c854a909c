import { manyRows } from '../../db/batcher.ts'
import { type Db, isUnavailable, sqlState } from '../../db/sql.ts'
import { withoutRequestId, withRequestId } from '../../lib/log-context.ts'
import { backoff, type CompletedRun, type Job, type JobKind, jobEnded, type Log } from '../job-kind.ts'
import { requestIdOf } from '../queue.ts'
import {
  type ClaimResult,
  completeAndClaim,
  extendLeases,
  type LeasedJob,
  moveToDeadLetter,
  type RescheduledJob,
  recoverOrphans,
  reschedule,
} from '../store.ts'
import { classifyError, errorText, type HeldJob, isTransient, type JobOutcome } from './job-outcome.ts'
import type { LocalQueue, SlotReservation } from './local-queue.ts'

/** Maximum of concurrent statements of a kind: while PostgreSQL executes one, Node prepares the other. */
const maxStatements = 2

/** Lost workers allowed beyond `maxAttempts`: a job that kills every worker must end too. */
const extraAttempts = 5

/** Start of a round over the accounts: below every id. */
const lowestAccountId = '00000000-0000-0000-0000-000000000000'

/** Consumer of one kind of job in one worker: claims jobs, runs them and commits their outcomes. */
export class JobConsumer implements LocalQueue {
  readonly #kind: JobKind
  readonly #db: Db
  readonly #log: Log
  readonly worker: string
  readonly #batch: number
  /** Jobs leased to this worker whose end is not committed yet. */
  readonly #held = new Set<HeldJob>()
  #outcomes: JobOutcome[] = []
  /** Outcomes of a batch that the database rejected: committed one by one, so that only the bad row fails. */
  #singleOutcomes: JobOutcome[] = []
  #running = 0
  /** Slots reserved for jobs that are being inserted. */
  #reserved = 0
  #activeStatements = 0
  #claiming = 0
  /** Claims in progress of the kinds of this worker. Each resolves once its jobs have started. */
  readonly #claims: Map<string, Promise<void>>
  #mayBeDue = true
  #accountCursor: string | null = null
  /** True after the response to a claim was lost: this worker may hold leases that it does not know of. */
  #hasUnknownLeases = false
  #failures = 0
  #retryTimer: NodeJS.Timeout | undefined
  /** Time of the last flush of outcomes, by the monotonic clock, and how many there were. */
  #flushedAt = Number.NEGATIVE_INFINITY
  #flushed = 0
  #flushTimer: NodeJS.Timeout | undefined
  #scheduled = false
  #state: 'open' | 'closing' | 'closed' = 'open'
  #onIdle: (() => void) | undefined
  #closed: Promise<void> | undefined
  readonly #onStart: () => void

  /** @param onStart called with every job that starts */
  constructor(
    kind: JobKind,
    db: Db,
    log: Log,
    worker: string,
    claims = new Map<string, Promise<void>>(),
    onStart: () => void = () => {},
  ) {
    this.#onStart = onStart
    this.#claims = claims
    this.#kind = kind
    this.#db = db
    this.#log = log
    this.worker = worker
    this.#batch = Math.min(kind.batch ?? 128, 1000)
  }

  get kind(): string {
    return this.#kind.kind
  }

  /** Number of handlers that run in this process. */
  get running(): number {
    return this.#running
  }

  /** Whether jobs are leased to this worker. */
  get isBusy(): boolean {
    return this.#held.size > 0
  }

  get leaseSeconds(): number {
    return this.#kind.leaseSeconds
  }

  reserve(account: string): SlotReservation | null {
    // The recovery of unknown leases must not release jobs that are being inserted.
    const isUnsure = this.#hasUnknownLeases || this.#retryTimer !== undefined
    if (isUnsure || this.#state !== 'open' || this.#freeSlots() < 1) return null
    if (this.#kind.hasLocalRoom?.(account) === false) return null
    this.#reserved++
    return { at: performance.now() }
  }

  commit(slot: SlotReservation, job: Job): void {
    // A claim whose response is on its way may have taken older jobs of the account: those start first.
    const claims = [this.kind, ...(this.#kind.startsAfter ?? [])].flatMap((kind) => this.#claims.get(kind) ?? [])
    if (claims.length === 0) this.#startLocal(slot, job)
    else void Promise.all(claims).then(() => this.#startLocal(slot, job))
  }

  #startLocal({ at }: SlotReservation, job: Job): void {
    this.#reserved--
    const leased = { job, fence: 1 }
    // After half the lease time, another worker may hold the job soon: give it back.
    const isLate = performance.now() - at > this.leaseSeconds * 500
    if (isLate || this.#state === 'closed') void this.#release([leased])
    else this.#start(leased, at)
    this.scheduleStep()
  }

  cancel(_: SlotReservation, doubtful: boolean): void {
    this.#reserved--
    this.#hasUnknownLeases ||= doubtful
    this.notify()
  }

  /** Signals that jobs may be due. */
  notify(): void {
    this.#mayBeDue = true
    this.scheduleStep()
  }

  /** Runs the next step at the end of this event-loop turn, so that outcomes of one turn share a statement. */
  scheduleStep(): void {
    if (this.#scheduled || this.#retryTimer !== undefined || this.#state === 'closed') return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#step()
    })
  }

  /** Extends leases older than a third of their duration. Aborts handlers whose lease another worker holds. */
  async extend(): Promise<void> {
    const { leaseSeconds } = this.#kind
    const now = performance.now()
    const old = [...this.#held].filter(
      ({ isCommitting, leasedAt }) => !isCommitting && now - leasedAt > (leaseSeconds * 1000) / 3,
    )
    if (old.length === 0) return
    const extended = await extendLeases(
      this.#db,
      old.map(({ job, fence }) => ({ job, fence, leaseSeconds })),
    )
    for (const held of old) {
      if (extended.has(held.job.id)) held.leasedAt = now
      else if (this.#held.has(held) && !held.isCommitting) {
        this.#held.delete(held)
        this.#log.warn({ kind: this.kind, job: held.job.id }, 'jobs: lease lost during a run')
        held.controller.abort(new Error('the lease was lost'))
      }
    }
  }

  /** Stops claiming and waits until running jobs have ended and their outcomes are committed. After `deadline`
   *  milliseconds, aborts the remaining handlers and returns their jobs to the queue. Later calls wait for the first. */
  close(deadline: number): Promise<void> {
    this.#closed ??= this.#close(deadline)
    return this.#closed
  }

  async #close(deadline: number): Promise<void> {
    this.#state = 'closing'
    this.#kind.onStopping?.()
    const timer = Promise.withResolvers<void>()
    const timeout = setTimeout(timer.resolve, deadline)
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve
    })
    this.scheduleStep()
    await Promise.race([idle, timer.promise])
    clearTimeout(timeout)
    this.#state = 'closed'
    clearTimeout(this.#retryTimer)
    clearTimeout(this.#flushTimer)
    const left = [...this.#held]
    for (const { controller } of left) controller.abort(new Error('the worker is stopping'))
    await this.#release(left)
  }

  async #release(jobs: readonly LeasedJob[]): Promise<void> {
    if (jobs.length === 0) return
    await reschedule(
      this.#db,
      jobs.map(({ job, fence }) => ({ job, fence, seconds: 0, error: null, counted: false, waitsFor: null })),
    ).catch((error) => this.#log.error({ err: error, kind: this.kind }, 'jobs: releasing leases failed'))
  }

  #step(): void {
    while (this.#activeStatements < maxStatements && this.#retryTimer === undefined && this.#state !== 'closed') {
      const alone = this.#singleOutcomes.shift()
      const outcomes = alone ? [alone] : this.#delaysFlush ? [] : this.#outcomes.splice(0, this.#batch)
      if (outcomes.length > 0) {
        this.#flushedAt = performance.now()
        this.#flushed = outcomes.length
      }
      // The end of a job unblocks the next job of its key, which the same statement may claim.
      if (outcomes.some(({ what, held }) => what !== 'back' && held.job.key !== null)) this.#mayBeDue = true
      // Kinds with their own completion statement claim with a separate one.
      const count = alone || (this.#kind.completeDirectly && outcomes.length > 0) ? 0 : this.#wanted()
      if (outcomes.length === 0 && count === 0) break
      void this.#runStatement(outcomes, count)
    }
    const isIdle = this.#held.size === 0 && this.#activeStatements === 0 && this.#reserved === 0
    if (this.#state === 'closing' && isIdle) this.#onIdle?.()
  }

  /** Whether outcomes wait for more to share a statement; a timer flushes them otherwise. */
  get #delaysFlush(): boolean {
    const left = this.#flushedAt + (this.#kind.flushIntervalMs ?? 0) - performance.now()
    if (left <= 0 || this.#flushed < manyRows || this.#outcomes.length * 2 >= this.#batch) return false
    if (this.#state !== 'open') return false
    this.#flushTimer ??= setTimeout(() => {
      this.#flushTimer = undefined
      this.scheduleStep()
    }, left)
    return true
  }

  #wanted(): number {
    if (!this.#mayBeDue || this.#state !== 'open') return 0
    // One claim at a time: the responses to two may arrive out of order.
    if (this.#claiming > 0) return 0
    // Backpressure: the database is slower than the handlers.
    if (this.#outcomes.length > 4 * this.#batch) return 0
    // Orphan recovery comes first, and must not release jobs that are being inserted.
    if (this.#hasUnknownLeases && this.#reserved > 0) return 0
    const capacity = Math.floor(this.#kind.capacity?.() ?? Number.POSITIVE_INFINITY)
    return Math.max(0, Math.min(this.#batch, this.#freeSlots(), capacity))
  }

  /** Number of handlers that could start now. */
  #freeSlots(): number {
    return this.#kind.concurrency - this.#running - this.#claiming - this.#reserved
  }

  async #runStatement(outcomes: JobOutcome[], count: number): Promise<void> {
    this.#activeStatements++
    this.#claiming += count
    for (const { held } of outcomes) held.isCommitting = true
    if (count > 0) this.#mayBeDue = false
    const started = Promise.withResolvers<void>()
    if (count > 0) this.#claims.set(this.kind, started.promise)
    let done = false
    try {
      if (count > 0 && this.#hasUnknownLeases) await this.#recoverUnknownLeases()
      const result = await this.#commitAndClaim(outcomes, count)
      done = true
      this.#failures = 0
      for (const { held } of outcomes) this.#held.delete(held)
      this.#wakeForReschedules(outcomes)
      if (count > 0) this.#planNextClaim(result, count)
      this.#claiming -= count
      // The stop began during the claim.
      if (this.#state !== 'open') await this.#release(result.claimed)
      else for (const leased of result.claimed) this.#start(leased)
    } catch (error) {
      if (!done) this.#claiming -= count
      this.#handleError(error, outcomes, count)
    }
    if (count > 0) this.#claims.delete(this.kind)
    started.resolve()
    this.#activeStatements--
    this.scheduleStep()
  }

  async #recoverUnknownLeases(): Promise<void> {
    // Cleared first: another response may be lost during the recovery.
    this.#hasUnknownLeases = false
    const known = [...this.#held].map(({ job }) => job.id)
    await recoverOrphans(this.#db, this.worker, this.kind, known).catch((error) => {
      this.#hasUnknownLeases = true
      throw error
    })
  }

  /** Commits outcomes and claims jobs: in one statement if possible, otherwise in one transaction. */
  #commitAndClaim(outcomes: JobOutcome[], count: number): Promise<ClaimResult> {
    const { leaseSeconds, onComplete: complete, onDiscard: discard } = this.#kind
    const claim = { kind: this.kind, count, worker: this.worker, leaseSeconds, after: this.#accountCursor }
    const done: (LeasedJob & CompletedRun)[] = []
    const back: RescheduledJob[] = []
    const dead: (LeasedJob & { error: string })[] = []
    // A job whose lease was lost may have run here again: only its last run can be the one that holds it.
    const fences = new Map<string, number>()
    for (const { held } of outcomes) fences.set(held.job.id, Math.max(held.fence, fences.get(held.job.id) ?? 0))
    for (const outcome of outcomes) {
      const { job, fence } = outcome.held
      if (fence !== fences.get(job.id)) continue
      if (outcome.what === 'done') done.push({ job, fence, result: outcome.result })
      else if (outcome.what === 'back') back.push({ ...outcome, job, fence })
      else dead.push({ job, fence, error: outcome.error })
    }
    if (back.length === 0 && dead.length === 0 && (!complete || done.length === 0))
      return completeAndClaim(this.#db, done, claim).then((result) =>
        this.#logLostLeases(result, done.length, result.ended.size),
      )

    const ending =
      back.length === 0 && dead.length === 0 && count === 0 ? this.#kind.completeDirectly?.(this.#db, done) : null
    if (ending)
      return ending.then((ended) =>
        this.#logLostLeases({ ended, claimed: [], examined: 0, after: null }, done.length, ended.size),
      )

    return this.#db.begin(async (tx) => {
      const returned = back.length > 0 ? await reschedule(tx, back) : new Set()
      const buried = dead.length > 0 ? await moveToDeadLetter(tx, dead, discard !== undefined) : new Set()
      for (const { job, error } of dead) if (buried.has(job.id)) await discard?.call(this.#kind, tx, job, error)
      const result = await completeAndClaim(tx, done, claim)
      const ours = result.ended.size === done.length ? done : done.filter(({ job }) => result.ended.has(job.id))
      if (ours.length > 0) await complete?.call(this.#kind, tx, ours)
      return this.#logLostLeases(result, outcomes.length, ours.length + returned.size + buried.size)
    })
  }

  #logLostLeases(result: ClaimResult, ended: number, held: number): ClaimResult {
    if (held < ended) this.#log.warn({ kind: this.kind, jobs: ended - held }, 'jobs: completion refused, lease lost')
    return result
  }

  /** Logs a failed run without the error message, which may quote message content; the job's row has it. */
  #logFailedRun({ held, ...outcome }: JobOutcome, error: unknown): void {
    const type = error instanceof Error ? error.name : typeof error
    const { id, attempt, account } = held.job
    const request_id = requestIdOf(held.job.payload) ?? undefined
    const fields = { kind: this.kind, job: id, account, attempt, request_id, type, code: sqlState(error) ?? undefined }
    if (outcome.what === 'back') this.#log.debug({ ...fields, seconds: outcome.seconds }, 'jobs: retry scheduled')
    else this.#log.debug(fields, 'jobs: job failed for good')
  }

  /** Wakes this consumer for jobs that are due again before the next poll. */
  #wakeForReschedules(outcomes: JobOutcome[]): void {
    const soon = outcomes.flatMap((outcome) =>
      outcome.what === 'back' && outcome.seconds < 0.5 ? [outcome.seconds] : [],
    )
    if (soon.length > 0) setTimeout(() => this.notify(), Math.ceil(Math.min(...soon) * 1000) + 1).unref()
  }

  /** Decides whether to claim again, and from which account on. */
  #planNextClaim({ examined, after }: ClaimResult, count: number): void {
    if (this.#accountCursor !== null) {
      // The claim at the end of a round serves jobs without an account and the oldest ones.
      this.#mayBeDue = true
      this.#accountCursor = after
    } else if (examined >= count) {
      this.#mayBeDue = true
      if (this.#kind.fair) this.#accountCursor = lowestAccountId
    }
  }

  #start(leased: LeasedJob, leasedAt = performance.now()): void {
    const held: HeldJob = { ...leased, controller: new AbortController(), leasedAt, isCommitting: false }
    this.#held.add(held)
    this.#onStart()
    const { attempt } = leased.job
    if (attempt > this.#kind.maxAttempts + extraAttempts)
      this.#outcomes.push({ held, what: 'dead', error: `The worker was lost in attempt ${attempt - 1}` })
    else if (this.#kind.run) {
      this.#running++
      void this.#run(held)
    } else this.#outcomes.push({ held, what: 'done', result: undefined })
  }

  async #run(held: HeldJob): Promise<void> {
    let outcome: JobOutcome
    try {
      const work = () => this.#kind.run?.(held.job, held.controller.signal, held.fence)
      const requestId = requestIdOf(held.job.payload)
      // The step that started it may be part of another job's work.
      const result = await (requestId === null ? withoutRequestId(work) : withRequestId(requestId, work))
      if (result === jobEnded) {
        this.#running--
        this.#held.delete(held)
        this.scheduleStep()
        return
      }
      outcome = { held, what: 'done', result }
    } catch (error) {
      outcome = classifyError(this.#kind, held, error)
      this.#logFailedRun(outcome, error)
    }
    this.#running--
    this.#outcomes.push(outcome)
    this.scheduleStep()
  }

  #handleError(error: unknown, outcomes: JobOutcome[], count: number): void {
    for (const { held } of outcomes) held.isCommitting = false
    if (count > 0) {
      this.#mayBeDue = true
      this.#hasUnknownLeases ||= isUnavailable(error)
    }
    if (isTransient(error)) {
      this.#outcomes.unshift(...outcomes)
      // Retry conflicts quickly. While the database is unavailable, back off to one statement a second.
      const away = isUnavailable(error)
      if (away && this.#failures++ === 0) this.#log.warn({ err: error, kind: this.kind }, 'jobs: database unavailable')
      const delay = away ? Math.min(1000, 50 * 2 ** Math.min(this.#failures, 5)) : Math.random() * 10
      this.#retryTimer ??= setTimeout(() => {
        this.#retryTimer = undefined
        this.scheduleStep()
      }, delay)
      return
    }
    this.#log.error({ err: error, kind: this.kind }, 'jobs: committing outcomes failed')
    const [only, ...others] = outcomes
    if (!only) this.#pauseAfterFault()
    else if (others.length > 0) this.#singleOutcomes.push(...outcomes)
    else this.#failOutcome(only, error)
  }

  /** Waits a second after a claim failed permanently (a missing function, for example), to avoid a busy loop. */
  #pauseAfterFault(): void {
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = undefined
      this.scheduleStep()
    }, 1000)
  }

  /** Handles a job that `onComplete` or `onDiscard` rejected: the error counts as a failure of the job. */
  #failOutcome(outcome: JobOutcome, error: unknown): void {
    const { held } = outcome
    // A failed `onDiscard` is retried with the next run. A job that cannot be rescheduled returns when its lease ends.
    const next = classifyError(this.#kind, held, error)
    if (outcome.what === 'done') this.#outcomes.push(next)
    else if (outcome.what === 'dead')
      this.#outcomes.push({
        held,
        what: 'back',
        seconds: backoff(12),
        error: errorText(error),
        counted: true,
        waitsFor: null,
      })
    else this.#held.delete(held)
  }
}
