import { countryBy, numberDetails, parsePhoneNumber } from '@trunkline/phone/phone.ts'
import { route } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import type { Services } from '../../../services.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'

/** Types of lines of Twilio by those of the numbering plans. */
const lineTypes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    MOBILE: 'mobile',
    FIXED_LINE: 'landline',
    FIXED_LINE_OR_MOBILE: 'landline',
    VOIP: 'nonFixedVoip',
    TOLL_FREE: 'tollFree',
    PREMIUM_RATE: 'premium',
    SHARED_COST: 'sharedCost',
    UAN: 'uan',
    VOICEMAIL: 'voicemail',
    PAGER: 'pager',
    PERSONAL_NUMBER: 'personal',
  }),
)

/** The same for the first version, which knows three. */
const carrierTypes: ReadonlyMap<string, string> = new Map(Object.entries({ MOBILE: 'mobile', VOIP: 'voip' }))

const numberOf = (text: string, country: string | undefined): string | null =>
  parsePhoneNumber(text, (country && countryBy(country)) || undefined)

/** Why a number is invalid. */
const faultOf = (text: string): string => {
  const digits = text.replace(/\D/g, '')
  if (digits === '' || /\p{L}/u.test(text)) return 'NOT_A_NUMBER'
  if (digits.length < 7) return 'TOO_SHORT'
  return digits.length > 15 ? 'TOO_LONG' : 'INVALID_LENGTH'
}

export const lookupRoutes = ({ publicUrl }: Pick<Services, 'publicUrl'>) => {
  const urlOf = (version: string, number: string) =>
    `${publicUrl().replace(/\/$/, '')}/${version}/PhoneNumbers/${encodeURIComponent(number)}`

  return [
    route(c.lookUpV1, async ({ params, query }) => {
      const number =
        numberOf(params.PhoneNumber, query.CountryCode) ??
        refuse(refusals.unknownResource(`/PhoneNumbers/${params.PhoneNumber}`))
      const details = numberDetails(number)
      const asksCarrier = [query.Type].flat().includes('carrier')
      const type = carrierTypes.get(String(details?.getType())) ?? 'landline'
      const unknown = { name: null, mobile_country_code: null, mobile_network_code: null, error_code: null }
      return {
        phone_number: number,
        national_format: details?.formatNational() ?? number,
        country_code: details?.country ?? null,
        carrier: asksCarrier ? { ...unknown, type } : null,
        caller_name: null,
        add_ons: null,
        url: urlOf('v1', number),
      }
    }),

    route(c.lookUpV2, async ({ params, query }) => {
      const number = numberOf(params.PhoneNumber, query.CountryCode)
      const details = number === null ? undefined : numberDetails(number)
      const isValid = details?.isValid() ?? false
      const asksType = query.Fields?.split(',').some((one) => one.trim() === 'line_type_intelligence') ?? false
      const fault = number === null ? faultOf(params.PhoneNumber) : 'INVALID_BUT_POSSIBLE'
      const nothing = { carrier_name: null, mobile_country_code: null, mobile_network_code: null, error_code: null }
      return {
        calling_country_code: details?.countryCallingCode ?? null,
        country_code: details?.country ?? null,
        phone_number: number ?? params.PhoneNumber,
        national_format: details?.formatNational() ?? null,
        valid: isValid,
        validation_errors: isValid ? [] : [fault],
        line_type_intelligence:
          asksType && isValid ? { ...nothing, type: lineTypes.get(String(details?.getType())) ?? 'unknown' } : null,
        caller_name: null,
        sim_swap: null,
        call_forwarding: null,
        line_status: null,
        identity_match: null,
        reassigned_number: null,
        sms_pumping_risk: null,
        url: urlOf('v2', number ?? params.PhoneNumber),
      }
    }),
  ]
}
