import { formatNumber } from '@trunkline/phone/phone.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import { decimal, dollars, micros } from '../../../platform/lib/money.ts'
import { flag } from '../catalogue/features.ts'
import type { NumberRow } from './virtual-number-store.ts'

const usd = (numeric: string) => dollars(micros(numeric) ?? 0)

const statuses = {
  ACTIVE: 1,
  AWAITING_REGISTRATION: 2,
  PENDING_ACTIVATION: 2,
  SUSPENDED: 3,
  PENDING_CANCELLATION: 4,
  RELEASED: 4,
}

const presentVoice = ({ voice, inbound_user_id: user }: Pick<NumberRow, 'voice' | 'inbound_user_id'>) => {
  if (user) return { kind: 'user' as const, user_uuid: print('USR', user) }
  if (!voice) return { kind: 'none' as const }
  if (voice.kind === 'application')
    return { kind: 'application' as const, application_uuid: print('APP', voice.application) }
  const { kind, url, method, fallback_url, fallback_method } = voice
  return { kind, url, method, fallback_url, fallback_method }
}

/** Presents a virtual number for responses and events. */
export const presentNumber = (row: NumberRow) => ({
  uuid: print('DID', row.id),
  account_uuid: print('ACC', row.account_id),
  phone_number: row.number,
  formatted_phone_number: formatNumber(row.number),
  iso_country_code: row.iso_country_code,
  region_name: row.region_name,
  emoji: flag(row.iso_country_code),
  friendly_name: row.friendly_name,
  record_inbound: row.record_inbound,
  is_toll_free: row.type === 'tollfree',
  provider_type: row.type === 'sharedcost' ? ('shared-cost' as const) : row.type,
  priced_per_minute: usd(row.ppm) > 0,
  incoming_price_per_minute: usd(row.ppm),
  monthly_price: decimal(micros(row.monthly_price) ?? 0),
  ivr_uuid: null,
  inbound_user_uuid: row.inbound_user_id ? print('USR', row.inbound_user_id) : null,
  voice: presentVoice(row),
  timezone: row.timezone,
  status: statuses[row.status_text],
  status_text: row.status_text,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  expires_at: iso(row.expires_at),
})
