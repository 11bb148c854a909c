import type { FastifyRequest } from 'fastify'
import type { Sql, Tx } from '../../platform/db/sql.ts'
import type { Audit } from '../../platform/http/audit-entry.ts'
import { ok, route } from '../../platform/http/endpoint.ts'
import { cursorsOf } from '../../platform/http/list-cursor.ts'
import { boundOf, cutPage, nextOf, requestedPage } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { iso } from '../../platform/lib/clock.ts'
import { parse, print } from '../../platform/lib/id.ts'
import { decimal, type Micros, micros } from '../../platform/lib/money.ts'
import type { Services } from '../../services.ts'
import { assertOpen } from '../accounts/ops.ts'
import { refusals as accountRefusals } from '../accounts/refusals.ts'
import * as c from './contract.ts'
import { maxAmountMicros } from './limits.ts'
import { adjust, deposit } from './ops.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'

/** Parses an amount other than zero, in micro-dollars. @throws Problem 400 */
const signedAmountOf = (value: string | number) => {
  const amount = micros(typeof value === 'number' ? value.toFixed(6) : value)
  return amount === null || amount === 0 || Math.abs(amount) > maxAmountMicros
    ? refuse(refusals.badSignedAmount())
    : amount
}

/** Parses an amount above zero, in micro-dollars. @throws Problem 400 */
const amountOf = (value: string | number) => {
  const amount = micros(typeof value === 'number' ? value.toFixed(6) : value)
  return amount === null || amount <= 0 || amount > maxAmountMicros ? refuse(refusals.badAmount()) : amount
}

const money = (numeric: string) => decimal(micros(numeric) ?? 0)

const timeOf = (value: string | undefined) => (value === undefined ? null : new Date(value))

/** Returns the id and balance of an existing account. */
const accountWithBalance = async (db: Sql, printed: string) => {
  const account = parse('ACC', printed) ?? refuse(accountRefusals.unknownAccount(printed))
  return { account, ...((await store.balance(db, account)) ?? refuse(accountRefusals.unknownAccount(printed))) }
}

/** Returns the field `made_by` of a transfer; none for the platform itself. */
const madeBy = ({ maker: kind, maker_prefix, maker_id, maker_label: label }: store.TransferRow) =>
  kind ? { made_by: { kind, uuid: print(maker_prefix, maker_id), ...(label === null ? {} : { label }) } } : {}

const transferCursors = cursorsOf(c.getLedger)
const holdCursors = cursorsOf(c.listHolds)

/** Returns the id of the request's operator key, as stored with a transfer. */
const keyOf = ({ operator }: FastifyRequest) => operator?.id ?? null

type Adjustment = {
  /** Negative to debit. */
  readonly amount: Micros
  readonly book: 'cash' | 'corrections'
  readonly kind: 'debit' | 'correction'
  /** The transfer to correct: its id without prefix. */
  readonly adjusts?: string | null
}

/** Changes a balance and stores the reason.
 *  @throws Problem 402 if it would fall below zero without allow_negative; 409 if it would exceed the corrected transfer */
const handleAdjustment = async (
  {
    params,
    body,
    request,
    tx,
    audit,
  }: {
    params: { account_uuid: string }
    body: { reason: string; allow_negative?: boolean }
    request: FastifyRequest
    tx: Tx
    audit: Audit
  },
  { amount, book, kind, adjusts = null }: Adjustment,
) => {
  const { account } = await accountWithBalance(tx, params.account_uuid)
  const reference = adjusts && print('TRF', adjusts)
  const what = { kind, note: body.reason, reference, by: keyOf(request), adjusts }
  const transfer = await adjust(tx, account, amount, book, what, body.allow_negative ? 'none' : 'above zero')
  if (!transfer) {
    if (amount > 0) throw refusals.balanceTooHigh()
    throw body.allow_negative ? refusals.balanceTooLow() : refusals.debitNotCovered(decimal(-amount))
  }
  const [balance, transfer_uuid] = [decimal(transfer.balance), print('TRF', transfer.transfer)]
  await audit(tx, {
    target: [params.account_uuid, transfer_uuid],
    before: { balance: decimal(transfer.balance - amount) },
    after: { balance, reason: body.reason },
  })
  return ok({ transfer_uuid, balance })
}

/** Returns the id of a transfer that may be corrected. @throws Problem 404; 409 for a hold or its release */
const finalTransfer = async (tx: Tx, account: string, printed: string): Promise<string> => {
  const id = parse('TRF', printed) ?? refuse(refusals.unknownTransfer(printed))
  const { kind } = (await store.correctable(tx, account, id)) ?? refuse(refusals.unknownTransfer(printed))
  return kind === 'hold' || kind === 'release' ? refuse(refusals.transferNotFinal(printed)) : id
}

export const ledgerRoutes = ({ db }: Services) => [
  route(c.creditAccount, async ({ params, body, request, tx, audit }) => {
    const { account } = await accountWithBalance(tx, params.account_uuid)
    await assertOpen(tx, account)
    const amount = amountOf(body.amount)
    const what = { kind: 'credit', note: body.note ?? null, by: keyOf(request) } as const
    const transfer = (await deposit(tx, account, amount, what)) ?? refuse(refusals.balanceTooHigh())
    const balance = decimal(transfer.balance)
    // The transfer is a target, so that the audit trail shows which key made it.
    const target = [params.account_uuid, print('TRF', transfer.transfer)]
    await audit(tx, { target, before: { balance: decimal(transfer.balance - amount) }, after: { balance } })
    return ok({ balance })
  }),

  route(c.debitAccount, async (call) =>
    handleAdjustment(call, { amount: -amountOf(call.body.amount), book: 'cash', kind: 'debit' }),
  ),

  route(c.correctBalance, async (call) => {
    const { account } = await accountWithBalance(call.tx, call.params.account_uuid)
    const { transfer_uuid: printed } = call.body
    const amount = signedAmountOf(call.body.amount)
    const adjusts = printed === undefined ? null : await finalTransfer(call.tx, account, printed)
    return handleAdjustment(call, { amount, book: 'corrections', kind: 'correction', adjusts })
  }),

  route(c.getLedger, async ({ params, query }) => {
    const { account, balance, held } = await accountWithBalance(db, params.account_uuid)
    const pageRequest = requestedPage(query, transferCursors.key(query.cursor), boundOf(query.until))
    const found = await store.page(
      db,
      account,
      { kind: query.kind ?? null, since: timeOf(query.since) },
      pageRequest.read,
    )
    const { rows, fields } = cutPage(pageRequest, found, ({ at, id }) => transferCursors.write({ time: at, id }))
    return ok({
      balance: money(balance),
      held: money(held),
      count: rows.length,
      transfers: rows.map((row) => ({
        uuid: print('TRF', row.id),
        kind: row.kind,
        debit: row.debit,
        credit: row.credit,
        amount: money(row.amount),
        ...(row.reference ? { reference: row.reference } : {}),
        ...(row.note ? { note: row.note } : {}),
        ...madeBy(row),
        created_at: iso(row.created_at),
      })),
      ...nextOf(fields),
    })
  }),

  route(c.listHolds, async ({ params, query }) => {
    const { account, held } = await accountWithBalance(db, params.account_uuid)
    const pageRequest = requestedPage(query, holdCursors.key(query.cursor))
    const { rows, fields } = cutPage(pageRequest, await store.holds(db, account, pageRequest.read), ({ at, id }) =>
      holdCursors.write({ time: at, id }),
    )
    return ok({
      held: money(held),
      count: rows.length,
      holds: rows.map((row) => ({
        uuid: print('HLD', row.id),
        kind: row.kind,
        reference: row.reference,
        amount: money(row.amount),
        created_at: iso(row.created_at),
      })),
      ...nextOf(fields),
    })
  }),
]
