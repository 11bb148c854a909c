import type { MessageRow, Status } from '../../../domains/sms/ops.ts'
import { decimal, micros } from '../../../platform/lib/money.ts'
import { printSid } from '../../../platform/lib/sid.ts'
import { rfc2822 } from '../times.ts'

/** Statuses of Twilio by ours. Whether an `unknown` one was delivered was never learnt: it was submitted. */
const statuses = {
  received: 'received',
  scheduled: 'scheduled',
  queued: 'queued',
  sending: 'sending',
  sent: 'sent',
  delivered: 'delivered',
  undelivered: 'undelivered',
  rejected: 'undelivered',
  expired: 'undelivered',
  failed: 'failed',
  canceled: 'canceled',
  unknown: 'sent',
} as const satisfies { readonly [status in Status]: string }

type TwilioStatus = (typeof statuses)[Status]

export const statusOf = (status: Status): TwilioStatus => statuses[status]

type Reason = { readonly code: number; readonly text: string }

const unreachable: Reason = { code: 30003, text: 'Unreachable destination handset' }
const filtered: Reason = { code: 30007, text: 'Message filtered' }
const unknownError: Reason = { code: 30008, text: 'Unknown error' }
const expired: Reason = { code: 30036, text: 'Validity period expired' }

/** By our own codes of failed messages; codes of carriers are of many kinds. */
const byCode: ReadonlyMap<string, Reason> = new Map(
  Object.entries({
    validity: expired,
    opted_out: { code: 21610, text: 'Recipient has opted out' },
    no_route: { code: 30008, text: 'No carrier takes the message' },
  }),
)

const byStatus: { readonly [status in Status]?: Reason } = {
  undelivered: unreachable,
  rejected: filtered,
  expired,
  failed: unknownError,
}

/** Returns Twilio's code of a failure; null for a message that has not failed. */
export const reasonOf = (status: Status, error: string | null): Reason | null =>
  (error !== null && status !== 'delivered' && status !== 'sent' ? byCode.get(error) : undefined) ??
  byStatus[status] ??
  null

/** Statuses after which the price does not change. */
const isFinal = (status: Status): boolean => !['scheduled', 'queued', 'sending'].includes(status)

/** Returns the SID of a message: one with files begins with MM. */
export const messageSid = ({ id, media_ids }: Pick<MessageRow, 'id' | 'media_ids'>): string =>
  printSid(media_ids === null ? 'SM' : 'MM', id)

type MediaOwner = Pick<MessageRow, 'id' | 'media_ids' | 'created_at'>

/** Returns the path of the files of a message. */
export const mediaPath = (account: string, row: MediaOwner): string =>
  `/2010-04-01/Accounts/${printSid('AC', account)}/Messages/${messageSid(row)}/Media`

/** Maps a file of a message to its form in Twilio's interface, with a temporary link. */
export const presentMedia = (
  account: string,
  row: MediaOwner,
  { id, mimeType, url }: { readonly id: string; readonly mimeType: string; readonly url: string },
) => {
  const sid = printSid('ME', id)
  return {
    sid,
    account_sid: printSid('AC', account),
    parent_sid: messageSid(row),
    content_type: mimeType,
    date_created: rfc2822(row.created_at),
    date_updated: rfc2822(row.created_at),
    uri: `${mediaPath(account, row)}/${sid}.json`,
    url,
  }
}

/** The fields of a message that its form shows. */
export type PresentedMessage = Pick<
  MessageRow,
  | 'id'
  | 'direction'
  | 'contact'
  | 'number'
  | 'text'
  | 'fragments'
  | 'price'
  | 'status'
  | 'error_code'
  | 'created_at'
  | 'updated_at'
  | 'media_ids'
>

/** Maps a message to its form in Twilio's interface. */
export const presentMessage = (account: string, row: PresentedMessage) => {
  const accountSid = printSid('AC', account)
  const sid = messageSid(row)
  const uri = `/2010-04-01/Accounts/${accountSid}/Messages/${sid}`
  const isOutbound = row.direction === 'outbound'
  const reason = reasonOf(row.status, row.error_code)
  const price = micros(row.price) ?? 0
  const wasSent = !isOutbound || (isFinal(row.status) && row.status !== 'failed' && row.status !== 'canceled')
  return {
    sid,
    account_sid: accountSid,
    messaging_service_sid: null,
    api_version: '2010-04-01' as const,
    from: isOutbound ? row.number : row.contact,
    to: isOutbound ? row.contact : row.number,
    body: row.text,
    direction: isOutbound ? ('outbound-api' as const) : ('inbound' as const),
    status: statusOf(row.status),
    num_segments: String(row.fragments),
    num_media: String(row.media_ids?.length ?? 0),
    price: isFinal(row.status) ? decimal(price === 0 ? 0 : -price) : null,
    price_unit: 'USD' as const,
    error_code: reason?.code ?? null,
    error_message: reason?.text ?? null,
    date_created: rfc2822(row.created_at),
    date_updated: rfc2822(row.updated_at),
    date_sent: wasSent ? rfc2822(row.updated_at) : null,
    uri: `${uri}.json`,
    subresource_uris: { media: `${uri}/Media.json` },
  }
}
