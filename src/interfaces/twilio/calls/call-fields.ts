import { formatNumber } from '@trunkline/phone/phone.ts'
import { type CallRow, describeCall } from '../../../domains/calls/compat/ops.ts'
import { decimal, micros } from '../../../platform/lib/money.ts'
import { printSid } from '../../../platform/lib/sid.ts'
import { callStatusOf, partyOf } from '../callbacks/call-parameters.ts'
import { rfc2822 } from '../times.ts'
import type { TwilioCallStatus } from './statuses.ts'

/** Returns the status that Twilio has for a call: `queued` until it is placed, then `initiated` until it rings. */
export const statusOf = ({ status, queued }: Pick<CallRow, 'status' | 'queued'>): TwilioCallStatus =>
  status === 'QUEUED' && !queued ? 'initiated' : callStatusOf(status)

/** A call that a person made has no parent of its own here: it is shown as the side that was dialled. */
const directionOf = (row: CallRow) => {
  if (row.direction === 'I') return 'inbound' as const
  return describeCall(row).origin === 'api' ? ('outbound-api' as const) : ('outbound-dial' as const)
}

/** Maps a call to its form in Twilio's interface. */
export const presentCall = (row: CallRow) => {
  const account = printSid('AC', row.account_id)
  const sid = printSid('CA', row.id)
  const uri = `/2010-04-01/Accounts/${account}/Calls/${sid}`
  const from = partyOf(row.direction === 'I' ? (row.from_number ?? '') : row.caller_id_used)
  const to = partyOf(row.to_number)
  const hasEnded = row.ended_at !== null
  const price = micros(row.price) ?? 0
  return {
    sid,
    account_sid: account,
    parent_call_sid: row.parent_id === null ? null : printSid('CA', row.parent_id),
    api_version: '2010-04-01' as const,
    from,
    from_formatted: formatNumber(from),
    to,
    to_formatted: formatNumber(to),
    phone_number_sid: row.virtual_number_id === null ? null : printSid('PN', row.virtual_number_id),
    status: statusOf(row),
    direction: directionOf(row),
    start_time: row.queued && !hasEnded ? null : rfc2822(row.answered_at ?? row.created_at),
    end_time: row.ended_at === null ? null : rfc2822(row.ended_at),
    duration: hasEnded ? String(row.duration) : null,
    price: hasEnded ? decimal(price === 0 ? 0 : -price) : null,
    price_unit: 'USD' as const,
    answered_by: null,
    forwarded_from: row.diverted_from,
    caller_name: null,
    group_sid: null,
    trunk_sid: null,
    annotation: null,
    queue_time: '0',
    date_created: rfc2822(row.created_at),
    date_updated: rfc2822(row.updated_at),
    uri: `${uri}.json`,
    subresource_uris: { recordings: `${uri}/Recordings.json`, streams: `${uri}/Streams.json` },
  }
}
