import type { Tx } from '../../db/sql.ts'
import type { Kind } from '../../jobs/kind.ts'
import { enqueue, enqueueAll } from '../../jobs/queue.ts'
import type { Media } from './ops.ts'
import * as store from './store.ts'

const kind = 'msgapp.media.discard'

/** `digest` in hexadecimal. */
type Payload = { readonly digest: string }

/** Has bytes that a message had taken out of the store, once no other has them. */
export const askToDiscard = (tx: Tx, account: string, digest: Buffer) =>
  enqueue(tx, kind, { digest: digest.toString('hex') } satisfies Payload, { account })

/** The same for the bytes of many, by one statement. */
export const askToDiscardAll = (tx: Tx, files: readonly { account_id: string; digest: Buffer }[]) =>
  enqueueAll(
    tx,
    kind,
    files.map(({ account_id: account, digest }) => ({
      payload: { digest: digest.toString('hex') } satisfies Payload,
      account,
    })),
  )

/** Whether so many are still to be taken away. */
export const isBehind = (tx: Tx, most: number): Promise<boolean> => store.hasJobs(tx, kind, most)

/** Takes bytes that nobody has any more out of the store. A store that is away is tried for some 20 hours. */
export const discarding = (media: Pick<Media, 'discard'>): Kind => {
  const made: Kind<Payload, void> = {
    kind,
    // Each holds a connection of the database while the store answers, 40 s at most.
    concurrency: 1,
    leaseSeconds: 60,
    maxAttempts: 30,
    fair: true,
    run: ({ account, payload }) => media.discard(account ?? '', Buffer.from(payload.digest, 'hex')),
  }
  // Everything of this kind was added above.
  return made as Kind
}
