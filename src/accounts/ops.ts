import type { Sql, Tx } from '../db/sql.ts'
import type { KeyLimits } from '../http/auth.ts'
import { print, uuid } from '../lib/id.ts'
import type { QuotaValues } from '../lib/quotas.ts'
import { keyHash, makeKey } from '../lib/secret.ts'
import * as store from './store.ts'

/** What an account may do when nobody says otherwise (completions.md part 1). */
const defaults = {
  paid: { requestsPerMinute: 60_000, maxApiRequests: null, maxNumberChecks: null },
  trial: { requestsPerMinute: 30, maxApiRequests: 1000, maxNumberChecks: 100 },
}

/** Creates an account and gives back its id. */
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
  const limits = onTrial ? defaults.trial : defaults.paid
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

const unlimited: KeyLimits = { scopes: null, expires_at: null, allowed_addresses: null }

/** True while an account exists that is not marked as a sandbox account. */
export const hasRealAccounts = async (sql: Sql): Promise<boolean> => (await store.outsideSandbox(sql, 1)).length > 0

/** Gives an account a key: a new one, or the one that the settings name. The key itself is not kept. */
export const issueKey = async (
  tx: Tx,
  account: string,
  label: string,
  key = makeKey('UAK'),
  limits: KeyLimits = unlimited,
) => {
  const id = uuid()
  await store.addKey(tx, account, { ...limits, id, label, hash: keyHash(key), lastFour: key.slice(-4) })
  return { uuid: print('KEY', id), label, key }
}

/** The account that the first start made, the operator's own; null where it was made otherwise. */
export const firstAccount = async (sql: Sql): Promise<string | null> => (await store.first(sql))?.value.account ?? null
