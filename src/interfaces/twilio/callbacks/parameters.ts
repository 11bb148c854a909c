import type { MessageRow, Status } from '../../../domains/sms/ops.ts'
import { printSid } from '../../../platform/lib/sid.ts'
import { messageSid, reasonOf, statusOf } from '../messages/presenter.ts'
import type { Parameters } from './signature.ts'

/** A status of a message, with our code of a failure. */
export type StatusChange = { readonly status: Status; readonly error: string | null }

const apiVersion = '2010-04-01'

/** Returns the date of a receipt as in receipts of SMPP: YYMMDDhhmm. */
const doneDate = (at: Date): string => at.toISOString().replace(/\D/g, '').slice(2, 12)

/** Returns the parameters of the report of a status. */
export const statusParameters = (account: string, row: MessageRow, { status, error }: StatusChange): Parameters => {
  const reason = reasonOf(status, error)
  const shown = statusOf(status)
  const sid = messageSid(row)
  return {
    MessageSid: sid,
    SmsSid: sid,
    MessageStatus: shown,
    SmsStatus: shown,
    To: row.contact,
    From: row.number,
    AccountSid: printSid('AC', account),
    ApiVersion: apiVersion,
    ...(reason === null ? {} : { ErrorCode: String(reason.code), ErrorMessage: reason.text }),
    ...(status === 'delivered' || status === 'undelivered' ? { RawDlrDoneDate: doneDate(row.updated_at) } : {}),
  }
}

/** A file of a message, with a temporary link to it. */
type MessageFile = { readonly url: string; readonly mimeType: string }

/** Returns the parameters of an inbound message. */
export const inboundParameters = (account: string, row: MessageRow, files: readonly MessageFile[]): Parameters => {
  const sid = messageSid(row)
  return {
    MessageSid: sid,
    SmsSid: sid,
    SmsMessageSid: sid,
    AccountSid: printSid('AC', account),
    From: row.contact,
    To: row.number,
    Body: row.text,
    NumSegments: String(row.fragments),
    NumMedia: String(files.length),
    ...Object.fromEntries(
      files.flatMap(({ url, mimeType }, n) => [
        [`MediaUrl${n}`, url],
        [`MediaContentType${n}`, mimeType],
      ]),
    ),
    SmsStatus: 'received',
    ApiVersion: apiVersion,
  }
}
