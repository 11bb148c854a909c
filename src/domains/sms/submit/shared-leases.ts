import type { Logger } from 'pino'
import type { Db } from '../../../platform/db/sql.ts'
import type { WakeUps } from '../../../platform/db/wake-ups.ts'
import type { Worker } from '../../../platform/jobs/consume/worker.ts'
import { notify } from '../../../platform/jobs/queue.ts'
import { tick } from '../../../platform/jobs/tick.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { makeSerialQueue } from '../../../platform/lib/serial-queue.ts'
import type { SmsShare } from '../../../ports/sms.ts'
import {
  carrierLeaseMarginMs,
  carrierLeaseRenewMs,
  carrierLeaseSeconds,
  carrierLeaseTimeoutMs,
  formerLinkMs,
  slotDrainMs,
} from '../limits.ts'
import * as store from './carrier-lease-store.ts'
import type { CarrierLeases, LeasableConnection, LeaseEffects, SlotRunner, SubmitPlace } from './carrier-leases.ts'
import { batchKind, leaseName, slotKind, slotOf, submitKind } from './message-slots.ts'

const ignore = () => {}

/**
 * `taken`: ours, and its messages must be prepared. `ready`: its messages are submitted here. `leaving`: no further submit
 * begins. `ending`: no longer part of the share.
 */
type LeaseState = 'free' | 'taken' | 'ready' | 'leaving' | 'ending'

type Lease = {
  readonly name: string
  /** Null: no slot, but the queue or the presence of this process. */
  readonly connection: string | null
  /** Kind of the jobs that its holder runs, if there is one. */
  readonly kind: string | null
  state: LeaseState
  /** The owner before us, if its leases ended without a release. */
  lostOwner: string | null
  /** The other owner, until the given time of the monotonic clock. */
  other: { readonly until: number; readonly isUp: boolean } | null
}

type Slot = Lease & {
  readonly connection: string
  readonly index: number
  submits: number
  onDrained: () => void
  stopJobs: ((deadline: number) => Promise<void>) | null
}

const makeLease = (name: string, kind: string | null): Lease => ({
  ...{ name, kind, connection: null, state: 'free', lostOwner: null, other: null },
})

const makeSlot = (connection: string, index: number): Slot => ({
  ...makeLease(leaseName(connection, index), index === 0 ? null : slotKind(connection, index)),
  ...{ connection, index, submits: 0, onDrained: ignore, stopJobs: null },
})

type Deps = {
  readonly db: Db
  readonly wakeUps: Pick<WakeUps, 'on' | 'publish'>
  readonly log: Pick<Logger, 'warn' | 'error'>
  /** Seconds of a lease, for tests. Default: 12. */
  readonly seconds?: number
}

class SharedLeases implements CarrierLeases {
  readonly owner = uuid()
  readonly isCurrent = (): boolean => performance.now() < this.#until
  readonly #deps: Deps
  readonly #seconds: number
  /** One connection of its own: a renewal waits for no other statement. */
  readonly #db: Db
  readonly #reader = makeLease('queue', submitKind)
  readonly #presence = makeLease(`worker ${this.owner}`, null)
  #slots = new Map<string, readonly Slot[]>()
  #kinds: readonly string[] = []
  /** Slots of connections that are gone, until they are released. */
  #gone: Slot[] = []
  /** End of our leases, by the monotonic clock. */
  #until = Number.NEGATIVE_INFINITY
  #workers = 1
  readonly #formerUntil = new Map<string, number>()
  readonly #sentUp = new Map<string, boolean>()
  #effects: LeaseEffects | null = null
  #runner: SlotRunner | null = null
  #worker: Pick<Worker, 'add'> | null = null
  #ticks: { end(): Promise<void> } | null = null
  #unsubscribe = ignore
  #lapseTimer: NodeJS.Timeout | undefined
  #expiry: NodeJS.Timeout | undefined
  #isFailing = false
  #isClosed = false
  /** Names of the leases that ended without a release: their owner may take them again before others do. */
  #lapsed: ReadonlySet<string> | null = null
  readonly #queue = makeSerialQueue()

  constructor(deps: Deps) {
    this.#deps = deps
    this.#seconds = deps.seconds ?? carrierLeaseSeconds
    this.#db = deps.db.dedicated(carrierLeaseTimeoutMs)
  }

  readsQueue(): boolean {
    // Without a connection messages fail, whichever process reads them.
    return this.#slots.size === 0 || (this.#reader.state === 'ready' && this.isCurrent())
  }

  shareOf(connection: string): SmsShare {
    const slots = this.#slots.get(connection) ?? []
    const held = slots.filter(({ state }) => state === 'ready' || state === 'leaving')
    return { held: this.isCurrent() ? held.length : 0, of: slots.length }
  }

  placeOf(connection: string, pair: string): SubmitPlace {
    const slot = this.#slotOf(connection, pair)
    if (!slot || !this.isCurrent()) return 'nowhere'
    if (slot.state === 'ready') return 'here'
    const isFirst = slot.index === 0
    if (isFirst && this.readsQueue()) return 'nowhere'
    const { other, kind } = isFirst ? this.#reader : slot
    if (kind === null || !other || other.until < performance.now() || !(isFirst || other.isUp)) return 'nowhere'
    return { kind }
  }

  enter(connection: string, pair: string): (() => void) | null {
    const slot = this.#slotOf(connection, pair)
    if (slot?.state !== 'ready' || !this.isCurrent()) return null
    slot.submits++
    return () => {
      if (--slot.submits === 0) slot.onDrained()
    }
  }

  hasOthersUp(): boolean {
    const now = performance.now()
    // The reader of the queue may have a connection that is up.
    if (this.#reader.other && this.#reader.other.until > now) return true
    return this.#all().some(({ index, other }) => index > 0 && other?.isUp === true && other.until > now)
  }

  hadOtherOwner(connection: string): boolean {
    return performance.now() - (this.#formerUntil.get(connection) ?? Number.NEGATIVE_INFINITY) < formerLinkMs
  }

  slotKinds(): readonly string[] {
    return this.#kinds
  }

  wake(kind: string): void {
    // Before `notify`, after which this process would have a moment for jobs that it runs itself.
    this.#deps.wakeUps.publish('jobs')
    notify(kind)
  }

  update(connections: readonly LeasableConnection[]): Promise<void> {
    return this.#queue(async () => {
      const before = this.#kinds
      const known = new Map(this.#all().map((slot) => [slot.name, slot]))
      const next = connections.map(({ id, slots }) => {
        const own = Array.from({ length: slots }, (_, i) => known.get(leaseName(id, i)) ?? makeSlot(id, i))
        return [id, own] as const
      })
      this.#slots = new Map(next)
      this.#kinds = this.#all().flatMap(({ kind }) => kind ?? [])
      const kept = new Set(this.#all())
      this.#gone = [...known.values()].filter((slot) => !kept.has(slot) && slot.state !== 'free')
      await this.#renew()
      if (this.#gone.length > 0) await this.#applied()
      const names = this.#gone.map(({ name }) => name)
      this.#gone = []
      await store.releaseLeases(this.#db, this.owner, names)
      if (this.#slots.size === 0) await this.#releaseAll()
      if (before.some((kind) => !this.#kinds.includes(kind)) && this.readsQueue()) await this.#returnStray()
    }).catch((error) => this.#report(error))
  }

  linkChanged(): void {
    if (this.#workers < 2 || this.#isClosed) return
    const isUp = this.#effects?.isUp ?? (() => false)
    const changed = [...this.#slots].some(([id, { length }]) => length > 1 && isUp(id) !== this.#sentUp.get(id))
    if (changed) void this.#tick().then(() => this.#deps.wakeUps.publish('leases'))
  }

  setRunner(runner: SlotRunner): void {
    this.#runner = runner
  }

  async setWorker(worker: Pick<Worker, 'add'>): Promise<void> {
    this.#worker = worker
    await this.#tick()
  }

  start(effects: LeaseEffects): void {
    this.#effects = effects
    this.#unsubscribe = this.#deps.wakeUps.on('leases', () => void this.#tick())
    const onError = (error: unknown) => this.#report(error)
    this.#ticks = tick(carrierLeaseRenewMs, () => this.#tick(), onError, { waitsForOthers: false })
  }

  async close(end: () => Promise<void>): Promise<void> {
    this.#isClosed = true
    this.#unsubscribe()
    clearTimeout(this.#expiry)
    await this.#ticks?.end()
    await this.#queue(async () => {
      await end()
      await this.#releaseAll().catch((error) => this.#report(error))
    })
    await this.#db.end()
  }

  #all(): Slot[] {
    return [...this.#slots.values()].flat()
  }

  #leases(): Lease[] {
    return [this.#presence, this.#reader, ...this.#all(), ...this.#gone]
  }

  #slotOf(connection: string, pair: string): Slot | undefined {
    const slots = this.#slots.get(connection)
    return slots?.[slotOf(pair, slots.length)]
  }

  /** Logs an outage once. */
  #report(error: unknown): void {
    if (!this.#isFailing && !this.#isClosed) this.#deps.log.error({ err: error }, 'sms: leasing connections failed')
    this.#isFailing = true
  }

  #tick(): Promise<void> {
    return this.#queue(() => this.#renew()).catch((error) => this.#report(error))
  }

  /** Extends and takes leases, and applies what changed. */
  async #renew(): Promise<void> {
    if (this.#isClosed || !this.#effects) return
    this.#gone = this.#gone.filter(({ state }) => state !== 'free')
    if (this.#slots.size === 0 && this.#gone.length === 0) return await this.#releaseAll()
    const before = this.#signature()
    // Another process may have had leases that ended, whoever has them now.
    if (!this.isCurrent()) this.#lapse()
    await this.#lease()
    const isBack = this.#lapsed !== null
    this.#lapsed = null
    // The first statement finds the other processes. Further ones take the queue, and then the slots that go with it.
    const mayTakeMore = () => !isBack && this.#wanted().some(({ state }) => state === 'free')
    for (let rounds = 0; rounds < 2 && mayTakeMore(); rounds++) await this.#lease()
    await this.#prepare()
    this.#isFailing = false
    if (this.#signature() !== before) await this.#applied()
    for (const slots of this.#slots.values()) this.#giveUpSurplus(slots)
  }

  #signature(): string {
    return this.#leases()
      .map(({ name, state }) => `${name} ${state}`)
      .join()
  }

  /** Slots of a connection that this process may have. */
  #fairShare({ length }: readonly Slot[]): number {
    return Math.ceil(length / this.#workers)
  }

  /** Our leases, and those that this process may take. */
  #wanted(): Lease[] {
    const now = performance.now()
    const isFree = ({ state, other }: Lease) => state === 'free' && (!other || other.until < now)
    const wanted: Lease[] = [this.#presence]
    // After an outage of the database all leases have ended. Their owners still have messages whose ends are not stored.
    const lapsed = this.#lapsed
    if (lapsed)
      return [...wanted, ...[this.#reader, ...this.#all()].filter((one) => lapsed.has(one.name) && isFree(one))]
    if (this.#reader.state !== 'free' || isFree(this.#reader)) wanted.push(this.#reader)
    const isReader = this.#reader.state !== 'free'
    const isMember = this.#presence.state !== 'free'
    for (const slots of this.#slots.values()) {
      const held = slots.filter(({ state }) => state !== 'free')
      wanted.push(...held)
      if (!isMember) continue
      // The reader has the first slot: most connections have no other, and their messages need not be passed on.
      const first = isReader ? slots.slice(0, 1).filter(isFree) : []
      const others = slots.slice(1).filter(isFree)
      const room = this.#fairShare(slots) - held.length - first.length
      wanted.push(...first, ...others.slice(0, Math.max(0, room)))
    }
    return wanted
  }

  async #lease(): Promise<void> {
    for (const [id, { length }] of this.#slots) if (length > 1) this.#sentUp.set(id, this.#isUp(id))
    const wanted = this.#wanted().map(({ name, connection }) => ({
      name,
      isUp: connection !== null && this.#isUp(connection),
    }))
    const askedAt = performance.now()
    const rows = await store.renewLeases(this.#db, this.owner, wanted, this.#seconds)
    const now = performance.now()
    this.#until = askedAt + this.#seconds * 1_000 - carrierLeaseMarginMs
    clearTimeout(this.#lapseTimer)
    // A timer may end a moment early.
    this.#lapseTimer = setTimeout(() => this.#end(), Math.max(0, this.#until - now) + 5).unref()
    const byName = new Map(rows.map((row) => [row.name, row]))
    const alive = new Set(rows.map(({ owner }) => owner))
    this.#workers = rows.filter(({ name }) => name.startsWith('worker ')).length
    for (const lease of this.#leases()) this.#store(lease, byName.get(lease.name), alive, now)
    this.#armExpiry(now)
  }

  #isUp(connection: string): boolean {
    return this.#effects?.isUp(connection) ?? false
  }

  #store(lease: Lease, row: store.LeaseRow | undefined, alive: ReadonlySet<string>, now: number): void {
    if (row?.owner !== this.owner) {
      if (lease.state !== 'free' && lease.state !== 'ending')
        this.#deps.log.warn({ lease: lease.name }, 'sms: the lease was lost')
      lease.state = 'free'
      lease.other = row ? { until: now + row.seconds * 1_000, isUp: row.is_up } : null
      return
    }
    lease.other = null
    if (lease.state !== 'free') return
    lease.state = 'taken'
    const { previous_owner: previous, previous_seconds: seconds } = row
    lease.lostOwner = previous !== null && !alive.has(previous) ? previous : null
    if (seconds === null || lease.connection === null) return
    const known = this.#formerUntil.get(lease.connection) ?? Number.NEGATIVE_INFINITY
    this.#formerUntil.set(lease.connection, Math.max(known, now - seconds * 1_000))
  }

  /** Takes over as soon as a lease of another process ends. */
  #armExpiry(now: number): void {
    clearTimeout(this.#expiry)
    const ends = this.#leases().flatMap(({ other }) => (other ? [other.until - now] : []))
    const first = Math.min(...ends)
    if (first > carrierLeaseRenewMs) return
    this.#expiry = setTimeout(() => void this.#tick(), Math.max(0, first) + 50 + Math.random() * 100).unref()
  }

  /** Releases the jobs of owners that are gone, and learns of the messages that wait, before any is submitted here. */
  async #prepare(): Promise<void> {
    const runner = this.#runner
    const taken = this.#leases().filter(({ state }) => state === 'taken')
    if (taken.length === 0 || !runner || !this.#worker) return
    const { db, log } = this.#deps
    const lost = [...new Set(taken.flatMap(({ lostOwner }) => lostOwner ?? []))]
    if (lost.length > 0) {
      const jobs = await store.releaseJobsOf(db, lost)
      if (jobs > 0) log.warn({ jobs }, 'sms: took over messages of a process that is gone')
    }
    runner.recheck()
    for (const lease of taken) {
      if (lease.kind === null) continue
      if (lease === this.#reader) await this.#returnStray()
      for (const { id, source, destination, seconds } of await store.deferredMessages(db, lease.kind))
        runner.expect(source + destination, id, seconds)
    }
    for (const lease of taken) if (lease.state === 'taken' && this.isCurrent()) lease.state = 'ready'
  }

  async #returnStray(): Promise<void> {
    const jobs = await store.returnStrayJobs(this.#deps.db, this.slotKinds())
    if (jobs > 0) this.wake(submitKind)
  }

  /** Stops the jobs of a slot that is not ours any more. Answers of its carrier are still stored. */
  async #stopJobs(stop: (deadline: number) => Promise<void>, isGone: boolean): Promise<void> {
    await stop(slotDrainMs)
    if (isGone) await this.#returnStray()
  }

  /** Connects and closes carriers, and starts and stops the jobs of slots. */
  async #applied(): Promise<void> {
    for (const slot of [...this.#all(), ...this.#gone]) {
      const { kind, connection } = slot
      const runs = slot.state === 'ready' && kind !== null && !this.#gone.includes(slot)
      if (runs && !slot.stopJobs && this.#runner)
        slot.stopJobs = this.#worker?.add(this.#runner.jobKindOf(kind, connection)) ?? null
      else if (!runs && slot.stopJobs) {
        void this.#stopJobs(slot.stopJobs, this.#gone.includes(slot)).catch((error) => this.#report(error))
        slot.stopJobs = null
      }
    }
    await this.#effects?.apply()
    if (this.readsQueue()) for (const kind of [submitKind, batchKind]) notify(kind)
    for (const { kind, stopJobs } of this.#all()) if (kind !== null && stopJobs) notify(kind)
  }

  /** Gives up slots beyond the fair share, from the last one on. */
  #giveUpSurplus(slots: readonly Slot[]): void {
    const held = slots.filter(({ state }) => state !== 'free')
    if (held.some(({ state }) => state !== 'ready')) return
    const surplus = Math.max(0, held.length - this.#fairShare(slots))
    for (const slot of held.slice(held.length - surplus)) {
      slot.state = 'leaving'
      void this.#leave(slot).catch((error) => this.#report(error))
    }
  }

  /** Gives up a slot once its submits have ended: a message that another process submits then is a later one. */
  async #leave(slot: Slot): Promise<void> {
    const stop = slot.stopJobs
    slot.stopJobs = null
    await stop?.(slotDrainMs)
    if (slot.submits > 0) {
      const drained = Promise.withResolvers<void>()
      slot.onDrained = drained.resolve
      const timer = setTimeout(drained.resolve, slotDrainMs)
      await drained.promise
      clearTimeout(timer)
      slot.onDrained = ignore
    }
    if (slot.state !== 'leaving') return
    slot.state = 'ending'
    await this.#effects?.apply()
    await this.#queue(async () => {
      if (slot.state !== 'ending') return
      await store.releaseLeases(this.#db, this.owner, [slot.name])
      slot.state = 'free'
      // Messages of the slot that were held back here are another process's now.
      this.#runner?.recheck()
    })
  }

  /** Frees all leases, which ended without a release. @returns whether there were any */
  #lapse(): boolean {
    const ours = this.#freeAll()
    if (ours.length > 0) this.#lapsed = new Set(ours)
    return ours.length > 0
  }

  /** Closes everything: another process may take over. */
  #end(): void {
    if (this.isCurrent() || this.#isClosed || !this.#lapse()) return
    this.#deps.log.warn({}, 'sms: the leases of the connections ended, as they could not be extended')
    void this.#applied().catch((error) => this.#report(error))
  }

  /** Without connections nothing is leased, and an idle process sends no statement. */
  async #releaseAll(): Promise<void> {
    this.#until = Number.NEGATIVE_INFINITY
    clearTimeout(this.#lapseTimer)
    await store.releaseLeases(this.#db, this.owner, this.#freeAll())
  }

  /** @returns the names of the leases that were ours */
  #freeAll(): string[] {
    const ours = this.#leases().filter(({ state }) => state !== 'free')
    for (const lease of ours) lease.state = 'free'
    return ours.map(({ name }) => name)
  }
}

/** Makes the leases of a process that shares its database with others. */
export const makeSharedLeases = (deps: Deps): CarrierLeases => new SharedLeases(deps)
