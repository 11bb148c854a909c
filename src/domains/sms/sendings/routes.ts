import type { Sql, Tx } from '../../../platform/db/sql.ts'
import type { Account } from '../../../platform/http/auth.ts'
import { ok, route, routeHotPath } from '../../../platform/http/endpoint.ts'
import { cursorsOf } from '../../../platform/http/list-cursor.ts'
import { cutPage, requestedPage, totalFields } from '../../../platform/http/paging.ts'
import { Problem, refuse } from '../../../platform/http/problem.ts'
import { notify } from '../../../platform/jobs/queue.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { makeFairLimiter } from '../../../platform/lib/fair-limiter.ts'
import { parse, print, uuid } from '../../../platform/lib/id.ts'
import { decimal, dollars, micros } from '../../../platform/lib/money.ts'
import type { Services } from '../../../services.ts'
import { type NarrowingCall, narrowingOf } from '../../inbox/narrowing/ops.ts'
import { assertKeysMaySpend, countKeySpending } from '../../ledger/ops.ts'
import { refusals as ledgerRefusals } from '../../ledger/refusals.ts'
import { batchPayload } from '../batch.ts'
import { maxBatchMessages, sendingRequests } from '../limits.ts'
import { refusals } from '../refusals.ts'
import { forceIndexPlans } from '../state-transition-store.ts'
import type { Refusal, Status, ValidMessage } from '../store.ts'
import { batchKind, submitKind } from '../submit/message-slots.ts'
import { cancelSending } from './cancel-sending.ts'
import * as c from './contract.ts'
import { messagesOf, pointAt, readMessages } from './read-messages.ts'
import { type SendingStatus, sendingStatuses } from './statuses.ts'
import * as store from './store.ts'

const presentSending = (row: store.SendingRow) => ({
  uuid: print('SND', row.id),
  state: row.state,
  from_number: row.number,
  text: row.text,
  accepted: row.accepted,
  refused: row.refused,
  price: dollars(micros(row.price) ?? 0),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

const unsubmitted: ReadonlySet<Status> = new Set(['queued', 'scheduled', 'sending'])

/** Returns a sending with its progress. A sending without messages to submit is completed, though it may not be marked
 *  yet. */
const presentProgress = (row: store.SendingRow, counts: readonly { status: Status; messages: number }[]) => {
  const isOver = row.state === 'running' && counts.every(({ status }) => !unsubmitted.has(status))
  const found = new Map<string, number>(counts.map(({ status, messages }) => [status, messages]))
  return {
    ...presentSending(isOver ? { ...row, state: 'completed' } : row),
    counts: Object.fromEntries(sendingStatuses.map((status) => [status, found.get(status) ?? 0])) as {
      // The object has exactly these keys.
      [status in SendingStatus]: number
    },
  }
}

/** Divides messages into batches of nearly equal size. */
const batchesOf = (sending: string, messages: readonly ValidMessage[]): store.SendingBatch[] => {
  const count = Math.ceil(messages.length / maxBatchMessages)
  const size = Math.ceil(messages.length / count)
  return Array.from({ length: count }, (_, i) => ({
    id: uuid(),
    payload: { ...batchPayload(messages.slice(i * size, (i + 1) * size)), sending },
  }))
}

const problemOf = (reason: Refusal, { contact, number, price }: ValidMessage): Problem =>
  reason === 'opted_out' ? refusals.optedOut(contact, number) : ledgerRefusals.insufficientBalance(decimal(price))

const presentOutcome = (outcome: ValidMessage | Problem) =>
  outcome instanceof Problem
    ? {
        status: outcome.status,
        error_code: outcome.code,
        error_message: outcome.message,
        ...(outcome.fields[0] === undefined ? {} : { field: outcome.fields[0] }),
      }
    : { message_uuid: print('SMO', outcome.id) }

const cursors = cursorsOf(c.listSmsSendings)

type SendDeps = Pick<
  Services,
  'db' | 'config' | 'channels' | 'prices' | 'routing' | 'sandboxAccounts' | 'rateLimiter' | 'changes'
>

/** Accepts a sending. Keys with a daily spend limit count its price with it, or refuse it as a whole.
 *  @returns the refused messages, in order */
const acceptSending = async (
  { db, config: { optOut } }: SendDeps,
  tx: Tx | null,
  limitedKeys: Account['limitedKeys'],
  sending: store.NewSending,
): Promise<store.RefusedMessage[]> => {
  if (limitedKeys === null) return await store.acceptSending(tx ?? db, sending, optOut)
  const work = async (own: Tx) => {
    const refused = await store.acceptSending(own, sending, optOut)
    const left = new Set(refused.map(({ index }) => index))
    const price = sending.messages.reduce((sum, { price }, index) => sum + (left.has(index) ? 0 : price), 0)
    await assertKeysMaySpend(own, sending.account, limitedKeys, price)
    await countKeySpending(own, sending.account, limitedKeys, price)
    return refused
  }
  return await (tx ? work(tx) : db.begin(work))
}

/** Accepts the messages of a request. @returns its reply */
const sendMany = async (
  deps: SendDeps,
  tx: Tx | null,
  { account, user, messages }: { account: Account; user: string | null; messages: ReturnType<typeof messagesOf> },
) => {
  const sql = tx ?? deps.db
  // The request itself was counted on its arrival.
  await deps.rateLimiter.takeMore(sql, account, messages.length - 1)
  const outcomes = await readMessages(deps, sql, account, messages)
  const places: number[] = []
  const valid: ValidMessage[] = []
  for (const [i, outcome] of outcomes.entries()) {
    if (outcome instanceof Problem) continue
    places.push(i)
    valid.push(outcome)
  }
  const id = uuid()
  const sending = { account: account.id, id, user, refused: outcomes.length - valid.length, messages: valid }
  const refused =
    valid.length === 0
      ? []
      : await acceptSending(deps, tx, account.limitedKeys, { ...sending, batches: batchesOf(id, valid) })
  let balanceEndedAt: number | null = null
  for (const { index, reason } of refused) {
    const [place, message] = [places[index], valid[index]]
    const given = place === undefined ? undefined : messages[place]
    if (place === undefined || !message || !given) continue
    outcomes[place] = pointAt(problemOf(reason, message), given.pointers)
    if (reason === 'balance') balanceEndedAt ??= place
  }
  const accepted = valid.length - refused.length
  if (accepted > 0) {
    if (tx) tx.afterCommit(() => notify(batchKind))
    else notify(batchKind)
  }
  return ok({
    ...(accepted > 0 ? { sending_uuid: print('SND', id) } : {}),
    accepted,
    refused: outcomes.length - accepted,
    ...(balanceEndedAt === null ? {} : { balance_ended_at: balanceEndedAt }),
    messages: outcomes.map(presentOutcome),
  })
}

export const sendingRoutes = (parts: Services) => {
  const { db, changes } = parts
  const limiter = makeFairLimiter({ ...sendingRequests, full: refusals.tooManyWaiting })

  const find = async (sql: Sql, call: NarrowingCall, printed: string): Promise<store.SendingRow> => {
    const id = parse('SND', printed)
    const narrowing = await narrowingOf(sql, call)
    return (id && (await store.find(sql, call.account.id, id, narrowing))) || refuse(refusals.unknownSending(printed))
  }

  const progress = async (sql: Sql, call: NarrowingCall, printed: string) => {
    const row = await find(sql, call, printed)
    return ok({ sending: presentProgress(row, await store.counts(sql, row.account_id, row.id)) })
  }

  /** Locks a sending. @throws Problem 404 */
  const lock = async (tx: Tx, call: NarrowingCall, printed: string): Promise<store.SendingIds> => {
    const { account_id, id } = await find(tx, call, printed)
    return (await store.lock(tx, account_id, id)) ?? refuse(refusals.unknownSending(printed))
  }

  /** True if the sending has a message that is not submitted yet. @throws Problem 409 */
  const assertOpen = async (tx: Tx, { account_id, id, state }: store.SendingIds, printed: string): Promise<void> => {
    const counts = await store.counts(tx, account_id, id)
    const isOver = counts.every(({ status }) => !unsubmitted.has(status))
    if (state === 'canceled' || state === 'completed' || isOver)
      throw refusals.sendingEnded(printed, state === 'canceled' ? state : 'completed')
  }

  return [
    routeHotPath(c.sendManySms, async ({ account, body, tx, request }) => {
      const messages = messagesOf(body)
      if (messages.length > account.requestsPerMinute)
        throw refusals.moreThanRate(messages.length, account.requestsPerMinute)
      const sending = { account, user: request.sessionAccount?.userId ?? null, messages }
      // A request with a transaction has had its turn, and must not wait with a connection.
      if (tx) return await sendMany(parts, tx, sending)
      return await limiter.run(account.id, () => sendMany(parts, null, sending))
    }),

    route(c.listSmsSendings, async ({ query, ...call }) => {
      const { account } = call
      const narrowing = await narrowingOf(db, call)
      const asked = requestedPage(query, cursors.key(query.cursor))
      const found = await store.page(db, account.id, narrowing, asked.read)
      const { rows, fields } = cutPage(asked, found, ({ at, id }) => cursors.write({ time: at, id }))
      const total = totalFields(await store.total(db, account.id, narrowing))
      return ok({ ...fields, ...total, sendings: rows.map(presentSending) })
    }),

    route(c.getSmsSending, ({ params, ...call }) => progress(db, call, params.sending_uuid)),

    route(c.pauseSmsSending, async ({ params: { sending_uuid: printed }, tx, ...call }) => {
      const sending = await lock(tx, call, printed)
      if (sending.state !== 'paused') {
        await assertOpen(tx, sending, printed)
        await forceIndexPlans(tx)
        await store.setState(tx, sending, 'paused')
        await store.holdJobs(tx, sending)
        await changes.invalidate(tx, 'sendings')
      }
      return await progress(tx, call, printed)
    }),

    route(c.resumeSmsSending, async ({ params: { sending_uuid: printed }, tx, ...call }) => {
      const sending = await lock(tx, call, printed)
      if (sending.state === 'canceled' || sending.state === 'completed')
        throw refusals.sendingEnded(printed, sending.state)
      if (sending.state === 'paused') {
        await forceIndexPlans(tx)
        await store.setState(tx, sending, 'running')
        await store.releaseJobs(tx, sending)
        await changes.invalidate(tx, 'sendings')
        tx.afterCommit(() => {
          for (const kind of [batchKind, submitKind]) notify(kind)
        })
      }
      return await progress(tx, call, printed)
    }),

    route(c.cancelSmsSending, async ({ params: { sending_uuid: printed }, tx, ...call }) => {
      const sending = await lock(tx, call, printed)
      if (sending.state !== 'canceled') {
        await assertOpen(tx, sending, printed)
        await cancelSending(tx, sending)
        await changes.invalidate(tx, 'sendings')
      }
      return await progress(tx, call, printed)
    }),
  ]
}
