import { uriOf, userOf } from './uri.ts'

/** A telephone number of a SIP or tel URI (RFC 3261, 19.1.6; RFC 3966), or the user of another kind as it stands. */
export type Telephone = {
  /** Without parameters; a local number with the country code that its context names. */
  readonly user: string
  /** What the carrier found when it verified the caller's number, such as TN-Validation-Passed (3GPP TS 24.229, 7.2A.20; RFC 8224). */
  readonly verstat: string | null
  /** The number portability database was asked, and where a ported number is routed to (RFC 4694). */
  readonly npdi: boolean
  readonly rn: string | null
}

const paramsOf = (parts: readonly string[]): Map<string, string> =>
  new Map(
    parts.map((part) => {
      const [name = '', ...value] = part.split('=')
      return [name.trim().toLowerCase(), value.join('=').trim()]
    }),
  )

const bare = (number: string): string => number.replace(/[().\s-]/g, '')

/** A local number, with the calling code of a context that is one; Italy writes its leading zero abroad too. */
const inContext = (number: string, context = ''): string => {
  const code = bare(context)
  if (!/^\+\d{1,14}$/.test(code) || !/^\d+$/.test(bare(number))) return number
  return `${code}${code === '+39' ? bare(number) : bare(number).replace(/^0/, '')}`
}

const decoded = (text: string): string | null => {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Null when the URI names no user. */
export const telephoneOf = (text: string): Telephone | null => {
  const uri = uriOf(text)
  const whole = uri ? userOf(uri) : decoded(/^tel:(.+)$/is.exec(text)?.[1] ?? '')
  if (!whole) return null
  const [user = '', ...parts] = whole.split(';')
  const params = paramsOf(parts)
  const verstat = params.get('verstat') ?? uri?.params.get('verstat') ?? ''
  const rn = bare(params.get('rn') ?? '')
  return {
    user: inContext(user, params.get('phone-context')),
    verstat: /^[\w-]{1,64}$/.test(verstat) ? verstat : null,
    npdi: params.has('npdi'),
    rn: /^\+?[\da-f]{1,32}$/i.test(rn) ? inContext(rn, params.get('rn-context')) : null,
  }
}
