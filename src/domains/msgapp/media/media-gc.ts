import type { Tx } from '../../../platform/db/sql.ts'
import type { JobKind } from '../../../platform/jobs/job-kind.ts'
import { enqueue, enqueueAll } from '../../../platform/jobs/queue.ts'
import * as store from './store.ts'

const kind = 'msgapp.media.discard'

/** `digest` in hexadecimal. */
type Payload = { readonly digest: string }

/** Requests deletion of a message's bytes from the store, unless another message has them. */
export const requestDeletion = (tx: Tx, account: string, digest: Buffer) =>
  enqueue(tx, kind, { digest: digest.toString('hex') } satisfies Payload, { account })

/** Requests deletion of many files' bytes in one statement. */
export const requestDeletions = (tx: Tx, files: readonly { account_id: string; digest: Buffer }[]) =>
  enqueueAll(
    tx,
    kind,
    files.map(({ account_id: account, digest }) => ({
      payload: { digest: digest.toString('hex') } satisfies Payload,
      account,
    })),
  )

/** Whether at least this many deletions are pending. */
export const isBehind = (tx: Tx, most: number): Promise<boolean> => store.hasJobs(tx, kind, most)

/** Deletes bytes from the store that no message has any more. An unavailable store is retried for some 20 hours. */
export const mediaGc = (media: { discard(account: string, digest: Buffer): Promise<void> }): JobKind => {
  const jobKind: JobKind<Payload, void> = {
    kind,
    // Each job holds a database connection while the store answers, 40 s at most.
    concurrency: 1,
    leaseSeconds: 60,
    maxAttempts: 30,
    fair: true,
    run: ({ account, payload }) => media.discard(account ?? '', Buffer.from(payload.digest, 'hex')),
  }
  // All jobs of this kind were added above.
  return jobKind as JobKind
}
