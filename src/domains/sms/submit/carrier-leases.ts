import type { Worker } from '../../../platform/jobs/consume/worker.ts'
import type { JobKind } from '../../../platform/jobs/job-kind.ts'
import { notify } from '../../../platform/jobs/queue.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { SmsShare } from '../../../ports/sms.ts'

/** A connection that may be leased, and its number of slots. */
export type LeasableConnection = { readonly id: string; readonly slots: number }

/** Where the messages of a pair are submitted over a connection: here, by the process that runs the jobs of a kind, or
 *  nowhere at this moment. */
export type SubmitPlace = 'here' | 'nowhere' | { readonly kind: string }

/** What a lease needs of the process. */
export type LeaseEffects = {
  isUp(connection: string): boolean
  /** Connects and closes carriers until each has the share of `shareOf`. */
  apply(): Promise<void>
}

/** Runs messages that other processes passed on, or left behind. */
export type SlotRunner = {
  /** Messages that waited here may have been submitted by another process since. */
  recheck(): void
  /** A message of a pair that waits in the queue: later ones must not pass it. */
  expect(pair: string, id: string, seconds: number): void
  /** Makes the jobs of a slot. */
  jobKindOf(kind: string, connection: string): JobKind
}

/**
 * Leases of SMS connections. Each connection has slots, and a process submits the messages of the slots that it holds: the
 * pace, the window, the binds and the order of a pair hold over all processes. Decision 0054 has the reasons.
 *
 * The process that holds the lease `queue` reads the queue of messages. It holds the first slot of each connection, and
 * passes messages of slots that it does not hold on to the processes that do. A process that cannot reach a carrier gives
 * its slots up to another one, which is its substitute: the first slot may then be with a process that does not read the queue.
 */
export type CarrierLeases = {
  /** Id of this process in leases. Its worker has the same, so that another process can take over its jobs. */
  readonly owner: string
  /** Whether this process claims messages. */
  readsQueue(): boolean
  shareOf(connection: string): SmsShare
  placeOf(connection: string, pair: string): SubmitPlace
  /** Whether another process is connected that submits the messages of the pair over the connection. */
  isUpElsewhere(connection: string, pair: string): boolean
  /** Whether submits may begin: the leases are valid. */
  isCurrent(): boolean
  /** Begins a submit. Returns a function that ends it, or null if the slot of the pair is not held here. */
  enter(connection: string, pair: string): (() => void) | null
  /** Whether another process may submit messages that this one cannot. */
  hasOthersUp(): boolean
  /** Whether another process held a slot of the connection within the last minute. */
  hadOtherOwner(connection: string): boolean
  /** Kinds of the jobs of all slots. */
  slotKinds(): readonly string[]
  /** Wakes the process that runs jobs of a kind. */
  wake(kind: string): void
  /** Sets the connections to lease, and resolves once this process has its share of them. */
  update(connections: readonly LeasableConnection[]): Promise<void>
  /** Called when a connection went up or down. */
  linkChanged(): void
  setRunner(runner: SlotRunner): void
  setWorker(worker: Pick<Worker, 'add'>): Promise<void>
  start(effects: LeaseEffects): void
  /** @param end closes the carriers, before their leases are released */
  close(end: () => Promise<void>): Promise<void>
}

const ignore = () => {}
const whole: SmsShare = { held: 1, of: 1 }
const none: readonly string[] = []

/** Leases of a process that is alone on its database: it holds everything, and asks nothing. */
export const soleLeases = (): CarrierLeases => {
  let apply = async () => {}
  return {
    owner: uuid(),
    readsQueue: () => true,
    isCurrent: () => true,
    shareOf: () => whole,
    placeOf: () => 'here',
    isUpElsewhere: () => false,
    enter: () => ignore,
    hasOthersUp: () => false,
    hadOtherOwner: () => false,
    slotKinds: () => none,
    wake: notify,
    update: () => apply(),
    linkChanged: ignore,
    setRunner: ignore,
    setWorker: async () => {},
    start: (effects) => {
      apply = effects.apply
    },
    close: (end) => end(),
  }
}
