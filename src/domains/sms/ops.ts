import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { Account } from '../../platform/http/auth.ts'
import { refuse } from '../../platform/http/problem.ts'
import { cancelJob } from '../../platform/jobs/ops.ts'
import type { Clock } from '../../platform/lib/clock.ts'
import { uuid } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { formatSegmentation, quoteFor, segmentFor } from './accept/quote.ts'
import { cancelScheduledMessage } from './cancellation.ts'
import { maxScheduleAheadMs, maxTextLength } from './limits.ts'
import { presentMessage } from './message-presenter.ts'
import { countMissing } from './receipts/receipt-query-store.ts'
import { refusals } from './refusals.ts'
import { cancelSending } from './sendings/cancel-sending.ts'
import { listOpenSendings } from './sendings/store.ts'
import * as store from './store.ts'

/** A message to send; numbers are in E.164. */
export type OutgoingMessage = { from: string; to: string; text: string; sendAt: Date | null }

type SendDeps = Pick<Services, 'db' | 'accept' | 'channels' | 'prices' | 'routing' | 'sandboxAccounts'>

/** Returns the channel of a sender if it may send. @throws the 403 or 404 Problem */
export const requireSender = (channel: store.ChannelRow | null, from: string, isSandbox: boolean): store.ChannelRow => {
  if (!channel) throw refusals.unknownSender(from)
  if (channel.suspended) throw refusals.numberSuspended(from)
  if (channel.stock && !isSandbox) throw refusals.sandboxNumber(from)
  if (!channel.supports_sms_out) throw refusals.cannotSend(from)
  return channel
}

/**
 * Sends a message from a number of an account. Resolves once the message is durable, or part of `tx`.
 * @returns the id of the message
 * @throws the 402, 403, 404, 422 or 503 Problem
 */
export const sendMessage = async (
  { db, accept, channels, prices, routing, sandboxAccounts }: SendDeps,
  tx: Tx | null,
  account: Pick<Account, 'id' | 'a2pUs'>,
  { from, to, text, sendAt }: OutgoingMessage,
): Promise<string> => {
  const { decision, pricePerSegment } = quoteFor({ routing, prices, sandboxAccounts }, account, to)

  const known = channels.find(account.id, from, tx ?? db)
  const found = known instanceof Promise ? await known : known
  const channel = requireSender(found, from, sandboxAccounts.has(account.id))

  const keeping = routing.ensurePersisted(decision)
  if (keeping) await keeping
  const segments = segmentFor(text, decision)
  const { header } = decision
  const fragments = segments.parts.length
  const id = uuid()
  await accept.accept(
    {
      account: account.id,
      id,
      channel: channel.id,
      number: from,
      contact: to,
      text,
      encoding: segments.encoding,
      fragments,
      price: pricePerSegment * fragments,
      sendAt,
      decision: decision.id,
      long: formatSegmentation(header, segments.shift),
      plan: { decision, header, segments },
    },
    tx,
  )
  return id
}

/** Checks the length of a text. @throws Problem 400 */
export const checkLength = (text: string): string =>
  text.length <= maxTextLength ? text : refuse(refusals.textTooLong(text.length, maxTextLength))

/** Returns the time at which a message is sent; null: at once. @throws Problem 400 for more than a year ahead */
export const sendTimeOf = (clock: Pick<Clock, 'now'>, given: string | undefined): Date | null => {
  if (given === undefined) return null
  const at = new Date(given)
  const ahead = at.getTime() - clock.now()
  if (ahead > maxScheduleAheadMs) throw refusals.sendAtTooFar()
  return ahead > 0 ? at : null
}

/** Whether messages of an account to a number go to the sandbox's handsets. */
export const isSimulated = (
  { routing, sandboxAccounts }: Pick<SendDeps, 'routing' | 'sandboxAccounts'>,
  account: string,
  to: string,
): boolean => routing.decide(to, sandboxAccounts.has(account)).isSimulated

/** Sends a message whose text only the recipient may read; threads and events show `shown`. @returns the message id */
export const sendSecretMessage = async (
  sending: SendDeps,
  tx: Tx,
  account: Pick<Account, 'id' | 'a2pUs'>,
  { shown, ...secret }: Omit<OutgoingMessage, 'sendAt'> & { shown: string },
): Promise<string> => {
  const id = await sendMessage(sending, tx, account, { ...secret, sendAt: null })
  // The job holds the real text and is deleted at its end.
  await store.setText(tx, account.id, id, shown)
  return id
}

/** Returns the oldest number of an account that can send; null if there is none.
 *  @param isSandbox whether sandbox numbers count: for sandbox accounts, while the sandbox is on */
export const firstSender = (sql: Sql, account: string, isSandbox: boolean): Promise<string | null> =>
  store.firstSender(sql, account, isSandbox)

/** Cancels and refunds the scheduled messages of an account, and those of its sendings that are not submitted yet.
 *  @returns the number of canceled messages */
export const cancelScheduled = async (tx: Tx, account: string): Promise<number> => {
  let count = 0
  // A message that a worker has begun to submit is sent.
  for (const { id } of await store.scheduledMessages(tx, account))
    if ((await cancelJob(tx, id)) && (await cancelScheduledMessage(tx, account, id))) count++
  for (const sending of await listOpenSendings(tx, account)) count += await cancelSending(tx, sending)
  return count
}

/** Returns messages of an account in the form of the API, by their bare ids. */
export const messagesById = async (sql: Sql, account: string, ids: readonly string[]) =>
  new Map((await store.messagesById(sql, account, ids)).map((row) => [row.id, presentMessage(row)]))

/** Missing receipts of a connection. */
export type ReceiptCounts = Awaited<ReturnType<typeof countMissing>>[number]

/** Counts missing receipts by connection, for operators. */
export const countMissingReceipts = async (sql: Sql): Promise<ReadonlyMap<string, ReceiptCounts>> =>
  new Map((await countMissing(sql)).map((row) => [row.connection_id, row]))
