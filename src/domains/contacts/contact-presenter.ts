import { iso } from '../../platform/lib/clock.ts'
import { print } from '../../platform/lib/id.ts'
import { mapFields } from './contact-fields.ts'
import type { DetailRow } from './details.ts'
import type { ContactRow } from './store.ts'

/** A contact with its details. */
export type Contact = ContactRow & { readonly details: readonly DetailRow[] }

/** Maps a contact to its form in responses and events. */
export const presentContact = (row: Contact) => ({
  uuid: print('CON', row.id),
  ...mapFields((name) => row[name]),
  ...(row.channel_id ? { channel_uuid: print('WPN', row.channel_id) } : {}),
  ...(row.sync_state
    ? {
        sync: {
          state: row.sync_state,
          ...(row.sync_error === null ? {} : { error: row.sync_error }),
          ...(row.synced_at ? { synced_at: iso(row.synced_at) } : {}),
        },
      }
    : {}),
  details: row.details.map(({ id, value, type, label, extension, created_at, updated_at }) => ({
    id,
    value,
    type,
    ...(label === null ? {} : { label }),
    ...(extension === null ? {} : { extension }),
    created_at,
    updated_at,
  })),
  blocked: row.blocked_at !== null,
  ...(row.blocked_at ? { blocked_at: iso(row.blocked_at) } : {}),
  created_at: iso(row.created_at),
  last_updated: iso(row.updated_at ?? row.created_at),
})
