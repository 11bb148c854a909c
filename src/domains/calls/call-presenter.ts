import { iso } from '../../platform/lib/clock.ts'
import { print } from '../../platform/lib/id.ts'
import { dollars, micros } from '../../platform/lib/money.ts'
import type { CallRow } from './store.ts'

/** Returns the link to the first recording of a call that is left. */
export type RecordingLink = (account: string, call: string) => string

/** Returns who called. A call that no user placed is that of the number which it shows. */
const fromOf = ({ direction, user_id, from_number, virtual_number_id, caller_id_used }: CallRow): string => {
  if (direction === 'I') return from_number ?? ''
  if (user_id) return print('USR', user_id)
  return virtual_number_id ? print('DID', virtual_number_id) : caller_id_used
}

/** Returns a call in the form of the API. */
export const presentCall = (row: CallRow, linkOf?: RecordingLink) => {
  const start = row.answered_at ? iso(row.answered_at) : null
  const end = row.ended_at ? iso(row.ended_at) : null
  return {
    uuid: print('CDR', row.id),
    account_uuid: print('ACC', row.account_id),
    callid: row.callid,
    direction: row.direction,
    active: end === null,
    from: fromOf(row),
    to_number: row.to_number,
    iso_country_code: row.iso_country_code,
    status: row.status,
    ...(row.end_reason === null ? {} : { end_reason: row.end_reason }),
    is_msgapp_call: row.is_msgapp,
    is_sip_trunk_call: row.is_trunk,
    ...(row.caller_id ? { caller_id_uuid: print('VCI', row.caller_id) } : {}),
    caller_id_used: row.caller_id_used,
    ...(row.verstat === null ? {} : { verstat: row.verstat }),
    ...(row.npdi ? { npdi: true } : {}),
    ...(row.rn === null ? {} : { rn: row.rn }),
    ...(row.diverted_from === null ? {} : { diverted_from: row.diverted_from }),
    duration: row.duration,
    ...(row.quality === null ? {} : { quality: row.quality }),
    ...(row.recorded_at && linkOf ? { recording_url: linkOf(row.account_id, row.id) } : {}),
    ...(start ? { start_time: start } : {}),
    ...(end ? { end_time: end } : {}),
    ...(row.user_id ? { agent_id: print('USR', row.user_id) } : {}),
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
    call_cost: {
      callid: row.callid,
      forwarded: row.forwarded,
      toll_free: row.toll_free,
      ...(start ? { start_dt: start } : {}),
      ...(start && end ? { end_dt: end } : {}),
      duration: row.billed,
      call_price: dollars(micros(row.price) ?? 0),
    },
  }
}
