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

/** Reads addresses; malformed ones are left out, as the parser checks these headers of carriers no further. */
const readAddresses = (values: readonly string[]): NameAddr[] =>
  values.flatMap((value) => {
    try {
      return split(value, ',').map(readNameAddr)
    } catch {
      return []
    }
  })

/** True if Remote-Party-ID, which preceded RFC 3325 and is still sent, forbids to show the caller. */
const isPrivateParty = ({ params }: NameAddr): boolean => /^(?:full|uri)\b/i.test(params.get('privacy') ?? '')

const isCallingParty = ({ params }: NameAddr): boolean => (params.get('party') ?? 'calling').toLowerCase() === 'calling'

const isWithheldFrom = ({ name, uri }: NameAddr, user: string): boolean =>
  /^anonymous$/i.test(name) || withheldUsers.test(user) || uriOf(uri)?.host === 'anonymous.invalid'

const privacyOf = (invite: SipRequest): ReadonlySet<string> =>
  new Set(headersOf(invite, 'Privacy').flatMap((value) => value.split(/[;,]/).map((one) => one.trim().toLowerCase())))

/** Returns the caller of an INVITE from a trusted peer, whose asserted identity counts before From (RFC 3325). */
export const callerOf = (invite: SipRequest): CallerIdentity => {
  const from = fromOf(invite)
  const shown = telephoneNumberOf(from.uri)
  const numbersOf = (addresses: readonly NameAddr[]): TelephoneNumber[] =>
    addresses.flatMap(({ uri }) => telephoneNumberOf(uri) ?? [])
  const [asserted] = numbersOf(readAddresses(headersOf(invite, 'P-Asserted-Identity')))
  const parties = readAddresses(headersOf(invite, 'Remote-Party-ID')).filter(isCallingParty)
  const isWithheld =
    [...privacyOf(invite)].some((value) => withholding.has(value)) ||
    parties.some(isPrivateParty) ||
    isWithheldFrom(from, shown?.user ?? '')
  // Without a privacy service, Remote-Party-ID is no source of numbers.
  const stated = [...(asserted ? [asserted] : isWithheld ? numbersOf(parties) : []), ...(shown ? [shown] : [])]
  const isNumber = ({ user }: TelephoneNumber) => !withheldUsers.test(user) && !unknownUsers.test(user)
  const identity = stated.find(isNumber)
  return {
    number: identity?.user ?? '',
    isWithheld,
    verstat: asserted?.verstat ?? shown?.verstat ?? null,
    name: isWithheld ? null : from.name || null,
  }
}

const isPrivateDiversion = ({ uri, params }: NameAddr): boolean =>
  /^(?:full|uri)\b/i.test(params.get('privacy') ?? '') || /[?&]privacy=(?:history|id|user|header|session)/i.test(uri)

/**
 * Returns the number that last forwarded a call, by Diversion (RFC 5806) or History-Info (RFC 7044); null if there is
 * none, or it must not be shown.
 */
export const diversionOf = (invite: SipRequest): string | null => {
  const [diversion] = readAddresses(headersOf(invite, 'Diversion'))
  // The last entry of the history is the current destination.
  const former = readAddresses(headersOf(invite, 'History-Info')).at(-2)
  const last = diversion ?? (privacyOf(invite).has('history') ? undefined : former)
  return last === undefined || isPrivateDiversion(last) ? null : (telephoneNumberOf(last.uri)?.user ?? null)
}
