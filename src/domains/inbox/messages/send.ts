import type { Tx } from '../../../platform/db/sql.ts'
import type { Account } from '../../../platform/http/auth.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { print } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { checkSendRequest, sendMessage as sendOnMessagingApp } from '../../msgapp/messages/ops.ts'
import { checkLength, sendMessage as sendSms, sendTimeOf } from '../../sms/ops.ts'
import type { ChannelRow } from '../context-store.ts'
import type { ConversationRow } from '../conversation-row.ts'
import { maxChatTextLength } from '../limits.ts'
import { refusals } from '../refusals.ts'

/** A message as an agent writes it. Ids are printed. */
export type WrittenMessage = {
  readonly text?: string
  readonly media_uuid?: string
  readonly template?: { readonly parameters?: readonly string[]; readonly components?: readonly object[] }
  readonly reply_to?: string
  readonly send_at?: string
}

const isNumber = (counterpart: string): boolean => counterpart.startsWith('+')

const sendBySms = async (
  services: Services,
  tx: Tx,
  account: Account,
  { counterpart, number }: ConversationRow,
  { phone_number: from }: ChannelRow,
  { text = '', media_uuid, template, reply_to, send_at }: WrittenMessage,
): Promise<string> => {
  if (media_uuid !== undefined) throw refusals.smsCannot('media')
  if (template !== undefined) throw refusals.smsCannot('template')
  if (reply_to !== undefined) throw refusals.smsCannot('reply_to')
  if (!isNumber(counterpart)) throw refusals.noRecipient(counterpart)
  if (text === '') throw refusals.noContent()
  const sendAt = sendTimeOf(services.clock, send_at)
  return sendSms(services, tx, account, { from, to: number ?? counterpart, text: checkLength(text), sendAt })
}

/** The recipient in the terms of the messaging app. A person whose number is hidden is known to one channel only. */
const recipientOf = ({ counterpart, number, group_id }: ConversationRow, channel: string) => {
  if (group_id !== null) return { to_group_uuid: print('WAG', group_id) }
  if (isNumber(counterpart)) return { to_number: number ?? counterpart }
  const [, own, remote] = /^remote:([0-9a-f-]{36}):(.*)$/s.exec(counterpart) ?? []
  return own === channel && remote !== undefined ? { to_remote_id: remote } : refuse(refusals.noRecipient(counterpart))
}

const sendByApp = async (
  services: Services,
  tx: Tx,
  account: Account,
  conversation: ConversationRow,
  { id: channel, phone_number: from_number }: ChannelRow,
  { text = '', media_uuid, template, reply_to, send_at }: WrittenMessage,
): Promise<string> => {
  if (send_at !== undefined) throw refusals.cannotSchedule()
  if (reply_to !== undefined) throw refusals.cannotQuote()
  if (text === '' && media_uuid === undefined && template === undefined) throw refusals.noContent()
  if (text.length > maxChatTextLength) throw refusals.textTooLong(text.length, maxChatTextLength)
  const request = {
    from_number,
    ...recipientOf(conversation, channel),
    ...(text === '' ? {} : { text }),
    ...(media_uuid === undefined ? {} : { media_uuid }),
    ...(template === undefined ? {} : { template }),
  }
  checkSendRequest(request)
  return sendOnMessagingApp(services, tx, account.id, request, { checksWindow: true })
}

/**
 * Sends a message of a conversation, by the ways that the interface has: they price, charge and check it.
 * @returns the id of the message
 * @throws the 400, 402, 403, 404, 406, 409, 422 or 503 Problem
 */
export const sendOn = (
  services: Services,
  tx: Tx,
  account: Account,
  conversation: ConversationRow,
  channel: ChannelRow,
  message: WrittenMessage,
): Promise<string> =>
  (channel.kind === 'sms' ? sendBySms : sendByApp)(services, tx, account, conversation, channel, message)
