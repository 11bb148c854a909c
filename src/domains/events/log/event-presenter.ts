import { iso } from '../../../platform/lib/clock.ts'
import { type Prefix, print } from '../../../platform/lib/id.ts'
import type { Contents } from '../../inbox/narrowing/ops.ts'
import { redactPayload } from '../contents/ops.ts'
import type { EventRow } from './store.ts'

const prefixOf = (name: string): Prefix =>
  name.startsWith('sms.') ? 'SMS' : name.startsWith('call.') ? 'DID' : name.startsWith('msgapp.') ? 'WPN' : 'DID'

/** Presents an event. @param contents that the reader may see */
export const presentEvent = (row: EventRow, contents: Contents) => ({
  uuid: print('EVT', row.id),
  name: row.name,
  at: iso(row.created_at),
  ...(row.channel_id === null ? {} : { channel_uuid: print(prefixOf(row.name), row.channel_id) }),
  ...(row.webhook_id === null ? {} : { test: true as const }),
  payload: JSON.parse(redactPayload(row.name, row.payload, contents)),
})
