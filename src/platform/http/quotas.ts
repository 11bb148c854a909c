import { Counter } from 'prom-client'
import type { Sql, Tx } from '../db/sql.ts'
import {
  type QuotaDefaults,
  type QuotaName,
  type QuotaValues,
  quotaDefinitions,
  quotaNames,
} from '../lib/quota-definitions.ts'
import type { Account } from './auth.ts'
import type { Metrics } from './metrics.ts'
import type { Problem } from './problem.ts'
import { refusals } from './refusals.ts'

/** Fields of an account that its quotas need. */
export type QuotaHolder = Pick<Account, 'id' | 'onTrial' | 'quotas'>

export type Quotas = {
  /** Returns the value of a quota: the account's own, else that of the settings, else the default. */
  limitOf(account: QuotaHolder, name: QuotaName): number
  all(account: QuotaHolder): Record<QuotaName, number>
  /** Returns the 403 of an exhausted quota. */
  exceeded(account: QuotaHolder, name: QuotaName): Problem
  /**
   * Refuses a change that the transaction has made if the account now exceeds its quota. A lock serialises changes of
   * one account and quota until their transactions end, so two concurrent changes cannot both take the last unit.
   * @param used returns the usage, including the change
   * @throws the 403 Problem
   */
  check(tx: Tx, account: QuotaHolder, name: QuotaName, used: () => Promise<number>): Promise<void>
  /** Checks the bytes that the transaction has stored, for background work. @throws the 403 Problem */
  checkBytes(tx: Tx, account: string): Promise<void>
  /** Returns the 403 if an account has exhausted its stored bytes, else null. */
  storageExhausted(sql: Sql, account: string): Promise<Problem | null>
  /** Returns the quotas of an account, for background work; null if there is no such account. */
  findHolder(sql: Sql, id: string): Promise<QuotaHolder | null>
}

/** Returns the bytes of an account that count for the quota `stored_bytes`. */
export const storedBytes = async (sql: Sql, account: string): Promise<number> =>
  (
    await sql.one<{ bytes: number }>`
      select coalesce(sum(bytes), 0)::bigint as bytes from stored_bytes where account_id = ${account}`
  ).bytes

/** Merges changed quotas into the stored ones. null removes a quota, undefined leaves it. */
export const mergeQuotas = (
  stored: QuotaValues,
  changes: { readonly [Name in QuotaName]?: number | null | undefined },
) => {
  const next: { [Name in QuotaName]?: number } = {}
  for (const name of quotaNames) {
    const value = changes[name] === undefined ? stored[name] : changes[name]
    if (value !== undefined && value !== null) next[name] = value
  }
  return next
}

export const makeQuotas = (defaults: QuotaDefaults, metrics: Metrics): Quotas => {
  const exceedances = new Counter({
    name: 'trunkline_quota_refusals_total',
    help: 'Requests and files refused because of an exhausted quota',
    labelNames: ['limit'],
    registers: [metrics.registry],
  })
  for (const limit of quotaNames) exceedances.inc({ limit }, 0)

  const of: Quotas['limitOf'] = ({ onTrial, quotas: own }, name) => {
    const kind = onTrial ? 'trial' : 'paid'
    return own[name] ?? defaults[kind][name] ?? quotaDefinitions[name][kind]
  }

  const exceeded: Quotas['exceeded'] = (account, name) => {
    const { unit, fix } = quotaDefinitions[name]
    exceedances.inc({ limit: name })
    return refusals.limitExceeded(name, of(account, name), unit, fix)
  }

  const check: Quotas['check'] = async (tx, account, name, used) => {
    await tx.run`
      select pg_advisory_xact_lock(hashtextextended(${`quota ${name}`}, 0) # hashtextextended(${account.id}, 0))`
    if ((await used()) > of(account, name)) throw exceeded(account, name)
  }

  const holder: Quotas['findHolder'] = async (sql, id) => {
    const row = await sql.maybe<{ on_trial: boolean; quotas: QuotaValues }>`
      select on_trial, quotas from accounts where id = ${id}`
    return row && { id, onTrial: row.on_trial, quotas: row.quotas }
  }

  return {
    limitOf: of,
    // Each name has a value.
    all: (account) =>
      Object.fromEntries(quotaNames.map((name) => [name, of(account, name)])) as Record<QuotaName, number>,
    exceeded,
    check,
    checkBytes: async (tx, account) => {
      const found = await holder(tx, account)
      if (found) await check(tx, found, 'stored_bytes', () => storedBytes(tx, account))
    },
    storageExhausted: async (sql, account) => {
      const found = await holder(sql, account)
      const isFull = found !== null && (await storedBytes(sql, account)) >= of(found, 'stored_bytes')
      return isFull ? exceeded(found, 'stored_bytes') : null
    },
    findHolder: holder,
  }
}
