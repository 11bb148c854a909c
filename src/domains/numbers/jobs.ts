import type { JobKind } from '../../platform/jobs/job-kind.ts'
import type { Services } from '../../services.ts'
import { type RenewalPayload, renew } from './lifecycle/renewal.ts'
import { returnNumbers } from './ops.ts'
import * as inventory from './purchase/inventory-store.ts'
import { type Deadline, enforceDeadline } from './registration/registration.ts'
import { endJob, orderJob, unreserveJob } from './suppliers/supplier-order-job.ts'
import { syncJob } from './suppliers/supplier-sync.ts'

/** Expires due reservations and frees their numbers. */
const expireReservations: JobKind<inventory.ExpiringReservation> = {
  kind: 'numbers.expire',
  concurrency: 256,
  leaseSeconds: 30,
  maxAttempts: 20,
  fair: true,
  onComplete: async (tx, done) =>
    returnNumbers(
      tx,
      await inventory.expire(
        tx,
        done.map(({ job }) => job.payload),
      ),
    ),
}

/** Ends the quarantine of released numbers. */
const endQuarantine: JobKind<{ number: string }> = {
  kind: 'numbers.rested',
  concurrency: 256,
  leaseSeconds: 30,
  maxAttempts: 20,
  fair: true,
  onComplete: async (tx, done) =>
    returnNumbers(
      tx,
      await inventory.lockAfterQuarantine(
        tx,
        done.map(({ job }) => job.payload.number),
      ),
    ),
}

/** Renews numbers at the end of their paid month, sorted by account (docs/locks.md). */
const renewNumbers = ({ changes, config }: Services): JobKind<RenewalPayload> => ({
  kind: 'numbers.renew',
  concurrency: 64,
  batch: 16,
  leaseSeconds: 30,
  maxAttempts: 20,
  fair: true,
  onComplete: async (tx, done) => {
    const due = done.map(({ job }) => job.payload).sort((a, b) => (a.account < b.account ? -1 : 1))
    for (const one of due) await renew(tx, changes, one, config.quarantineDays)
  },
})

/** Suspends numbers whose registration is incomplete at its deadline. */
const endRegistrations = ({ changes }: Services): JobKind<Deadline> => ({
  kind: 'numbers.registration',
  concurrency: 64,
  batch: 16,
  leaseSeconds: 30,
  maxAttempts: 20,
  fair: true,
  onComplete: async (tx, done) => {
    const due = done.map(({ job }) => job.payload).sort((a, b) => (a.id < b.id ? -1 : 1))
    for (const one of due) await enforceDeadline(tx, { changes }, one)
  },
})

/** Returns the jobs of this domain. */
export const numberJobs = (parts: Services): readonly JobKind[] => [
  expireReservations,
  endQuarantine,
  renewNumbers(parts),
  endRegistrations(parts),
  syncJob(parts),
  orderJob(parts),
  endJob(parts),
  unreserveJob(parts),
]
