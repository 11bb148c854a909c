import type { ChatChecked } from '../../connectors/chat-port.ts'
import { describe } from '../../lib/phone.ts'
import { placeOf } from '../../lib/places.ts'

/** What is known of any number, offline; null for one that cannot exist. Digits alone are read as if a `+` stood before. */
export const known = (given: string) => {
  const text = given.trim()
  const parsed = /^\+?[\d\s().-]+$/.test(text) ? describe(text.startsWith('+') ? text : `+${text}`) : undefined
  if (!parsed?.isValid()) return null
  return {
    e164: String(parsed.number),
    number: {
      iso_country_code: parsed.country ?? '',
      ...placeOf(parsed.countryCallingCode, parsed.nationalNumber),
    },
  }
}

type Known = NonNullable<ReturnType<typeof known>>

/** Without what is not known. */
const present = <T extends object>(fields: { [K in keyof T]: T[K] | null | undefined }) =>
  // Whatever is null or undefined is taken out.
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)) as {
    [K in keyof T]?: T[K]
  }

/**
 * The result of a check (interface.md 4.7).
 * @param found null when the network did not answer
 * @param full whether status text and business information may be told
 */
export const shownCheck = ({ number }: Known, found: ChatChecked | null, full: boolean) => {
  const base = { is_valid: true, number }
  if (!found || found.there === 'unknown') return { ...base, on_msgapp_unknown: true }
  if (found.there === 'no') return { ...base, on_msgapp: false }
  const { business, status } = found
  const { enterprise, business_hours, map_pin, website, categories, ...told } = business ?? {}
  return {
    ...base,
    on_msgapp: true,
    msgapp_info: {
      ...present({
        number_id: found.id,
        contact_profile_pic: found.picture,
        verified_name: told.verified_name,
        short_name: told.short_name,
        pushname: found.pushname,
        verified_level: told.verified_level,
        status_text: full ? status : null,
      }),
      is_business: business !== null,
      is_enterprise: enterprise ?? false,
      ...(full && business
        ? {
            business_information: {
              ...told,
              ...present({ business_hours, map_pin }),
              ...(website ? { website: [...website] } : {}),
              ...(categories ? { categories: [...categories] } : {}),
            },
          }
        : {}),
    },
  }
}
