import { type Masking, maskNamed } from '../../../platform/http/confidential.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { type Prefix, print } from '../../../platform/lib/id.ts'
import type { EventRow } from './store.ts'

/** Fields of payloads with the content of messages, and with personal data of contacts. `text` is always masked. */
const contents = new Map<string, Masking>(
  [
    ...['previous_text', 'media', 'pin', 'template', 'reaction', 'reactions', 'contact'],
    ...['contact_details', 'first_name', 'last_name', 'profile_pic_url'],
  ].map((name) => [name, 'whole']),
)

const prefixOf = (name: string): Prefix =>
  name.startsWith('sms.') ? 'SMS' : name.startsWith('call.') ? 'DID' : name.startsWith('msgapp.') ? 'WPN' : 'DID'

/** Presents an event. @param showsContents false masks what people wrote */
export const presentEvent = (row: EventRow, showsContents: boolean) => {
  const payload = JSON.parse(row.payload)
  return {
    uuid: print('EVT', row.id),
    name: row.name,
    at: iso(row.created_at),
    ...(row.channel_id === null ? {} : { channel_uuid: print(prefixOf(row.name), row.channel_id) }),
    ...(row.webhook_id === null ? {} : { test: true as const }),
    payload: showsContents ? payload : Object(maskNamed(contents, payload)),
  }
}
