import type { Static } from 'typebox'
import {
  type CallCommand,
  type CallRow,
  callsByIds,
  pageOfCalls,
  visibleCalls,
} from '../../../domains/calls/compat/ops.ts'
import { type NarrowingCall, narrowingOf } from '../../../domains/inbox/narrowing/ops.ts'
import type { Sql } from '../../../platform/db/sql.ts'
import { type Endpoint, route, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { print } from '../../../platform/lib/id.ts'
import { parseSid, printSid } from '../../../platform/lib/sid.ts'
import type { Services } from '../../../services.ts'
import { checkAddresses } from '../address-check.ts'
import { cutPage, pageFields, pageOf, rangeOf, type TwilioPage } from '../list-pages.ts'
import { refusals } from '../refusals.ts'
import * as store from '../store.ts'
import { commandCall, findVisibleCall } from './call-access.ts'
import { presentCall } from './call-fields.ts'
import { programOf } from './call-program.ts'
import * as c from './contract.ts'
import { createCallRoute } from './create-route.ts'
import { filterOf } from './list-filter.ts'

const list = c.listCalls.id

/** Returns the command of an update; null if there is nothing to do. @throws Problem 400 */
const commandOf = async (row: CallRow, body: Static<typeof c.updateCall.body>): Promise<CallCommand | null> => {
  if (body.Status === 'canceled' && row.answered_at !== null) return null
  if (body.Status) return { command: 'hangup' }
  const program = await programOf(body)
  return program && { command: 'redirect', program }
}

/** Calls of a page, newest first, and the key of the last one that was examined if more may follow. */
type CallPage = {
  readonly rows: readonly CallRow[]
  readonly next: { readonly time: string; readonly id: string } | null
}

/** Returns a page of the calls that a call dialled. */
const pageOfDialled = async (
  sql: Sql,
  account: string,
  page: TwilioPage,
  {
    sid,
    since,
    bound,
  }: { readonly sid: string; readonly since: Date | null; readonly bound: readonly string[] | null },
): Promise<CallPage> => {
  const parent = parseSid('CA', sid)
  if (parent === null) return { rows: [], next: null }
  const found = await store.pageOfChildren(sql, account, { parent, since }, rangeOf(page, bound))
  const { rows: keys, next } = cutPage(found, page)
  const ids = keys.map(({ id }) => id)
  const calls = new Map((await callsByIds(sql, account, ids)).map((row) => [row.id, row]))
  return { rows: ids.flatMap((id) => calls.get(id) ?? []), next }
}

export const callRoutes = (parts: Services): Endpoint[] => {
  const { db, outbound } = parts

  /** Returns a page of the calls that the reader may see. @param parent SID of the call that dialled them, if one is asked for */
  const pageIn = async (
    call: NarrowingCall,
    page: TwilioPage,
    parent: string | undefined,
    { filter, bound }: Pick<ReturnType<typeof filterOf>, 'filter' | 'bound'>,
  ): Promise<CallPage> => {
    const { id: account } = call.account
    const narrowing = await narrowingOf(db, call, 'read_only')
    if (parent === undefined) {
      const found = await pageOfCalls(db, account, { ...filter, narrowing }, rangeOf(page, bound))
      const { rows, next } = cutPage(found.rows, page)
      return { rows, next: next ?? found.examined }
    }
    const { rows, next } = await pageOfDialled(db, account, page, { sid: parent, since: filter.since, bound })
    if (narrowing === null) return { rows, next }
    const seen = await visibleCalls(
      db,
      narrowing,
      rows.map(({ id }) => id),
    )
    return { rows: rows.filter(({ id }) => seen.has(id)), next }
  }

  return [
    createCallRoute(parts),

    route(c.listCalls, async ({ query, ...call }) => {
      const { account } = call
      const path = `/2010-04-01/Accounts/${printSid('AC', account.id)}/Calls`
      const page = pageOf(list, query)
      const { isShown, ...criteria } = filterOf(query)
      const { rows, next } = await pageIn(call, page, query.ParentCallSid, criteria)
      const ids = rows.map(({ id }) => id)
      const deleted = await store.deletedCallsAmong(db, account.id, ids)
      const shown = rows.filter((row) => !deleted.has(row.id) && isShown(row))
      return { ...pageFields(list, path, query, page, shown.length, next), calls: shown.map(presentCall) }
    }),

    route(c.fetchCall, async ({ params, ...call }) =>
      presentCall(await findVisibleCall(db, call, params.Sid, 'read_only')),
    ),

    // Without a transaction: the process of the call sees a command only once it is committed.
    routeWithoutTransaction(c.updateCall, async ({ params, body, isSandbox, audit, ...call }) => {
      const row = await findVisibleCall(db, call, params.Sid)
      await checkAddresses(outbound.of(isSandbox), body, ['Url', 'FallbackUrl'], refusals.badCallUrl)
      const command = await commandOf(row, body)
      if (command !== null)
        await commandCall(parts, call.account, row, command, (tx) =>
          audit(tx, { target: print('CDR', row.id), after: { command: command.command } }),
        )
      return presentCall(await findVisibleCall(db, call, params.Sid))
    }),

    route(c.deleteCall, async ({ params, tx, audit, ...call }) => {
      const row = await findVisibleCall(tx, call, params.Sid)
      if (row.ended_at === null) throw refusals.callInProgress()
      await store.markCallDeleted(tx, row.account_id, row.id)
      await audit(tx, { target: print('CDR', row.id) })
      return {}
    }),
  ]
}
