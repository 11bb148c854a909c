import type { Tx } from '../../platform/db/sql.ts'
import { enqueueAll } from '../../platform/jobs/queue.ts'
import { delaySeconds } from './limits.ts'
import * as store from './store.ts'

/** Kinds of the jobs: one decides who is notified, the other delivers to one browser. */
export const planKind = 'push.plan'
export const deliverKind = 'push.deliver'

/** A reason to notify members. Ids have no prefix. */
export type Notice = {
  readonly kind: 'message' | 'missed_call' | 'mention' | 'call'
  readonly conversation: string
  /** The message, call or note. */
  readonly item: string
  /** Members to notify; null: the assignee, or else all who answer. */
  readonly users: readonly string[] | null
}

/** Payload of a job that decides who is notified. */
export type PlanPayload = Notice

/** Payload of a job that delivers to one browser. */
export type DeliverPayload = {
  readonly subscription: string
  readonly kind: Notice['kind'] | 'test' | 'close'
  /** Null for a test. */
  readonly conversation: string | null
  readonly item: string | null
}

/**
 * Requests notifications in the transaction of their cause. They are decided 5 s later, those of a call at once. A
 * conversation whose notification to all is on its way gets no second one. That costs one statement in an account where
 * no member has a browser.
 */
export const requestNotices = async (tx: Tx, account: string, notices: readonly Notice[]): Promise<void> => {
  const shared = new Map(
    notices.filter(({ users }) => users === null).map((one) => [`${one.conversation} ${one.kind}`, one]),
  )
  const marked =
    shared.size === 0
      ? []
      : await store.markPending(
          tx,
          account,
          [...shared.values()].map(({ conversation, kind }) => ({ id: conversation, kind })),
        )
  const due = [
    ...marked.flatMap(({ conversation_id, kind }) => shared.get(`${conversation_id} ${kind}`) ?? []),
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
 * Withdraws the notifications of a conversation: it was read, answered or closed.
 * @param user null: those of all members @param until the item up to which the user has read; null: all
 */
export const withdrawNotices = async (
  tx: Tx,
  account: string,
  conversation: string,
  { user, until }: { readonly user: string | null; readonly until: string | null },
): Promise<void> => {
  const subscriptions = await store.takeShown(tx, { account, conversation, user, until })
  if (subscriptions.length === 0) return
  await enqueueAll(
    tx,
    deliverKind,
    subscriptions.map((subscription) => ({
      payload: { subscription, kind: 'close', conversation, item: null } satisfies DeliverPayload,
      account,
    })),
  )
}
