import { ok, serve } from '../http/endpoint.ts'
import { invalid, notFound } from '../http/problem.ts'
import { iso } from '../lib/clock.ts'
import { parse, print } from '../lib/id.ts'
import { decimal, micros } from '../lib/money.ts'
import type { Parts } from '../parts.ts'
import * as c from './contract.ts'
import { issueKey, openAccount } from './ops.ts'
import * as store from './store.ts'

const balanceOf = (row: store.AccountRow) => decimal(micros(row.balance) ?? 0)

const shown = (row: store.AccountRow) => ({
  uuid: print('ACC', row.id),
  name: row.name,
  on_trial: row.on_trial,
  blocked: row.blocked,
  ...(row.block_reason ? { block_reason: row.block_reason } : {}),
  requests_per_minute: row.requests_per_minute,
  ...(row.max_api_requests === null ? {} : { max_api_request_count: row.max_api_requests }),
  ...(row.max_number_checks === null ? {} : { max_number_check_count: row.max_number_checks }),
  a2p_us: row.a2p_us,
  sandbox: row.sandbox,
  balance: balanceOf(row),
  ...(row.low_balance === null ? {} : { low_balance: decimal(micros(row.low_balance) ?? 0) }),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  ...(row.expires_at ? { expires_at: iso(row.expires_at) } : {}),
})

const unknown = (printed: string) => notFound(`No account ${printed}`)
const idOf = (printed: string) => parse('ACC', printed) ?? unknown(printed)

export const accountRoutes = ({ db, meter, changes, config, sandboxAccounts }: Parts) => [
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
      limits: { requests_per_minute: row.requests_per_minute },
      usage: {
        api_request_count: row.api_requests - meter.unused(row.id),
        ...(row.max_api_requests === null ? {} : { max_api_request_count: row.max_api_requests }),
        number_check_count: row.number_checks,
        ...(row.max_number_checks === null ? {} : { max_number_check_count: row.max_number_checks }),
      },
      balance: { amount: balanceOf(row), currency: 'USD' },
    })
  }),

  serve(c.createAccount, async ({ body, tx }) => {
    const sandbox = body.sandbox ?? config.sandbox
    const id = await openAccount(tx, {
      name: body.name,
      onTrial: body.on_trial ?? false,
      requestsPerMinute: body.requests_per_minute,
      sandbox,
    })
    if (config.sandbox && !sandbox) {
      sandboxAccounts.exclude(id)
      await changes.announce(tx, 'accounts')
    }
    return ok({ account: shown((await store.find(tx, id)) ?? unknown(id)) })
  }),

  serve(c.listAccounts, async () => ok({ accounts: (await store.all(db)).map(shown) })),

  serve(c.getAccount, async ({ params }) => {
    const row = (await store.find(db, idOf(params.account_uuid))) ?? unknown(params.account_uuid)
    return ok({ account: shown(row) })
  }),

  serve(c.changeAccount, async ({ params, body, tx }) => {
    const id = idOf(params.account_uuid)
    const row = (await store.find(tx, id)) ?? unknown(params.account_uuid)
    const { max_api_request_count, max_number_check_count, low_balance, ...given } = body
    if (low_balance !== undefined) {
      if (low_balance !== null && micros(low_balance) === 0) invalid('low_balance must be above 0, or null for never')
      await store.setLowBalance(tx, id, low_balance)
    }
    await store.change(tx, id, {
      ...row,
      ...given,
      block_reason: body.blocked === false ? null : (body.block_reason ?? row.block_reason),
      max_api_requests: max_api_request_count === undefined ? row.max_api_requests : max_api_request_count,
      max_number_checks: max_number_check_count === undefined ? row.max_number_checks : max_number_check_count,
    })
    if (body.sandbox === false) sandboxAccounts.exclude(id)
    await changes.announce(tx, 'accounts')
    return ok({ account: shown((await store.find(tx, id)) ?? unknown(params.account_uuid)) })
  }),

  serve(c.createKey, async ({ params, body, tx }) => {
    const row = (await store.find(tx, idOf(params.account_uuid))) ?? unknown(params.account_uuid)
    return ok(await issueKey(tx, row.id, body.label))
  }),

  serve(c.listKeys, async ({ params }) => {
    const row = (await store.find(db, idOf(params.account_uuid))) ?? unknown(params.account_uuid)
    const keys = await store.keys(db, row.id)
    return ok({
      keys: keys.map((key) => ({
        uuid: print('KEY', key.id),
        label: key.label,
        last_four: key.last_four,
        created_at: iso(key.created_at),
        ...(key.last_used_at ? { last_used_at: iso(key.last_used_at) } : {}),
      })),
    })
  }),

  serve(c.revokeKey, async ({ params, tx }) => {
    const key = parse('KEY', params.key_uuid)
    const account = parse('ACC', params.account_uuid)
    const revoked = key && account ? await store.revoke(tx, account, key) : 0
    if (revoked === 0) notFound(`No key ${params.key_uuid}`)
    await changes.announce(tx, 'accounts')
    return ok({})
  }),
]
