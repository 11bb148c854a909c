import { currentNumber } from '@trunkline/phone/number-forms.ts'
import { numberDetails } from '@trunkline/phone/phone.ts'
import { geocodeNumber } from '../../../platform/lib/phone-geocoding.ts'
import type { ChatNumberCheck } from '../../../ports/chat.ts'

/** Offline facts about a number; null for an impossible one. Digits without a `+` are accepted. */
export const numberFacts = (number: string) => {
  const text = number.trim()
  const parsed = /^\+?[\d\s().-]+$/.test(text) ? numberDetails(currentNumber(`+${text.replace(/\D/g, '')}`)) : undefined
  if (!parsed?.isPossible()) return null
  return {
    e164: String(parsed.number),
    number: {
      iso_country_code: parsed.country ?? '',
      ...geocodeNumber(parsed.countryCallingCode, parsed.nationalNumber),
    },
  }
}

type NumberFacts = NonNullable<ReturnType<typeof numberFacts>>

/** Omits unknown fields. */
const withoutUnknown = <T extends object>(fields: { [K in keyof T]: T[K] | null | undefined }) =>
  // Null and undefined fields are removed.
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)) as {
    [K in keyof T]?: T[K]
  }

/**
 * Maps a check to its API form (interface.md 4.7).
 * @param found null if the network did not answer
 * @param full whether to include status text and business information
 */
export const presentCheck = ({ number }: NumberFacts, found: ChatNumberCheck | null, full: boolean) => {
  const base = { is_valid: true, number }
  if (!found || found.there === 'unknown') return { ...base, on_msgapp_unknown: true }
  if (found.there === 'no') return { ...base, on_msgapp: false }
  const { business, status } = found
  const { enterprise, business_hours, map_pin, website, categories, ...details } = business ?? {}
  return {
    ...base,
    on_msgapp: true,
    msgapp_info: {
      ...withoutUnknown({
        number_id: found.id,
        contact_profile_pic: found.picture,
        verified_name: details.verified_name,
        short_name: details.short_name,
        pushname: found.pushname,
        verified_level: details.verified_level,
        status_text: full ? status : null,
      }),
      is_business: business !== null,
      is_enterprise: enterprise ?? false,
      ...(full && business
        ? {
            business_information: {
              ...details,
              ...withoutUnknown({ business_hours, map_pin }),
              ...(website ? { website: [...website] } : {}),
              ...(categories ? { categories: [...categories] } : {}),
            },
          }
        : {}),
    },
  }
}
