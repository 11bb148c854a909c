import { formatNumber, numberDetails } from '@trunkline/phone/phone.ts'
import type { NumberRow } from '../../../domains/numbers/lifecycle/ops.ts'
import type { FoundNumber } from '../../../domains/numbers/purchase/ops.ts'
import { printSid } from '../../../platform/lib/sid.ts'
import type { NumberAddresses } from '../store.ts'
import { rfc2822 } from '../times.ts'
import { presentVoice } from './voice-settings.ts'

/** Features of the group of a number. */
type Able = readonly string[]

const capabilitiesOf = (able: Able) => ({
  voice: able.includes('voice'),
  sms: able.includes('sms_in') || able.includes('sms_out'),
  mms: false,
  fax: false,
})

const typeNames: { readonly [type in NumberRow['type']]: string } = {
  local: 'local',
  mobile: 'mobile',
  tollfree: 'toll-free',
  national: 'national',
  global: 'national',
  sharedcost: 'national',
}

/** Maps a number of the account to its form in Twilio's interface. */
export const presentNumber = (row: NumberRow, addresses: NumberAddresses, able: Able) => {
  const account = printSid('AC', row.account_id)
  const sid = printSid('PN', row.id)
  const uri = `/2010-04-01/Accounts/${account}/IncomingPhoneNumbers/${sid}`
  const { sms_url, sms_method, sms_fallback_url, sms_fallback_method } = addresses
  return {
    sid,
    account_sid: account,
    phone_number: row.number,
    friendly_name: row.friendly_name,
    api_version: '2010-04-01' as const,
    capabilities: capabilitiesOf(able),
    ...{ sms_url, sms_method, sms_fallback_url, sms_fallback_method, sms_application_sid: '' },
    ...presentVoice(row),
    voice_caller_id_lookup: false,
    voice_receive_mode: 'voice',
    trunk_sid: null,
    address_requirements: 'none',
    address_sid: null,
    bundle_sid: null,
    identity_sid: null,
    emergency_status: 'Inactive',
    emergency_address_sid: null,
    emergency_address_status: 'unregistered',
    beta: false,
    origin: 'twilio',
    status: 'in-use',
    type: typeNames[row.type],
    subresource_uris: { assigned_add_ons: `${uri}/AssignedAddOns.json` },
    date_created: rfc2822(row.created_at),
    date_updated: rfc2822(row.updated_at),
    uri: `${uri}.json`,
  }
}

/** Maps a free number. */
export const presentFound = ({ number, group }: FoundNumber, able: Able) => ({
  phone_number: number,
  friendly_name: numberDetails(number)?.formatNational() ?? formatNumber(number),
  iso_country: group.iso_country_code,
  region: group.region_name,
  locality: group.location,
  rate_center: null,
  lata: null,
  latitude: null,
  longitude: null,
  postal_code: null,
  address_requirements: group.needs_registration ? 'any' : 'none',
  beta: false,
  capabilities: capabilitiesOf(able),
})
