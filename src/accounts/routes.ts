import { ok, serve } from '../http/endpoint.ts'
import { conflict, invalid, notFound } from '../http/problem.ts'
import { type Quotas, quotaValues } from '../http/quotas.ts'
import { iso } from '../lib/clock.ts'
import { parse, print } from '../lib/id.ts'
import { decimal, micros } from '../lib/money.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'
import { createKey, shownLimits } from './keys.ts'
import { openAccount } from './ops.ts'
import * as store from './store.ts'
import { unlimited } from './unlimited.ts'

const balanceOf = (row: store.AccountRow) => decimal(micros(row.balance) ?? 0)

const holderOf = ({ id, on_trial, quotas }: store.AccountRow) => ({ id, onTrial: on_trial, quotas })

const shownBy = (quotas: Quotas) => (row: store.AccountRow) => ({
  uuid: print('ACC', row.id),
  name: row.name,
  on_trial: row.on_trial,
  blocked: row.blocked,
  ...(row.block_reason ? { block_reason: row.block_reason } : {}),
  requests_per_minute: row.requests_per_minute,
  ...(row.max_api_requests === null ? {} : { max_api_request_count: row.max_api_requests }),
  ...(row.max_number_checks === null ? {} : { max_number_check_count: row.max_number_checks }),
  a2p_us: row.a2p_us,
  quotas: quotas.all(holderOf(row)),
  sandbox: row.sandbox,
  balance: balanceOf(row),
  ...(row.low_balance === null ? {} : { low_balance: decimal(micros(row.low_balance) ?? 0) }),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  ...(row.expires_at ? { expires_at: iso(row.expires_at) } : {}),
})

/** The audited fields of an account. Its balance changes by acts of its own. */
const audited = ({ balance: _, ...rest }: ReturnType<ReturnType<typeof shownBy>>) => rest

/** The audited fields of a key that was made: its limits, and never the key. */
const auditedKey = ({ key, uuid: _, ...rest }: Awaited<ReturnType<typeof createKey>>) => ({
  ...rest,
  last_four: key.slice(-4),
})

const shownKey = (key: store.KeyRow) => ({
  uuid: print('KEY', key.id),
  label: key.label,
  last_four: key.last_four,
  ...shownLimits(key),
  created_at: iso(key.created_at),
  ...(key.last_used_at ? { last_used_at: iso(key.last_used_at) } : {}),
})

const unknown = (printed: string) => notFound(`No account ${printed}`)
const idOf = (printed: string) => parse('ACC', printed) ?? unknown(printed)

export const accountRoutes = ({ db, meter, changes, config, quotas, sandboxAccounts }: Parts) => {
  const shown = shownBy(quotas)
  return [
    serve(c.getInfo, async ({ account }) => {
      const row = (await store.find(db, account.id)) ?? unknown(print('ACC', account.id))
      return ok({
        account: {
          name: row.name,
          uuid: print('ACC', row.id),
          on_trial: row.on_trial,
          blocked: row.blocked,
          ...(row.block_reason ? { block_reason: row.block_reason } : {}),
          created_at: iso(row.created_at),
          ...(row.expires_at ? { expires_at: iso(row.expires_at) } : {}),
        },
        limits: { requests_per_minute: row.requests_per_minute, ...quotas.all(account) },
        usage: {
          ...(await store.used(db, account.id)),
          api_request_count: row.api_requests - meter.unused(row.id),
          max_api_request_count: row.max_api_requests ?? unlimited,
          number_check_count: row.number_checks,
          max_number_check_count: row.max_number_checks ?? unlimited,
        },
        balance: { amount: balanceOf(row), currency: 'USD' },
      })
    }),

    serve(c.createAccount, async ({ body, tx, audit }) => {
      const sandbox = body.sandbox ?? config.sandbox
      const id = await openAccount(tx, {
        name: body.name,
        onTrial: body.on_trial ?? false,
        requestsPerMinute: body.requests_per_minute,
        quotas: quotaValues({}, body.quotas ?? {}),
        sandbox,
      })
      if (config.sandbox && !sandbox) {
        sandboxAccounts.exclude(id)
        await changes.announce(tx, 'accounts')
      }
      const account = shown((await store.find(tx, id)) ?? unknown(id))
      await audit(tx, { target: account.uuid, account: id, after: audited(account) })
      return ok({ account })
    }),

    serve(c.listAccounts, async () => ok({ accounts: (await store.all(db)).map(shown) })),

    serve(c.getAccount, async ({ params }) => {
      const row = (await store.find(db, idOf(params.account_uuid))) ?? unknown(params.account_uuid)
      return ok({ account: shown(row) })
    }),

    serve(c.changeAccount, async ({ params, body, tx, audit }) => {
      const id = idOf(params.account_uuid)
      await store.lock(tx, id)
      const row = (await store.find(tx, id)) ?? unknown(params.account_uuid)
      const { max_api_request_count, max_number_check_count, low_balance, quotas: wanted, ...given } = body
      if (low_balance !== undefined) {
        if (low_balance !== null && micros(low_balance) === 0) invalid('low_balance must be above 0, or null for never')
        await store.setLowBalance(tx, id, low_balance)
      }
      await store.change(tx, id, {
        ...row,
        ...given,
        quotas: quotaValues(row.quotas, wanted ?? {}),
        block_reason: body.blocked === false ? null : (body.block_reason ?? row.block_reason),
        max_api_requests: max_api_request_count === undefined ? row.max_api_requests : max_api_request_count,
        max_number_checks: max_number_check_count === undefined ? row.max_number_checks : max_number_check_count,
      })
      if (body.sandbox === false) sandboxAccounts.exclude(id)
      await changes.announce(tx, 'accounts')
      const account = shown((await store.find(tx, id)) ?? unknown(params.account_uuid))
      await audit(tx, { before: audited(shown(row)), after: audited(account) })
      return ok({ account })
    }),

    serve(c.createKey, async ({ params, body, tx, audit }) => {
      const row = (await store.find(tx, idOf(params.account_uuid))) ?? unknown(params.account_uuid)
      const issued = await createKey(tx, row.id, body, null)
      await audit(tx, { target: issued.uuid, after: auditedKey(issued) })
      return ok(issued)
    }),

    serve(c.listKeys, async ({ params }) => {
      const row = (await store.find(db, idOf(params.account_uuid))) ?? unknown(params.account_uuid)
      const keys = await store.keys(db, row.id)
      return ok({ keys: keys.map(shownKey) })
    }),

    serve(c.revokeKey, async ({ params, tx, audit }) => {
      const key = parse('KEY', params.key_uuid)
      const account = parse('ACC', params.account_uuid)
      const revoked =
        (key && account && (await store.revoke(tx, account, key))) || notFound(`No key ${params.key_uuid}`)
      await audit(tx, { before: revoked })
      await changes.announce(tx, 'accounts')
      return ok({})
    }),

    serve(c.listOwnKeys, async ({ account, key: own }) => {
      const keys = await store.keys(db, account.id)
      return ok({ keys: keys.map((key) => ({ ...shownKey(key), current: key.id === own.id })) })
    }),

    serve(c.createOwnKey, async ({ account, key, body, tx, audit }) => {
      const issued = await createKey(tx, account.id, body, key.limits)
      await audit(tx, { target: issued.uuid, after: auditedKey(issued) })
      return ok(issued)
    }),

    serve(c.revokeOwnKey, async ({ account, key, params, tx, audit }) => {
      const unknownKey = () => notFound(`No key ${params.key_uuid}`)
      const id = parse('KEY', params.key_uuid) ?? unknownKey()
      if (id === key.id) conflict('You cannot revoke the key used for this request: use another one', 'key_in_use')
      await audit(tx, { before: (await store.revoke(tx, account.id, id)) ?? unknownKey() })
      await changes.announce(tx, 'accounts')
      return ok({})
    }),
  ]
}
