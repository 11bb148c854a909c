import { uriOf, userOf } from './uri.ts'

/**
 * The telephone number of a SIP or tel URI (RFC 3261, 19.1.6; RFC 3966). For another kind of user: the user as
 * received.
 */
export type TelephoneNumber = {
  /** Without parameters. A local number gets the country code of its phone-context. */
  readonly user: string
  /**
   * The carrier's verification result of the caller's number, such as TN-Validation-Passed (3GPP TS 24.229, 7.2A.20;
   * RFC 8224).
   */
  readonly verstat: string | null
  /** True when number portability was queried, and the routing number of a ported number (RFC 4694). */
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

const withoutSeparators = (number: string): string => number.replace(/[().\s-]/g, '')

/** Adds the calling code of a global phone-context to a local number. Italian numbers keep their leading zero. */
const inContext = (number: string, context = ''): string => {
  const code = withoutSeparators(context)
  if (!/^\+\d{1,14}$/.test(code) || !/^\d+$/.test(withoutSeparators(number))) return number
  return `${code}${code === '+39' ? withoutSeparators(number) : withoutSeparators(number).replace(/^0/, '')}`
}

const decodeUser = (text: string): string | null => {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Null when the URI has no user. */
export const telephoneNumberOf = (text: string): TelephoneNumber | null => {
  const uri = uriOf(text)
  const whole = uri ? userOf(uri) : decodeUser(/^tel:(.+)$/is.exec(text)?.[1] ?? '')
  if (!whole) return null
  const [user = '', ...parts] = whole.split(';')
  const params = paramsOf(parts)
  const verstat = params.get('verstat') ?? uri?.params.get('verstat') ?? ''
  const rn = withoutSeparators(params.get('rn') ?? '')
  return {
    user: inContext(user, params.get('phone-context')),
    verstat: /^[\w-]{1,64}$/.test(verstat) ? verstat : null,
    npdi: params.has('npdi'),
    rn: /^\+?[\da-f]{1,32}$/i.test(rn) ? inContext(rn, params.get('rn-context')) : null,
  }
}
