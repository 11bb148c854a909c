import { fromOf, type NameAddr, readNameAddr } from './fields.ts'
import { split } from './grammar.ts'
import { headersOf, type SipRequest } from './message.ts'
import { type TelephoneNumber, telephoneNumberOf } from './telephone-number.ts'
import { uriOf } from './uri.ts'

/** The caller of an INVITE, as a trusted peer states it. */
export type CallerIdentity = {
  /** As the peer writes it: of P-Asserted-Identity, else of From; empty if the peer states none. */
  readonly number: string
  /** The number must not be shown (RFC 3323, 4.2; RFC 3325, 7). `number` then is for the operator alone. */
  readonly isWithheld: boolean
  /** The carrier's verification of the number. */
  readonly verstat: string | null
  readonly name: string | null
}

/** `none` requests no privacy, and `history` conceals former destinations only (RFC 7044). */
const withholding = new Set(['id', 'user', 'header', 'session', 'critical'])

/** Users in From in place of a number: the caller withholds it, or it is not known. */
const withheldUsers = /^(?:anonymous|restricted|private|withheld|blocked)$/i
const unknownUsers = /^(?:unavailable|unknown)$/i

/** Display names that carriers and telephones write for a withheld number. */
const withheldWord = '(?:anonymous|restricted|private|withheld|blocked)'
const callerWord = '(?:caller(?: id)?|number|call|id)'
const withheldNames = new RegExp(
  `^(?:(?:${callerWord} )?${withheldWord}|${withheldWord} ${callerWord}|no caller id)$`,
  'i',
)

/** The elements of a list. An open quotation mark or bracket must not hide the others. */
const elementsOf = (value: string): string[] => {
  try {
    return split(value, ',')
  } catch {
    return value.split(',').map((one) => one.trim())
  }
}

/** Reads addresses as far as they are well-formed: the parser checks these headers of carriers no further. */
const readElements = (values: readonly string[]): { readonly text: string; readonly address: NameAddr | null }[] =>
  values.flatMap(elementsOf).map((text) => {
    try {
      return { text, address: readNameAddr(text) }
    } catch {
      return { text, address: null }
    }
  })

/** Whether Remote-Party-ID, which preceded RFC 3325 and is still sent, forbids to show the number of the caller. */
const isPrivateNumber = (privacy: string): boolean => /\b(?:full|uri)\b/i.test(privacy)
const isPrivateName = (privacy: string): boolean => /\b(?:full|name)\b/i.test(privacy)

const privacyParam = ({ params }: NameAddr): string => params.get('privacy') ?? ''

const isCallingParty = ({ params }: NameAddr): boolean => (params.get('party') ?? 'calling').toLowerCase() === 'calling'

const isWithheldUser = (user: string): boolean => withheldUsers.test(user)

const isWithheldAddress = ({ name, uri }: NameAddr): boolean =>
  withheldNames.test(name.trim().replace(/\s+/g, ' ')) ||
  isWithheldUser(telephoneNumberOf(uri)?.user ?? '') ||
  uriOf(uri)?.host.toLowerCase() === 'anonymous.invalid'

const isNumber = ({ user }: TelephoneNumber): boolean => !isWithheldUser(user) && !unknownUsers.test(user)

/** Some peers write the values in quotation marks. */
const privacyOf = (invite: SipRequest): ReadonlySet<string> =>
  new Set(
    headersOf(invite, 'Privacy').flatMap((value) =>
      value.split(/[;,]/).map((one) => one.replace(/[\s"]/g, '').toLowerCase()),
    ),
  )

/** Returns the caller of an INVITE from a trusted peer, whose asserted identity counts before From (RFC 3325). */
export const callerOf = (invite: SipRequest): CallerIdentity => {
  const from = fromOf(invite)
  const shown = telephoneNumberOf(from.uri)
  const numbersOf = (addresses: readonly NameAddr[]): TelephoneNumber[] =>
    addresses.flatMap(({ uri }) => telephoneNumberOf(uri) ?? []).filter(isNumber)
  const identities = readElements(headersOf(invite, 'P-Asserted-Identity')).flatMap(({ address }) => address ?? [])
  const [asserted] = numbersOf(identities)
  const elements = readElements(headersOf(invite, 'Remote-Party-ID'))
  const parties = elements.flatMap(({ address }) => address ?? []).filter(isCallingParty)
  // An element that cannot be read restricts what it can: a number must not be shown by a fault of the peer.
  const malformed = elements.flatMap(({ text, address }) =>
    address ? [] : [/;\s*privacy\s*=([^;]*)/i.exec(text)?.[1] ?? ''],
  )
  const restrictions = [...parties.map(privacyParam), ...malformed]
  const isWithheld =
    [...privacyOf(invite)].some((value) => withholding.has(value)) ||
    restrictions.some(isPrivateNumber) ||
    [from, ...identities, ...parties].some(isWithheldAddress)
  // Without a privacy service, Remote-Party-ID is no source of numbers.
  const stated = [...(asserted ? [asserted] : isWithheld ? numbersOf(parties) : []), ...(shown ? [shown] : [])]
  const identity = stated.find(isNumber)
  return {
    number: identity?.user ?? '',
    isWithheld,
    verstat: asserted?.verstat ?? shown?.verstat ?? null,
    name: isWithheld || restrictions.some(isPrivateName) ? null : from.name || null,
  }
}

const isPrivateDiversion = (address: NameAddr): boolean =>
  isPrivateNumber(privacyParam(address)) ||
  /[?&]privacy=(?:history|id|user|header|session)/i.test(address.uri) ||
  isWithheldAddress(address)

/** Values of Privacy that conceal former destinations (RFC 7044, 10.1). */
const concealing = ['history', 'header', 'session']

/**
 * Returns the number that last forwarded a call, by Diversion (RFC 5806) or History-Info (RFC 7044); null if there is
 * none, or it must not be shown.
 */
export const diversionOf = (invite: SipRequest): string | null => {
  const privacy = privacyOf(invite)
  if (concealing.some((value) => privacy.has(value))) return null
  const [diversion] = readElements(headersOf(invite, 'Diversion'))
  // The last entry of the history is the current destination.
  const last = (diversion ?? readElements(headersOf(invite, 'History-Info')).at(-2))?.address
  const number = last && !isPrivateDiversion(last) ? telephoneNumberOf(last.uri) : null
  return number && isNumber(number) ? number.user : null
}
