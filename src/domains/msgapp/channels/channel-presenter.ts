import { iso } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import type { ChannelRow } from './store.ts'

/** Returns the age of the last round trip with the network, if there was one. */
export const presentProof = ({ proof_age }: Pick<ChannelRow, 'proof_age'>) =>
  proof_age === null ? {} : { proof_age_seconds: Math.max(0, Math.round(proof_age)) }

/** Maps a channel to its API form (interface.md 2.16). */
export const presentChannel = (row: ChannelRow) => ({
  id: print('WPN', row.id),
  uuid: print('WPN', row.id),
  friendly_name: row.friendly_name,
  phone_number: row.phone_number,
  iso_country_code: row.iso_country_code,
  pushname: row.pushname,
  server: row.server || `${row.phone_number.slice(1)}@c.us`,
  platform: row.platform,
  connection_status: row.connection_status,
  reason: row.reason,
  ...presentProof(row),
  enabled: row.enabled,
  is_business_profile: row.is_business,
  channel_type: 'WW',
  sync_contacts: row.sync_contacts,
  timezone: row.timezone,
  lang: row.lang,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
})

/** Maps a channel to the event of its status change. */
export const presentStatus = (row: ChannelRow) => ({
  ...presentChannel(row),
  channel_uuid: print('WPN', row.id),
  channel_phone_number: row.phone_number,
})
