import type { FastifyRequest } from 'fastify'
import type { Tx } from '../../platform/db/sql.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import { cursorsOf } from '../../platform/http/list-cursor.ts'
import { cutPage, optionalPage, totalFields } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { mergeQuotas, type Quotas } from '../../platform/http/quotas.ts'
import { refusals as httpRefusals } from '../../platform/http/refusals.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print } from '../../platform/lib/id.ts'
import { decimal, micros } from '../../platform/lib/money.ts'
import type { Services } from '../../services.ts'
import { heldOf } from '../ledger/ops.ts'
import { createKey, presentLimits } from './api-keys/api-keys.ts'
import * as k from './api-keys/contract.ts'
import { closeAccount } from './closing.ts'
import * as c from './contract.ts'
import { assertOpen, assertRevocable, openAccount } from './ops.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'
import { unlimited } from './unlimited.ts'
import { assertWorkingHours } from './working-hours.ts'

const balanceOf = (row: store.AccountRow) => decimal(micros(row.balance) ?? 0)

const holderOf = ({ id, on_trial, quotas }: store.AccountRow) => ({ id, onTrial: on_trial, quotas })

const lowBalanceOf = ({ low_balance: limit }: store.AccountRow) =>
  limit === null ? {} : { low_balance: decimal(micros(limit) ?? 0) }

/** Maps an account to its settings of the inbox that may be absent. */
const inboxOf = ({ working_hours, close_after_days }: store.AccountRow) => ({
  ...(working_hours === null ? {} : { working_hours: { ...working_hours, days: [...working_hours.days] } }),
  ...(close_after_days === null ? {} : { close_after_days }),
})

/** Maps an account to the fields that it may change itself. */
const presentOwn = (row: store.AccountRow) => ({
  uuid: print('ACC', row.id),
  name: row.name,
  ...lowBalanceOf(row),
  agents_see_log: row.agents_see_log,
  agents_see_all: row.agents_see_all,
  second_factor_required: row.second_factor_required,
  ...inboxOf(row),
  notification_names: row.push_names,
  updated_at: iso(row.updated_at),
})

/** Sets the limit of `balance.low`. @param limit null: no event; undefined: unchanged */
const setLowBalance = async (tx: Tx, account: string, limit: string | null | undefined): Promise<void> => {
  if (limit === undefined) return
  if (limit !== null && micros(limit) === 0) throw refusals.badLowBalance()
  await store.setLowBalance(tx, account, limit)
}

/** Checks that the person who requires a second factor of others has one: nobody excludes himself. */
const assertOwnFactor = async (tx: Tx, { session, sessionAccount }: FastifyRequest): Promise<void> => {
  const isMember = session?.person && sessionAccount?.userId
  if (isMember && !(await store.hasSecondFactor(tx, session.person.id))) throw httpRefusals.secondFactorMissing()
}

const presenterFor = (quotas: Quotas) => (row: store.AccountRow) => ({
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
  ...lowBalanceOf(row),
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  ...(row.expires_at ? { expires_at: iso(row.expires_at) } : {}),
  ...(row.closed_at ? { closed_at: iso(row.closed_at) } : {}),
  ...(row.close_reason === null ? {} : { close_reason: row.close_reason }),
})

/** Returns the audited fields of an account, without its balance, which has audited operations of its own. */
const audited = ({ balance: _, ...rest }: ReturnType<ReturnType<typeof presenterFor>>) => rest

/** Returns the audited fields of a new key: its limits, never the key. */
const auditedKey = ({ key, uuid: _, ...rest }: Awaited<ReturnType<typeof createKey>>) => ({
  ...rest,
  last_four: key.slice(-4),
})

const presentKey = (key: store.KeyRow) => ({
  uuid: print('KEY', key.id),
  label: key.label,
  last_four: key.last_four,
  ...presentLimits(key),
  ...(key.spent_today === null ? {} : { spent_today: decimal(micros(key.spent_today) ?? 0) }),
  created_at: iso(key.created_at),
  ...(key.made_by === null ? {} : { created_by: { user_uuid: print('USR', key.made_by), name: key.maker_name ?? '' } }),
  ...(key.last_used_at ? { last_used_at: iso(key.last_used_at) } : {}),
})
const idOf = (printed: string) => parse('ACC', printed) ?? refuse(refusals.unknownAccount(printed))

const cursors = cursorsOf(c.listAccounts)

/** The own account of a tenant. */
const ownAccountRoutes = ({ db, rateLimiter, changes, quotas }: Services) => [
  route(c.getInfo, async ({ account }) => {
    const row = (await store.find(db, account.id)) ?? refuse(refusals.unknownAccount(print('ACC', account.id)))
    return ok({
      account: {
        name: row.name,
        uuid: print('ACC', row.id),
        on_trial: row.on_trial,
        blocked: row.blocked,
        ...(row.block_reason ? { block_reason: row.block_reason } : {}),
        agents_see_log: row.agents_see_log,
        agents_see_all: row.agents_see_all,
        second_factor_required: row.second_factor_required,
        ...inboxOf(row),
        created_at: iso(row.created_at),
        notification_names: row.push_names,
        ...(row.expires_at ? { expires_at: iso(row.expires_at) } : {}),
      },
      limits: { requests_per_minute: row.requests_per_minute, ...quotas.all(account) },
      usage: {
        ...(await store.quotaUsage(db, account.id)),
        api_request_count: row.api_requests - rateLimiter.unused(row.id),
        max_api_request_count: row.max_api_requests ?? unlimited,
        number_check_count: row.number_checks,
        max_number_check_count: row.max_number_checks ?? unlimited,
      },
      balance: {
        amount: balanceOf(row),
        currency: 'USD',
        held: decimal(await heldOf(db, account.id)),
        ...lowBalanceOf(row),
      },
    })
  }),

  route(c.changeOwnAccount, async ({ account: { id }, body, request, tx, audit }) => {
    const printed = print('ACC', id)
    await store.lock(tx, id)
    const row = (await store.find(tx, id)) ?? refuse(refusals.unknownAccount(printed))
    await assertOpen(tx, id)
    if (body.second_factor_required) await assertOwnFactor(tx, request)
    if (body.working_hours) assertWorkingHours(body.working_hours)
    await setLowBalance(tx, id, body.low_balance)
    if (body.notification_names !== undefined) await store.setPushNames(tx, id, body.notification_names)
    await store.change(tx, id, {
      ...row,
      name: body.name ?? row.name,
      agents_see_log: body.agents_see_log ?? row.agents_see_log,
      agents_see_all: body.agents_see_all ?? row.agents_see_all,
      second_factor_required: body.second_factor_required ?? row.second_factor_required,
      working_hours: body.working_hours === undefined ? row.working_hours : body.working_hours,
      close_after_days: body.close_after_days === undefined ? row.close_after_days : body.close_after_days,
    })
    await changes.invalidate(tx, 'accounts')
    const account = presentOwn((await store.find(tx, id)) ?? refuse(refusals.unknownAccount(printed)))
    await audit(tx, { target: printed, before: presentOwn(row), after: account })
    return ok({ account })
  }),
]

/** Accounts, as operators manage them. */
const managedAccountRoutes = ({ db, changes, config, quotas, sandboxAccounts }: Services) => {
  const shown = presenterFor(quotas)
  return [
    route(c.createAccount, async ({ body, tx, audit }) => {
      const sandbox = body.sandbox ?? config.sandbox
      const id = await openAccount(tx, {
        name: body.name,
        onTrial: body.on_trial ?? false,
        requestsPerMinute: body.requests_per_minute,
        quotas: mergeQuotas({}, body.quotas ?? {}),
        sandbox,
      })
      if (config.sandbox && !sandbox) {
        sandboxAccounts.exclude(id)
        await changes.invalidate(tx, 'accounts')
      }
      const account = shown((await store.find(tx, id)) ?? refuse(refusals.unknownAccount(id)))
      await audit(tx, { target: account.uuid, account: id, after: audited(account) })
      return ok({ account })
    }),

    route(c.listAccounts, async ({ query }) => {
      const pageRequest = optionalPage(query, cursors.key(query.cursor))
      const search = { name: query.name ?? null, part: query.name_contains ?? null, state: query.state ?? null }
      const found = await store.page(db, search, pageRequest.read)
      const { rows, fields } = cutPage(pageRequest, found, ({ at, id }) => cursors.write({ time: at, id }))
      const total = pageRequest.limit === null ? { total: found.length } : totalFields(await store.count(db, search))
      return ok({ ...fields, ...total, accounts: rows.map(shown) })
    }),

    route(c.getAccount, async ({ params }) => {
      const row =
        (await store.find(db, idOf(params.account_uuid))) ?? refuse(refusals.unknownAccount(params.account_uuid))
      return ok({ account: shown(row) })
    }),

    route(c.changeAccount, async ({ params, body, tx, audit }) => {
      const id = idOf(params.account_uuid)
      await store.lock(tx, id)
      const row = (await store.find(tx, id)) ?? refuse(refusals.unknownAccount(params.account_uuid))
      await assertOpen(tx, id)
      const { max_api_request_count, max_number_check_count, low_balance, quotas: quotaChanges, ...settings } = body
      await setLowBalance(tx, id, low_balance)
      await store.change(tx, id, {
        ...row,
        ...settings,
        quotas: mergeQuotas(row.quotas, quotaChanges ?? {}),
        block_reason: body.blocked === false ? null : (body.block_reason ?? row.block_reason),
        max_api_requests: max_api_request_count === undefined ? row.max_api_requests : max_api_request_count,
        max_number_checks: max_number_check_count === undefined ? row.max_number_checks : max_number_check_count,
      })
      if (body.sandbox === false) sandboxAccounts.exclude(id)
      await changes.invalidate(tx, 'accounts')
      const account = shown((await store.find(tx, id)) ?? refuse(refusals.unknownAccount(params.account_uuid)))
      await audit(tx, { before: audited(shown(row)), after: audited(account) })
      return ok({ account })
    }),

    route(c.closeAccount, async ({ params, body, request, tx, audit }) => {
      const id = idOf(params.account_uuid)
      await store.lock(tx, id)
      const row = (await store.find(tx, id)) ?? refuse(refusals.unknownAccount(params.account_uuid))
      await assertOpen(tx, id)
      const { reason, write_off: writeOff = false } = body
      const by = request.operator?.id ?? null
      const { ended, writtenOff } = await closeAccount(tx, { changes, config }, id, { reason, writeOff, by })
      const account = shown((await store.find(tx, id)) ?? refuse(refusals.unknownAccount(params.account_uuid)))
      const written_off = decimal(writtenOff)
      await audit(tx, { before: audited(shown(row)), after: { ...audited(account), ended, written_off } })
      return ok({ account, ended, written_off })
    }),
  ]
}

/** The API keys of an account, for operators and for the account itself. */
const keyRoutes = ({ db, changes }: Services) => [
  route(k.createKey, async ({ params, body, request, tx, audit }) => {
    const row =
      (await store.find(tx, idOf(params.account_uuid))) ?? refuse(refusals.unknownAccount(params.account_uuid))
    await assertOpen(tx, row.id)
    const issued = await createKey(tx, request, row.id, body, null, null)
    await audit(tx, { target: issued.uuid, after: auditedKey(issued) })
    return ok(issued)
  }),

  route(k.listKeys, async ({ params }) => {
    const row =
      (await store.find(db, idOf(params.account_uuid))) ?? refuse(refusals.unknownAccount(params.account_uuid))
    const keys = await store.keys(db, row.id)
    return ok({ keys: keys.map(presentKey) })
  }),

  route(k.revokeKey, async ({ params, tx, audit }) => {
    const key = parse('KEY', params.key_uuid)
    const account = parse('ACC', params.account_uuid)
    const { scopes: _, ...revoked } =
      (key && account && (await store.revoke(tx, account, key))) || refuse(refusals.unknownKey(params.key_uuid))
    await audit(tx, { before: revoked })
    await changes.invalidate(tx, 'accounts')
    return ok({})
  }),

  route(k.listOwnKeys, async ({ account, key: own }) => {
    const keys = await store.keys(db, account.id)
    return ok({ keys: keys.map((key) => ({ ...presentKey(key), current: key.id === own.id })) })
  }),

  route(k.createOwnKey, async ({ account, key, body, request, tx, audit }) => {
    // A key of a key is revoked with it, when its member leaves.
    const madeBy = request.sessionAccount?.userId ?? (await store.makerOfKey(tx, account.id, key.id))
    const issued = await createKey(tx, request, account.id, body, key.limits, madeBy)
    await audit(tx, { target: issued.uuid, after: auditedKey(issued) })
    return ok(issued)
  }),

  route(k.revokeOwnKey, async ({ account, key, params, tx, audit }) => {
    const id = parse('KEY', params.key_uuid) ?? refuse(refusals.unknownKey(params.key_uuid))
    if (id === key.id) throw refusals.keyInUse()
    const { scopes, ...revoked } =
      (await store.revoke(tx, account.id, id)) ?? refuse(refusals.unknownKey(params.key_uuid))
    assertRevocable({ scopes }, key.limits)
    await audit(tx, { before: revoked })
    await changes.invalidate(tx, 'accounts')
    return ok({})
  }),
]

export const accountRoutes = (parts: Services) => [
  ...ownAccountRoutes(parts),
  ...managedAccountRoutes(parts),
  ...keyRoutes(parts),
]
