import type { Tx } from '../db/sql.ts'
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
  }: { name: string; onTrial?: boolean; requestsPerMinute?: number | undefined; quotas?: QuotaValues },
): Promise<string> => {
  const id = uuid()
  const limits = onTrial ? defaults.trial : defaults.paid
  await store.create(tx, {
    id,
    name,
    onTrial,
    ...limits,
    quotas,
    requestsPerMinute: requestsPerMinute ?? limits.requestsPerMinute,
  })
  return id
}

/** Gives an account a key: a new one, or the one that the settings name. The key itself is not kept. */
export const issueKey = async (tx: Tx, account: string, label: string, key = makeKey('UAK')) => {
  const id = uuid()
  await store.addKey(tx, account, id, label, keyHash(key), key.slice(-4))
  return { uuid: print('KEY', id), label, key }
}
