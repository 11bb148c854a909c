import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { AccountKey, KeyLimits } from '../../platform/http/auth.ts'
import { missingScope } from '../../platform/http/credential-strength.ts'
import { refuse } from '../../platform/http/problem.ts'
import { parse, print, uuid } from '../../platform/lib/id.ts'
import type { QuotaValues } from '../../platform/lib/quota-definitions.ts'
import { keyHash, makeKey } from '../../platform/lib/secret.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'
import { isWorkingTime } from './working-hours.ts'

/** Default limits of an account. */
const defaultLimits = {
  paid: { requestsPerMinute: 60_000, maxApiRequests: null, maxNumberChecks: null },
  trial: { requestsPerMinute: 30, maxApiRequests: 1000, maxNumberChecks: 100 },
}

/** Creates an account. @returns its id */
export const openAccount = async (
  tx: Tx,
  {
    name,
    onTrial = false,
    requestsPerMinute,
    quotas = {},
    sandbox = false,
  }: {
    name: string
    onTrial?: boolean
    requestsPerMinute?: number | undefined
    quotas?: QuotaValues
    sandbox?: boolean
  },
): Promise<string> => {
  const id = uuid()
  const limits = onTrial ? defaultLimits.trial : defaultLimits.paid
  await store.create(tx, {
    id,
    name,
    onTrial,
    ...limits,
    quotas,
    sandbox,
    requestsPerMinute: requestsPerMinute ?? limits.requestsPerMinute,
  })
  return id
}

const unlimited: KeyLimits = { scopes: null, expires_at: null, allowed_addresses: null, spend_per_day: null }

/** Whether an account exists that is not marked as a sandbox account. */
export const hasRealAccounts = async (sql: Sql): Promise<boolean> => (await store.outsideSandbox(sql, 1)).length > 0

/** Issues a key for an account: a new one, or the one from the settings. Only its hash is stored.
 *  @param countedBy keys with a spend limit that the key is made with: they count what it spends */
export const issueKey = async (
  tx: Tx,
  account: string,
  label: string,
  key = makeKey('UAK'),
  limits: KeyLimits = unlimited,
  madeBy: string | null = null,
  countedBy: readonly string[] = [],
) => {
  const id = uuid()
  const limitedKeys = limits.spend_per_day === null ? null : [...countedBy, id]
  const lastFour = key.slice(-4)
  await store.addKey(tx, account, { ...limits, madeBy, id, label, hash: keyHash(key), lastFour, limitedKeys })
  return { uuid: print('KEY', id), label, key }
}

/** Checks that a key may revoke another one. @throws Problem 403 if the revoking key lacks a scope of the other */
export const assertRevocable = (target: Pick<KeyLimits, 'scopes'>, own: KeyLimits): void => {
  const more = missingScope(target.scopes, own.scopes)
  if (more) throw refusals.keyExceedsYours(more)
}

/**
 * Revokes the keys that a user made in the console.
 * @param own the credential of the request @returns printed ids
 * @throws Problem 403 if it lacks a scope of one of them, 409 if it is one of them
 */
export const revokeKeysOf = async (
  tx: Tx,
  account: string,
  user: string,
  own: Pick<AccountKey, 'id' | 'limits'>,
): Promise<string[]> => {
  const revoked = await store.revokeMadeBy(tx, account, user)
  for (const key of revoked) {
    if (key.id === own.id) throw refusals.keyInUse()
    assertRevocable(key, own.limits)
  }
  return revoked.map(({ id }) => print('KEY', id))
}

/** Returns the operator's own account, created at the first start; null if it was created otherwise. */
export const firstAccount = async (sql: Sql): Promise<string | null> => (await store.first(sql))?.value.account ?? null

/** Returns the bare uuid of an account, of any state. @throws Problem 404 if there is none */
export const existingAccount = async (sql: Sql, printed: string): Promise<string> => {
  const id = parse('ACC', printed)
  return id !== null && (await store.exists(sql, id)) ? id : refuse(refusals.unknownAccount(printed))
}

/** The same for a filter: null without one. */
export const filteredAccount = (sql: Sql, printed: string | undefined): Promise<string | null> =>
  printed === undefined ? Promise.resolve(null) : existingAccount(sql, printed)

/** Ensures that the account is open until the end of the transaction. @throws Problem 409 if it is closed */
export const assertOpen = async (tx: Tx, account: string): Promise<void> => {
  if (await store.isClosed(tx, account)) throw refusals.accountClosed(print('ACC', account))
}

/** Returns those of the accounts that are blocked. */
export const blockedAccounts = store.blockedOf

/** Whether people of an account answer at this time: within its working hours, and always without any. */
export const isAnswering = async (sql: Sql, account: string, at: Date): Promise<boolean> =>
  isWorkingTime((await store.workingHours(sql, account))?.working_hours ?? null, at)
