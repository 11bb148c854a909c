import { Counter } from 'prom-client'
import type { Sql, Tx } from '../db/sql.ts'
import { type QuotaDefaults, type QuotaName, type QuotaValues, quotaNames, quotas } from '../lib/quotas.ts'
import type { Account } from './auth.ts'
import type { Metrics } from './metrics.ts'
import { Problem } from './problem.ts'

/** As much of an account as its quotas need. */
export type QuotaHolder = Pick<Account, 'id' | 'onTrial' | 'quotas'>

export type Quotas = {
  /** The value of a quota: the account's own, else of the settings, else the default. */
  of(account: QuotaHolder, name: QuotaName): number
  all(account: QuotaHolder): Record<QuotaName, number>
  /** The 403 of a quota that is used up. */
  exceeded(account: QuotaHolder, name: QuotaName): Problem
  /**
   * Refuses a change that the transaction has made if the account now uses more than its quota. Changes of one account and
   * quota take turns until their transactions end, so two at a time do not both take the last place.
   * @param used counts, the change included
   * @throws the 403 Problem
   */
  check(tx: Tx, account: QuotaHolder, name: QuotaName, used: () => Promise<number>): Promise<void>
  /** Refuses bytes that the transaction has stored, for work that no request began. @throws the 403 Problem */
  checkBytes(tx: Tx, account: string): Promise<void>
  /** The 403 of stored bytes where an account has used them up; null where it has room. */
  full(sql: Sql, account: string): Promise<Problem | null>
  /** The quotas of an account, for work that no request began; null when there is no such account. */
  holder(sql: Sql, id: string): Promise<QuotaHolder | null>
}

/** The bytes that an account keeps, as `stored_bytes` is held to. */
export const storedBytes = async (sql: Sql, account: string): Promise<number> =>
  (
    await sql.one<{ bytes: number }>`
      select coalesce(sum(bytes), 0)::bigint as bytes from stored_bytes where account_id = ${account}`
  ).bytes

/** Values as they are kept: of an account, as JSON. */
export const quotaValues = (kept: QuotaValues, given: { readonly [Name in QuotaName]?: number | null | undefined }) => {
  const next: { [Name in QuotaName]?: number } = {}
  for (const name of quotaNames) {
    const value = given[name] === undefined ? kept[name] : given[name]
    if (value !== undefined && value !== null) next[name] = value
  }
  return next
}

export const makeQuotas = (defaults: QuotaDefaults, metrics: Metrics): Quotas => {
  const refusals = new Counter({
    name: 'trunkline_quota_refusals_total',
    help: 'Requests and files refused since an account had used up a quota',
    labelNames: ['limit'],
    registers: [metrics.registry],
  })
  for (const limit of quotaNames) refusals.inc({ limit }, 0)

  const of: Quotas['of'] = ({ onTrial, quotas: own }, name) => {
    const kind = onTrial ? 'trial' : 'paid'
    return own[name] ?? defaults[kind][name] ?? quotas[name][kind]
  }

  const exceeded: Quotas['exceeded'] = (account, name) => {
    const { unit, fix } = quotas[name]
    refusals.inc({ limit: name })
    const text = `The account may have ${of(account, name)} ${unit}: ${fix}, or ask the operator to raise the limit ${name}`
    return new Problem('forbidden', text, 'limit_exceeded', {}, { limit: name })
  }

  const check: Quotas['check'] = async (tx, account, name, used) => {
    await tx.run`
      select pg_advisory_xact_lock(hashtextextended(${`quota ${name}`}, 0) # hashtextextended(${account.id}, 0))`
    if ((await used()) > of(account, name)) throw exceeded(account, name)
  }

  const holder: Quotas['holder'] = async (sql, id) => {
    const row = await sql.maybe<{ on_trial: boolean; quotas: QuotaValues }>`
      select on_trial, quotas from accounts where id = ${id}`
    return row && { id, onTrial: row.on_trial, quotas: row.quotas }
  }

  return {
    of,
    // A value for each name.
    all: (account) =>
      Object.fromEntries(quotaNames.map((name) => [name, of(account, name)])) as Record<QuotaName, number>,
    exceeded,
    check,
    checkBytes: async (tx, account) => {
      const found = await holder(tx, account)
      if (found) await check(tx, found, 'stored_bytes', () => storedBytes(tx, account))
    },
    full: async (sql, account) => {
      const found = await holder(sql, account)
      const isFull = found !== null && (await storedBytes(sql, account)) >= of(found, 'stored_bytes')
      return isFull ? exceeded(found, 'stored_bytes') : null
    },
    holder,
  }
}
