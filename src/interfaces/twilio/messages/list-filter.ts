import { e164 } from '@trunkline/phone/phone.ts'
import { channelOfNumber, type Filter } from '../../../domains/sms/ops.ts'
import type { Sql } from '../../../platform/db/sql.ts'
import { boundOf } from '../../../platform/http/paging.ts'
import { daysOf } from '../day-filter.ts'

/** The filters of a list of messages, as requested. */
type MessageQuery = {
  readonly To?: string
  readonly From?: string
  readonly DateSent?: string
  readonly 'DateSent<'?: string
  readonly 'DateSent>'?: string
}

/** Filters of the domain, and the key that precedes the list; null if nothing can match. */
type MessageFilter = {
  readonly filter: Pick<Filter, 'channel' | 'contact' | 'direction' | 'since'>
  readonly bound: readonly string[] | null
}

/** One end of the messages: a number of the account, or a contact. */
type End = { readonly number: string; readonly channel: string | null }

const endOf = async (sql: Sql, account: string, text: string | undefined): Promise<End | null> => {
  if (text === undefined) return null
  const number = e164(text) ?? text
  const channel = await channelOfNumber(sql, account, number)
  return { number, channel: channel?.id ?? null }
}

/**
 * Returns the filters of the domain. `To` of an inbound message and `From` of an outbound one are the account's numbers, so
 * each says the direction, too. Twilio's days are those of sending; ours are those of acceptance.
 * @throws Problem 400 for a false day
 */
export const filterOf = async (sql: Sql, account: string, query: MessageQuery): Promise<MessageFilter | null> => {
  const days = daysOf(query, 'DateSent')
  const [to, from] = [await endOf(sql, account, query.To), await endOf(sql, account, query.From)]
  const bound = days.until === null ? null : boundOf(days.until.toISOString())
  if (!to && !from) return { filter: { channel: null, contact: null, direction: null, since: days.since }, bound }
  // A message between two numbers of the account is found as the outbound one.
  const isOutbound = from ? from.channel !== null : to?.channel === null
  const [own, other] = isOutbound ? [from, to] : [to, from]
  // There are no messages between two contacts.
  if (own && own.channel === null) return null
  return {
    filter: {
      channel: own?.channel ?? null,
      contact: other?.number ?? null,
      direction: isOutbound ? 'outbound' : 'inbound',
      since: days.since,
    },
    bound,
  }
}
