import type { Tx } from '../../platform/db/sql.ts'
import type { Metrics } from '../../platform/http/metrics.ts'
import { enqueueAll } from '../../platform/jobs/queue.ts'
import { delaySeconds } from './limits.ts'
import * as store from './store.ts'

/** Kinds of the jobs: one decides who is notified, the other delivers to one browser. */
export const planKind = 'push.plan'
export const deliverKind = 'push.deliver'

/** Makes the counter of notifications. */
export const makePushCounter = (metrics: Metrics) =>
  metrics.counter('trunkline_push_messages_total', 'Notifications by Web Push, by outcome', ['outcome'])

/** A reason to notify members. Ids have no prefix. */
export type Notice = {
  readonly kind: 'message' | 'missed_call' | 'mention' | 'call'
  /** The conversation; of `call` the call that rings. */
  readonly subject: string
  /** The message, call or note. */
  readonly item: string
  /** Members to notify. Null: the assignee, or else all who answer; the user whom a call rings. */
  readonly users: readonly string[] | null
}

/** Payload of a job that decides who is notified. */
export type PlanPayload = Notice

/** Payload of a job that delivers to one browser. */
export type DeliverPayload = {
  readonly subscription: string
  readonly kind: Notice['kind'] | 'test' | 'close'
  /** Null for a test. */
  readonly subject: string | null
  readonly item: string | null
}

/**
 * Requests notifications in the transaction of their cause. They are decided 5 s later, those of a call at once. A
 * conversation whose notification to all is on its way gets no second one. That costs one statement in an account where
 * no member has a browser.
 */
export const requestNotices = async (tx: Tx, account: string, notices: readonly Notice[]): Promise<void> => {
  const shared = new Map(
    notices.filter(({ users }) => users === null).map((one) => [`${one.subject} ${one.kind}`, one]),
  )
  const marked =
    shared.size === 0
      ? []
      : await store.markPending(
          tx,
          account,
          [...shared.values()].map(({ subject, kind }) => ({ id: subject, kind })),
        )
  const due = [
    ...marked.flatMap(({ subject_id, kind }) => shared.get(`${subject_id} ${kind}`) ?? []),
    ...notices.filter(({ users }) => users !== null && users.length > 0),
  ]
  if (due.length === 0) return
  const now = await store.now(tx)
  await enqueueAll(
    tx,
    planKind,
    due.map((notice) => ({
      payload: { ...notice } satisfies PlanPayload,
      account,
      runAt: notice.kind === 'call' ? now : new Date(now.getTime() + delaySeconds * 1_000),
    })),
  )
}

/**
 * Withdraws the notifications of conversations and calls: they were read, answered or closed.
 * @param user null: those of all members @param until the item up to which the user has read; null: all
 */
export const withdrawNotices = async (
  tx: Tx,
  account: string,
  subjects: readonly string[],
  { user, until }: { readonly user: string | null; readonly until: string | null } = { user: null, until: null },
): Promise<void> => {
  if (subjects.length === 0) return
  const rows = await store.takeShown(tx, { account, subjects, user, until })
  if (rows.length === 0) return
  await enqueueAll(
    tx,
    deliverKind,
    rows.map(({ subscription_id: subscription, subject_id: subject }) => ({
      payload: { subscription, kind: 'close', subject, item: null } satisfies DeliverPayload,
      account,
    })),
  )
}
