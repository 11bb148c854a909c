import type { Kind } from '../jobs/kind.ts'
import type { Parts } from '../parts.ts'
import * as inventory from './inventory.ts'
import { giveBack } from './ops.ts'
import { endJob, orderJob, unreserveJob } from './ordering.ts'
import { type Deadline, endDays } from './registration.ts'
import { type Due, renew } from './renewal.ts'
import { syncJob } from './syncing.ts'

/** Ends reservations when their time has come, and gives their numbers back. */
const expireReservations: Kind<inventory.Expiring> = {
  kind: 'numbers.expire',
  concurrency: 256,
  leaseSeconds: 30,
  maxAttempts: 20,
  fair: true,
  settle: async (tx, done) =>
    giveBack(
      tx,
      await inventory.expire(
        tx,
        done.map(({ job }) => job.payload),
      ),
    ),
}

/** Ends the quarantine of released numbers. */
const endQuarantine: Kind<{ number: string }> = {
  kind: 'numbers.rested',
  concurrency: 256,
  leaseSeconds: 30,
  maxAttempts: 20,
  fair: true,
  settle: async (tx, done) =>
    giveBack(
      tx,
      await inventory.lockRested(
        tx,
        done.map(({ job }) => job.payload.number),
      ),
    ),
}

/** Renews numbers at the end of their paid month. By account, as other statements lock balances. */
const renewNumbers = ({ changes, config }: Parts): Kind<Due> => ({
  kind: 'numbers.renew',
  concurrency: 64,
  batch: 16,
  leaseSeconds: 30,
  maxAttempts: 20,
  fair: true,
  settle: async (tx, done) => {
    const due = done.map(({ job }) => job.payload).sort((a, b) => (a.account < b.account ? -1 : 1))
    for (const one of due) await renew(tx, changes, one, config.quarantineDays)
  },
})

/** Suspends numbers whose registration is still not complete when its days are over. */
const endRegistrations = ({ changes }: Parts): Kind<Deadline> => ({
  kind: 'numbers.registration',
  concurrency: 64,
  batch: 16,
  leaseSeconds: 30,
  maxAttempts: 20,
  fair: true,
  settle: async (tx, done) => {
    const due = done.map(({ job }) => job.payload).sort((a, b) => (a.id < b.id ? -1 : 1))
    for (const one of due) await endDays(tx, { changes }, one)
  },
})

/** The background work of this folder. */
export const numberJobs = (parts: Parts): readonly Kind[] => [
  expireReservations,
  endQuarantine,
  renewNumbers(parts),
  endRegistrations(parts),
  syncJob(parts),
  orderJob(parts),
  endJob(parts),
  unreserveJob(parts),
]
