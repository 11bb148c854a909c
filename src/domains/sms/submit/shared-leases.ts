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
  formerOwnersMs,
  slotDrainMs,
  unreachableMs,
} from '../limits.ts'
import * as store from './carrier-lease-store.ts'
import type { CarrierLeases, LeasableConnection, LeaseEffects, SlotRunner, SubmitPlace } from './carrier-leases.ts'
import {
  countedOf,
  isLeftToOthers,
  isSlot,
  type Lease,
  makeLease,
  makeSlot,
  mattersToOthers,
  mayHandOver,
  type Slot,
  type SlotHandover,
  servedKinds,
  withDeferred,
} from './leased-slots.ts'
import { batchKind, leaseName, slotOf, submitKind } from './message-slots.ts'

const ignore = () => {}

type Deps = {
  readonly db: Db
  readonly wakeUps: Pick<WakeUps, 'on' | 'publish'>
  readonly log: Pick<Logger, 'warn' | 'error'>
  /** Seconds of a lease, for tests. Default: 12. */
  readonly seconds?: number
  /** Milliseconds without a link after which a slot is given up, for tests. Default: 30 s. */
  readonly unreachableMs?: number
}

class SharedLeases implements CarrierLeases {
  readonly owner = uuid()
  readonly isCurrent = (): boolean => performance.now() < this.#until
  readonly #deps: Deps
  readonly #seconds: number
  readonly #unreachableMs: number
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
  /** Since when connections of which we hold slots are down. */
  readonly #downSince = new Map<string, number>()
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
  /** Until when we leave leases that ended in an outage to their owners, by the monotonic clock. */
  #othersFirstUntil = Number.NEGATIVE_INFINITY
  readonly #queue = makeSerialQueue()

  constructor(deps: Deps) {
    this.#deps = deps
    this.#seconds = deps.seconds ?? carrierLeaseSeconds
    this.#unreachableMs = deps.unreachableMs ?? unreachableMs
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
    // The reader of the queue knows where the messages of a first slot go.
    const isForReader = slot.index === 0 && !this.readsQueue()
    const { other, kind } = isForReader ? this.#reader : slot
    if (kind === null || !other || other.until < performance.now() || !(isForReader || other.isUp)) return 'nowhere'
    return { kind }
  }

  isUpElsewhere(connection: string, pair: string): boolean {
    const other = this.#slotOf(connection, pair)?.other
    return other?.isUp === true && other.until > performance.now()
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
    return this.#all().some(({ other }) => other?.isUp === true && other.until > now)
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
    const changed = [...this.#slots].some(([id, slots]) => mattersToOthers(slots) && isUp(id) !== this.#sentUp.get(id))
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
    if (this.#lapsed !== null) this.#othersFirstUntil = performance.now() + formerOwnersMs
    this.#lapsed = null
    // The first statement finds the other processes. Further ones take the queue, and then the slots that go with it.
    const mayTakeMore = () => this.#wanted().some(({ state }) => state === 'free')
    for (let rounds = 0; rounds < 2 && mayTakeMore(); rounds++) await this.#lease()
    await this.#prepare()
    this.#isFailing = false
    if (this.#signature() !== before) await this.#applied()
    for (const [id, slots] of this.#slots) {
      this.#giveUpSurplus(slots)
      this.#giveUpUnreachable(id, slots)
    }
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
    // After an outage of the database all leases have ended. Their owners still have messages whose ends are not stored.
    const lapsed = this.#lapsed
    const ours = [this.#reader, ...this.#all()].filter(({ state, name }) => state !== 'free' || lapsed?.has(name))
    if (lapsed || now < this.#othersFirstUntil)
      return [this.#presence, ...ours.filter((one) => one.state !== 'free' || isFree(one))]
    const wanted: Lease[] = [this.#presence]
    if (this.#reader.state !== 'free' || isFree(this.#reader)) wanted.push(this.#reader)
    const isReader = this.#reader.state !== 'free'
    const isMember = this.#presence.state !== 'free'
    for (const slots of this.#slots.values()) {
      const held = slots.filter(({ state }) => state !== 'free')
      wanted.push(...held)
      if (!isMember) continue
      const free = slots.filter((slot) => isFree(slot) && !isLeftToOthers(slot, now))
      // Another process cannot reach the carrier: perhaps this one can.
      const substitutes = free.filter(({ givenUp }) => givenUp?.isFree && !givenUp.isOurs)
      const usual = free.filter((slot) => !substitutes.includes(slot))
      // The reader has the first slot: most connections have no other, and their messages need not be passed on.
      const first = isReader ? usual.filter(({ index }) => index === 0) : []
      const others = usual.filter(({ index }) => index > 0)
      const room = this.#fairShare(slots) - countedOf(held).length - first.length
      wanted.push(...substitutes, ...first, ...others.slice(0, Math.max(0, room)))
    }
    return wanted
  }

  async #lease(): Promise<void> {
    for (const [id, slots] of this.#slots) if (mattersToOthers(slots)) this.#sentUp.set(id, this.#isUp(id))
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
    const valid = rows.filter(({ seconds }) => seconds > 0)
    const byName = new Map(valid.map((row) => [row.name, row]))
    const alive = new Set(valid.map(({ owner }) => owner))
    this.#workers = valid.filter(({ name }) => name.startsWith('worker ')).length
    const rowOf = new Map(rows.map((row) => [row.name, row]))
    for (const slot of this.#all()) slot.givenUp = this.#givenUpOf(rowOf.get(slot.name), now)
    for (const lease of this.#leases()) this.#store(lease, byName.get(lease.name), alive, now)
    this.#armExpiry(now)
  }

  #givenUpOf(row: store.LeaseRow | undefined, now: number): SlotHandover | null {
    if (!row || row.given_up_seconds === null) return null
    const isFree = row.seconds <= 0 && row.is_given_up
    return { at: now - row.given_up_seconds * 1_000, isFree, isOurs: isFree && row.owner === this.owner }
  }

  #isUp(connection: string): boolean {
    return this.#effects?.isUp(connection) ?? false
  }

  #store(lease: Lease, row: store.LeaseRow | undefined, alive: ReadonlySet<string>, now: number): void {
    if (row?.owner !== this.owner) {
      if (lease.state !== 'free' && lease.state !== 'ending')
        this.#deps.log.warn({ lease: lease.name }, 'sms: the lease was lost')
      lease.state = 'free'
      lease.other = row ? { owner: row.owner, until: now + row.seconds * 1_000, isUp: row.is_up } : null
      return
    }
    lease.other = null
    if (lease.state !== 'free') return
    lease.state = 'taken'
    const { previous_owner: previous, previous_seconds: seconds } = row
    // A lease that we take back after an outage names the owner before us, whose jobs were released long ago.
    const isNew = seconds !== null && now - seconds * 1_000 > lease.takenAt
    lease.lostOwner = previous !== null && isNew && !alive.has(previous) ? previous : null
    lease.takenAt = now
    if (isSlot(lease)) lease.isSubstitute = row.is_given_up && (lease.index > 0 || this.#reader.state === 'free')
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
    // Messages that were passed on for a first slot that is ours now, or for slots that no longer exist.
    if (taken.some((lease) => lease === this.#reader || (isSlot(lease) && lease.index === 0))) await this.#returnStray()
    for (const lease of withDeferred(taken, this.#reader, this.#all())) {
      if (lease.kind === null) continue
      for (const { id, source, destination, seconds } of await store.deferredMessages(db, lease.kind))
        runner.expect(source + destination, id, seconds)
    }
    for (const lease of taken) if (lease.state === 'taken' && this.isCurrent()) lease.state = 'ready'
  }

  async #returnStray(): Promise<void> {
    const reader = this.#reader.state === 'free' ? (this.#reader.other?.owner ?? null) : this.owner
    const jobs = await store.returnStrayJobs(this.#deps.db, servedKinds(this.#all(), reader))
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
      const hasJobs = kind !== null && (slot.index > 0 || slot.isSubstitute)
      const runs = slot.state === 'ready' && hasJobs && !this.#gone.includes(slot)
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
    const counted = countedOf(held)
    const surplus = Math.max(0, counted.length - this.#fairShare(slots))
    this.#giveUp(counted.slice(counted.length - surplus), false)
  }

  /** Gives up the slots of a connection that this process cannot reach. The carrier itself may be down, so the slots do not
   *  change hands more often than once a minute. */
  #giveUpUnreachable(connection: string, slots: readonly Slot[]): void {
    const held = slots.filter(({ state }) => state !== 'free')
    if (held.length === 0 || this.#isUp(connection)) {
      this.#downSince.delete(connection)
      return
    }
    const now = performance.now()
    const since = this.#downSince.get(connection) ?? now
    this.#downSince.set(connection, since)
    if (this.#workers < 2 || now - since < this.#unreachableMs || held.some(({ state }) => state !== 'ready')) return
    if (!mayHandOver(slots, now)) return
    this.#downSince.delete(connection)
    this.#deps.log.warn({ connection }, 'sms: the connection is given up to another process, as it is down here')
    this.#giveUp(held, true)
  }

  #giveUp(slots: readonly Slot[], isUnreachable: boolean): void {
    for (const slot of slots) slot.state = 'leaving'
    for (const slot of slots) void this.#leave(slot, isUnreachable).catch((error) => this.#report(error))
  }

  /** Gives up a slot once its submits have ended: a message that another process submits then is a later one. */
  async #leave(slot: Slot, isUnreachable: boolean): Promise<void> {
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
      await store.releaseLeases(this.#db, this.owner, [slot.name], isUnreachable)
      if (isUnreachable) slot.givenUp = { at: performance.now(), isOurs: true, isFree: true }
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
