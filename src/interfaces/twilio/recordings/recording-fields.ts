import type { RecordingRow } from '../../../domains/calls/compat/ops.ts'
import { printSid } from '../../../platform/lib/sid.ts'
import { sourceOf } from '../callbacks/call-parameters.ts'
import { rfc2822 } from '../times.ts'

/** States of a recording in progress that a request has just made. */
export type RecordingState = 'in-progress' | 'paused' | 'stopped'

/** Maps a recording to its form in Twilio's interface. @param state of one in progress @param mediaUrl of a complete one */
export const presentRecording = (
  row: RecordingRow,
  mediaUrl: (account: string, id: string) => string,
  state: RecordingState = 'in-progress',
) => {
  const account = printSid('AC', row.account_id)
  const sid = printSid('RE', row.id)
  const isReady = row.ready_at !== null
  return {
    sid,
    account_sid: account,
    call_sid: printSid('CA', row.call_id),
    conference_sid: null,
    api_version: '2010-04-01' as const,
    status: isReady ? ('completed' as const) : state,
    channels: row.channels,
    track: 'both' as const,
    source: sourceOf(row),
    duration: isReady ? String(Math.round(Number(row.seconds))) : null,
    start_time: rfc2822(row.created_at),
    price: null,
    price_unit: 'USD' as const,
    error_code: null,
    encryption_details: null,
    media_url: isReady ? mediaUrl(row.account_id, row.id) : null,
    date_created: rfc2822(row.created_at),
    date_updated: rfc2822(row.ready_at ?? row.created_at),
    uri: `/2010-04-01/Accounts/${account}/Recordings/${sid}.json`,
    subresource_uris: {},
  }
}
