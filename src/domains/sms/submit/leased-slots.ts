import { giveUpGraceMs, giveUpIntervalMs } from '../limits.ts'
import { leaseName, slotKind } from './message-slots.ts'

// Leases of SMS connections, as a process knows them: see shared-leases.ts.

const ignore = () => {}

/**
 * `taken`: ours, and its messages must be prepared. `ready`: its messages are submitted here. `leaving`: no further submit
 * begins. `ending`: no longer part of the share.
 */
type LeaseState = 'free' | 'taken' | 'ready' | 'leaving' | 'ending'

export type Lease = {
  readonly name: string
  /** Null: no slot, but the queue or the presence of this process. */
  readonly connection: string | null
  /** Kind of the jobs that its holder runs, if there is one. */
  readonly kind: string | null
  state: LeaseState
  /** The owner before us, if its leases ended without a release. */
  lostOwner: string | null
  /** When we took it last, by the monotonic clock. */
  takenAt: number
  /** The other owner, until the given time of the monotonic clock. */
  other: { readonly owner: string; readonly until: number; readonly isUp: boolean } | null
}

/** When an owner gave a lease up, as it could not reach the carrier, by the monotonic clock. */
export type SlotHandover = { readonly at: number; readonly isOurs: boolean; readonly isFree: boolean }

export type Slot = Lease & {
  readonly connection: string
  readonly index: number
  givenUp: SlotHandover | null
  /** Taken from a process that cannot reach the carrier: it counts for no share, and the first slot has jobs of its own. */
  isSubstitute: boolean
  submits: number
  onDrained: () => void
  stopJobs: ((deadline: number) => Promise<void>) | null
}

export const makeLease = (name: string, kind: string | null): Lease => ({
  ...{ name, kind, connection: null, state: 'free', lostOwner: null, other: null },
  takenAt: Number.NEGATIVE_INFINITY,
})

export const makeSlot = (connection: string, index: number): Slot => ({
  ...makeLease(leaseName(connection, index), slotKind(connection, index)),
  ...{ connection, index, givenUp: null, isSubstitute: false, submits: 0, onDrained: ignore, stopJobs: null },
})

export const isSlot = (lease: Lease): lease is Slot => lease.connection !== null

/** Slots that count for the fair share of a process. */
export const countedOf = (held: readonly Slot[]): Slot[] => held.filter(({ isSubstitute }) => !isSubstitute)

/** Whether other processes must know if the connection is up here: they pass messages on to this one. */
export const mattersToOthers = (slots: readonly Slot[]): boolean => slots.length > 1 || slots[0]?.isSubstitute === true

/** Whether we gave a slot up a moment ago: another process may take it. */
export const isLeftToOthers = ({ givenUp }: Slot, now: number): boolean =>
  givenUp?.isOurs === true && now - givenUp.at < giveUpGraceMs

/** Whether the slots of a connection that is down here may go to another process. The carrier itself may be down: so they
 *  change hands once a minute at most. Where another process has slots, too, its link says whether it is. */
export const mayHandOver = (slots: readonly Slot[], now: number): boolean => {
  if (slots.some(({ givenUp }) => givenUp && now - givenUp.at < giveUpIntervalMs)) return false
  const others = slots.flatMap(({ other }) => (other && other.until > now ? other : []))
  return others.length === 0 || others.some(({ isUp }) => isUp)
}

const hasJobs = (lease: Lease): boolean => !isSlot(lease) || lease.index > 0 || lease.isSubstitute

/** Leases whose waiting jobs must be known when some were taken. Messages of a first slot may have returned to the queue. */
export const withDeferred = (taken: readonly Lease[], queue: Lease, slots: readonly Slot[]): Lease[] => {
  const asked = new Set(taken.filter(hasJobs))
  if (!taken.every(hasJobs)) asked.add(queue)
  // Messages for which this process was a substitute, before it took the queue.
  if (asked.has(queue)) for (const slot of slots) if (slot.state !== 'free' && slot.isSubstitute) asked.add(slot)
  return [...asked]
}

/**
 * Kinds of the jobs that some process runs. The first slot of a connection has such jobs with a substitute alone.
 * @param reader owner of the queue, if known
 */
export const servedKinds = (slots: readonly Slot[], reader: string | null): string[] => {
  const isServed = ({ index, state, isSubstitute, other }: Slot) =>
    index > 0 || (state === 'free' ? other !== null && other.owner !== reader : isSubstitute)
  return slots.flatMap((slot) => (slot.kind !== null && isServed(slot) ? slot.kind : []))
}
