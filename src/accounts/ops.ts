import type { Sql, Tx } from '../db/sql.ts'
import { print, uuid } from '../lib/id.ts'
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
    sandbox = false,
  }: { name: string; onTrial?: boolean; requestsPerMinute?: number | undefined; sandbox?: boolean },
): Promise<string> => {
  const id = uuid()
  const limits = onTrial ? defaults.trial : defaults.paid
  await store.create(tx, {
    id,
    name,
    onTrial,
    ...limits,
    sandbox,
    requestsPerMinute: requestsPerMinute ?? limits.requestsPerMinute,
  })
  return id
}

/** True while an account exists that is not marked as a sandbox account. */
export const hasRealAccounts = async (sql: Sql): Promise<boolean> => (await store.outsideSandbox(sql, 1)).length > 0

/** Gives an account a key: a new one, or the one that the settings name. The key itself is not kept. */
export const issueKey = async (tx: Tx, account: string, label: string, key = makeKey('UAK')) => {
  const id = uuid()
  await store.addKey(tx, account, id, label, keyHash(key), key.slice(-4))
  return { uuid: print('KEY', id), label, key }
}
