import type { Db } from '../../../platform/db/sql.ts'
import { type JobKind, Snooze } from '../../../platform/jobs/job-kind.ts'
import { lockById } from '../apply-store.ts'
import { changeConversations } from '../change-conversation.ts'
import { untagBatchSize } from '../limits.ts'
import * as store from './store.ts'

export const untagKind = 'inbox.untag'

export type UntagPayload = { readonly tag: string }

/** Takes a deleted tag from the conversations that have it. */
export const untagJob = ({ db }: { readonly db: Db }): JobKind => {
  const untagSome = (account: string, tag: string) =>
    db.begin(async (tx) => {
      const rows = await lockById(tx, account, await store.tagged(tx, account, tag, untagBatchSize))
      await changeConversations(tx, rows, ({ tags }) => ({ tags: tags.filter((one) => one !== tag) }), null, true)
      return rows.length > 0
    })
  const kind: JobKind<UntagPayload, void> = {
    kind: untagKind,
    concurrency: 1,
    leaseSeconds: 30,
    maxAttempts: 20,
    fair: true,
    run: async ({ account, payload }, signal) => {
      while (await untagSome(account ?? '', payload.tag)) if (signal.aborted) throw new Snooze('the worker stops', 0)
    },
  }
  // All jobs of this kind are added by the routes.
  return kind as JobKind
}
