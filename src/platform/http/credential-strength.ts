import type { FastifyRequest } from 'fastify'
import { makeAddressList } from '../lib/address-list.ts'
import { iso } from '../lib/clock.ts'
import { decimal, micros } from '../lib/money.ts'
import type { KeyLimits } from './auth.ts'
import { capabilities, maskOf } from './capability.ts'
import type { CredentialKind } from './endpoint.ts'
import type { Problem } from './problem.ts'
import { refusals } from './refusals.ts'
import { maskOfRole, type Role } from './role.ts'

// Every endpoint that creates a credential asks here first, so that no credential makes a stronger one.

/** A credential that a request would create or strengthen. */
export type NewCredential =
  | { readonly kind: 'api-key'; readonly limits: KeyLimits }
  /** `before`: the present role; null for a new user. `isRestored`: the user was suspended. */
  | { readonly kind: 'person'; readonly role: Role; readonly before: Role | null; readonly isRestored?: boolean }
  /** `role`: of the person; null for a person of any. */
  | { readonly kind: 'link'; readonly role: Role | null }
  | { readonly kind: 'voice-token' | 'device'; readonly expiresAt: Date }
  | { readonly kind: 'operator' | 'factor' | 'session' | 'webhook' | 'own-link' }

/** The credential of a request, which is asked for another one. A session of a key is that key. */
export type Maker = {
  readonly kind: 'key' | 'member' | 'person' | 'operator' | 'observer' | 'voice' | 'visitor'
  readonly limits: KeyLimits
}

/** What each maker may create at all. */
const creations: { readonly [maker in Maker['kind']]: readonly CredentialKind[] } = {
  key: ['api-key', 'person', 'link', 'voice-token', 'webhook'],
  member: ['api-key', 'person', 'link', 'voice-token', 'webhook'],
  operator: ['api-key', 'person', 'link', 'voice-token', 'webhook', 'operator'],
  observer: [],
  person: ['factor', 'own-link'],
  voice: ['device'],
  visitor: ['session', 'own-link'],
}

const unlimited: KeyLimits = { scopes: null, expires_at: null, allowed_addresses: null, spend_per_day: null }

/** Returns the credential that makes a request. */
export const makerOf = (
  request: Pick<FastifyRequest, 'accountKey' | 'operator' | 'person' | 'session' | 'sessionAccount'>,
): Maker => {
  const { accountKey, operator, person, session, sessionAccount } = request
  if (accountKey) {
    const { limits } = accountKey
    if (!session || session.kind === 'account-key') return { kind: 'key', limits }
    return { kind: sessionAccount?.isOperator ? 'operator' : 'member', limits }
  }
  if (operator) return { kind: operator.role, limits: unlimited }
  if (person) return { kind: 'voice', limits: { ...unlimited, expires_at: person.expiresAt } }
  if (!session) return { kind: 'visitor', limits: unlimited }
  if (session.person) return { kind: 'person', limits: unlimited }
  return { kind: 'key', limits: session.accounts[0]?.key.limits ?? unlimited }
}

/** Returns a scope of another key that this one lacks, or null. A key without a scope list has all scopes. */
export const missingScope = (other: KeyLimits['scopes'], own: KeyLimits['scopes']): string | null => {
  if (!own) return null
  return (other ?? capabilities).find((scope) => !own.includes(scope)) ?? null
}

/** Returns the earlier of an end and that of the maker. */
export const endWithin = ({ expires_at: own }: Pick<KeyLimits, 'expires_at'>, end: Date): Date =>
  own !== null && own < end ? own : end

/** Returns the limit by which a key would exceed its maker, or null. */
const exceededLimit = (limits: KeyLimits, own: KeyLimits): string | null => {
  const { scopes, expires_at: end, allowed_addresses: addresses, spend_per_day: spend } = own
  const more = missingScope(limits.scopes, scopes)
  if (more) return `scopes: your key lacks ${more}`
  if (end && (limits.expires_at === null || limits.expires_at > end)) return `expires_at: your key ends at ${iso(end)}`
  const requested = limits.spend_per_day
  if (spend !== null && (requested === null || (micros(requested) ?? 0) > (micros(spend) ?? 0)))
    return `spend_per_day: your key may spend USD ${decimal(micros(spend) ?? 0)}`
  if (addresses === null) return null
  const list = makeAddressList(addresses)
  const { allowed_addresses: networks } = limits
  const outside = networks === null ? 'any address' : networks.find((network) => !list.covers(network))
  return outside === undefined ? null : `allowed_addresses: ${outside} is not within one of those of your key`
}

/** A person has a session without an end, from any address, with rights that may grow: no limit of a key binds it. */
const limitOf = ({ kind, limits }: Maker): string | null =>
  kind === 'key' ? (Object.entries(limits).find(([, value]) => value !== null)?.[0] ?? null) : null

const exceedsRole = (role: Role, { limits }: Maker): boolean => (maskOfRole(role) & ~maskOf(limits.scopes)) !== 0

const personRefusal = (maker: Maker, role: Role, before: Role | null, isRestored = false): Problem | null => {
  const isRaised = isRestored || before === null || (maskOfRole(role) & ~maskOfRole(before)) !== 0
  const limit = limitOf(maker)
  if (isRaised && limit) return refusals.keyLimited(limit)
  const beyond = [before ?? role, role].find((one) => exceedsRole(one, maker))
  return beyond ? refusals.roleExceedsYours(beyond) : null
}

/** Returns the refusal of a credential that would be stronger than its maker; null if it may be made. */
export const credentialRefusal = (maker: Maker, credential: NewCredential): Problem | null => {
  if (!creations[maker.kind].includes(credential.kind)) return refusals.makesNone(credential.kind)
  switch (credential.kind) {
    case 'api-key': {
      const exceeded = exceededLimit(credential.limits, maker.limits)
      return exceeded ? refusals.newKeyExceedsYours(exceeded) : null
    }
    case 'person':
      return personRefusal(maker, credential.role, credential.before, credential.isRestored)
    case 'link':
      return personRefusal(maker, credential.role ?? 'owner', null)
    case 'voice-token':
    case 'device': {
      const { expires_at: end, spend_per_day: spend } = maker.limits
      // The calls of a browser have no key that could count them.
      if (spend !== null) return refusals.keyLimited('spend_per_day')
      return end && credential.expiresAt > end
        ? refusals.newKeyExceedsYours(`expires_at: yours ends at ${iso(end)}`)
        : null
    }
    // A session has the limits of its key at each request. A webhook sends what the account may read, until its deletion.
    case 'session':
    case 'webhook':
    case 'factor':
    case 'own-link':
    case 'operator':
      return null
  }
}

/**
 * Asks whether a request may create a credential. The handler of each contract with `makes` asks before it creates one;
 * the server refuses to answer for a handler that did not.
 * @throws Problem 403 `key_limited`, `exceeds_own_key`, `role`
 */
export const assertMayMake = (request: FastifyRequest, credential: NewCredential): void => {
  const refusal = credentialRefusal(makerOf(request), credential)
  if (refusal) throw refusal
  request.askedCredential = credential.kind
}
