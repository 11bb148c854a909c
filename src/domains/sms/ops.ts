import type { ListPage } from '../../platform/db/list-query.ts'
import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { Account } from '../../platform/http/auth.ts'
import { refuse } from '../../platform/http/problem.ts'
import { cancelJob, extendPayload } from '../../platform/jobs/ops.ts'
import { enqueue } from '../../platform/jobs/queue.ts'
import type { Clock } from '../../platform/lib/clock.ts'
import { uuid } from '../../platform/lib/id.ts'
import type { Micros } from '../../platform/lib/money.ts'
import type { Services } from '../../services.ts'
import { removeFiles } from '../msgapp/media/ops.ts'
import { asOnePart, formatSegmentation, preview, quoteFor, segmentFor } from './accept/quote.ts'
import { cancelScheduledMessage } from './cancellation.ts'
import { expireKind, maxScheduleAheadMs, maxTextLength } from './limits.ts'
import { presentMessages } from './mms/media-presenter.ts'
import { attachMedia, type FetchedMedia, fetchMedia, requireMms } from './mms/outbound-media.ts'
import { countMissing } from './receipts/receipt-query-store.ts'
import { refusals } from './refusals.ts'
import { cancelSending } from './sendings/cancel-sending.ts'
import { listOpenSendings } from './sendings/store.ts'
import * as store from './store.ts'

/** A message to send; numbers are in E.164. */
export type OutgoingMessage = {
  from: string
  to: string
  /** May be empty with files. */
  text: string
  sendAt: Date | null
  /** Seconds from its send time after which it is not sent any more. Default: those of the connection. Needs `tx`. */
  validSeconds?: number | null
  /** Address that each change of its status is reported to (src/interfaces/twilio). Needs `tx`. */
  callbackUrl?: string | null
  /** Uploads of its files (MMS). Needs `tx`. Default: none. */
  uploads?: readonly string[]
}

const noUploads: readonly string[] = []

type SendDeps = Pick<Services, 'db' | 'accept' | 'channels' | 'prices' | 'routing' | 'sandboxAccounts'>

/** Returns the channel of a sender if it may send. @throws the 403 or 404 Problem */
export const requireSender = (channel: store.ChannelRow | null, from: string, isSandbox: boolean): store.ChannelRow => {
  if (!channel) throw refusals.unknownSender(from)
  if (channel.suspended) throw refusals.numberSuspended(from)
  if (channel.stock && !isSandbox) throw refusals.sandboxNumber(from)
  if (!channel.supports_sms_out) throw refusals.cannotSend(from)
  return channel
}

/** The account that sends, with the keys that count the price. */
type Sender = Pick<Account, 'id' | 'a2pUs' | 'limitedKeys'>

/** An accepted message, as far as it was not given. */
export type AcceptedMessage = { readonly id: string; readonly fragments: number }

/**
 * Sends a message from a number of an account. Resolves once the message is durable, or part of `tx`.
 * @throws the 402, 403, 404, 406, 422 or 503 Problem
 */
export const acceptMessage = async (
  { db, accept, channels, prices, routing, sandboxAccounts }: SendDeps,
  tx: Tx | null,
  account: Sender,
  { from, to, text, sendAt, validSeconds = null, callbackUrl = null, uploads = noUploads }: OutgoingMessage,
): Promise<AcceptedMessage> => {
  const isMms = uploads.length > 0
  const { decision, pricePerSegment } = quoteFor({ routing, prices, sandboxAccounts }, account, to, isMms)
  if (isMms) requireMms(decision, to)

  const known = channels.find(account.id, from, tx ?? db)
  const found = known instanceof Promise ? await known : known
  const channel = requireSender(found, from, sandboxAccounts.has(account.id))

  const keeping = routing.ensurePersisted(decision)
  if (keeping) await keeping
  const asText = segmentFor(text, decision)
  const segments = isMms ? asOnePart(asText, text) : asText
  const { header } = decision
  const fragments = segments.parts.length
  const id = uuid()
  const message = {
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
  }
  if (account.limitedKeys === null) await accept.accept(message, tx)
  else await accept.acceptCounted(message, tx, account.limitedKeys)
  if (validSeconds !== null && tx) await limitValidity(tx, account.id, { id, sendAt, validSeconds })
  if (callbackUrl !== null && tx) await store.setCallback(tx, account.id, id, callbackUrl)
  if (isMms && tx) await attachMedia(tx, account.id, { id, channel: channel.id }, uploads)
  return { id, fragments }
}

/** Like `acceptMessage`. @returns the id of the message */
export const sendMessage = async (...given: Parameters<typeof acceptMessage>): Promise<string> =>
  (await acceptMessage(...given)).id

/** Limits the validity of a message that the transaction accepted: its submit ends with it, and a job ends its wait. */
const limitValidity = async (
  tx: Tx,
  account: string,
  { id, sendAt, validSeconds }: { id: string; sendAt: Date | null; validSeconds: number },
): Promise<void> => {
  await extendPayload(tx, id, { valid_seconds: validSeconds })
  const from = sendAt?.getTime() ?? (await store.now(tx)).getTime()
  await enqueue(tx, expireKind, { message: id }, { account, runAt: new Date(from + validSeconds * 1_000) })
}

export type FetchedFiles = FetchedMedia

/** Fetches the files of a message before it is sent: see `fetchMedia`. */
export const fetchFiles = fetchMedia

/** Sends a message with files that were fetched (`fetchFiles`). Without a transaction of the request it has its own. */
export const sendFetched = async (
  deps: SendDeps & Pick<Services, 'chat'>,
  tx: Tx | null,
  account: Sender,
  message: OutgoingMessage,
  { uploads, fault }: FetchedFiles,
): Promise<AcceptedMessage> => {
  if (fault) throw fault
  const send = (own: Tx) => acceptMessage(deps, own, account, { ...message, uploads })
  // The transaction of a request holds the files: if it fails, they are deleted after a day, as uploads are.
  if (tx) return await send(tx)
  try {
    return await deps.db.begin(send)
  } catch (error) {
    await deps.chat.media.removeUploads(account.id, uploads)
    throw error
  }
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

/** Returns the price of a message, without sending it. @throws the 422 Problem */
export const priceOf = (
  deps: Pick<SendDeps, 'routing' | 'prices' | 'sandboxAccounts'>,
  account: Pick<Account, 'id' | 'a2pUs'>,
  { to, text, isMms = false }: Pick<OutgoingMessage, 'to' | 'text'> & { readonly isMms?: boolean },
): Micros => {
  const quote = quoteFor(deps, account, to, isMms)
  return isMms ? quote.pricePerSegment : preview(text, quote).price
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
  account: Sender,
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
export const messagesById = async (
  { media }: Pick<Services['chat'], 'media'>,
  sql: Sql,
  account: string,
  ids: readonly string[],
) => {
  const rows = await store.messagesById(sql, account, ids)
  const presented = await presentMessages(media, sql, account, rows)
  return new Map(presented.map((message, n) => [rows[n]?.id ?? '', message]))
}

export type Filter = store.Filter
export type MessageRow = store.MessageRow
export type Status = store.Status

/** Returns a message of an account; null if there is none. */
export const findMessage = (sql: Sql, account: string, id: string): Promise<store.MessageRow | null> =>
  store.message(sql, account, id)

/** Returns a page of an account's messages, newest first: see `page` of store.ts. */
export const pageOfMessages = (sql: Sql, account: string, filter: store.Filter, at: ListPage) =>
  store.page(sql, account, filter, at)

/** Returns the enabled channel of an account's number; null if the number is none of its own. */
export const channelOfNumber = (sql: Sql, account: string, number: string): Promise<store.ChannelRow | null> =>
  store.channelOf(sql, account, number)

/** Cancels and refunds a message before its send time. @returns false if the time has come, or a worker has it */
export const cancelMessage = async (tx: Tx, account: string, id: string): Promise<boolean> =>
  // The message is of the account before its job is ended.
  (await store.message(tx, account, id)) !== null &&
  (await cancelJob(tx, id)) &&
  (await cancelScheduledMessage(tx, account, id))

/** Erases the text of a message that is no longer under way. @returns false for one that is, and for none */
export const eraseText = (tx: Tx, account: string, id: string): Promise<boolean> => store.eraseText(tx, account, id)

/** Deletes the files of a message. */
export const eraseMedia = async (
  tx: Tx,
  account: string,
  { id, media_ids: media }: store.MessageRow,
): Promise<void> => {
  if (media === null) return
  await store.setMedia(tx, account, id, null)
  await removeFiles(tx, account, media)
}

/** Returns the files of a message in order, with temporary links to them. */
export const filesOf = async (
  { media }: Pick<Services['chat'], 'media'>,
  sql: Sql,
  account: string,
  { media_ids: ids }: Pick<store.MessageRow, 'media_ids'>,
) => {
  const rows = new Map((ids ? await media.findAll(sql, account, ids) : []).map((row) => [row.id, row]))
  return (ids ?? []).flatMap((id) => {
    const row = rows.get(id)
    return row ? [{ id, mimeType: row.mime_type, url: media.links.urlOf(account, id) }] : []
  })
}

/** Missing receipts of a connection. */
export type ReceiptCounts = Awaited<ReturnType<typeof countMissing>>[number]

/** Counts missing receipts by connection, for operators. */
export const countMissingReceipts = async (sql: Sql): Promise<ReadonlyMap<string, ReceiptCounts>> =>
  new Map((await countMissing(sql)).map((row) => [row.connection_id, row]))
