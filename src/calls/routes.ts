import type { Static } from 'typebox'
import { findConnection } from '../connections/ops.ts'
import { cursorsOf } from '../http/cursor.ts'
import { ok, serve, serveOutside } from '../http/endpoint.ts'
import { conflict, notFound, Problem, unprocessable } from '../http/problem.ts'
import { pageOf } from '../http/schema.ts'
import { phoneNumber } from '../http/validation.ts'
import { iso } from '../lib/clock.ts'
import { parse, print } from '../lib/id.ts'
import { dollars } from '../lib/money.ts'
import { mainCountryOf } from '../lib/phone.ts'
import { calledNumber } from '../numbers/ops.ts'
import type { Parts } from '../parts.ts'
import { userOf } from '../users/ops.ts'
import * as c from './contract.ts'
import { setLimits } from './limits.ts'
import { recordingLinks } from './links.ts'
import { shownCall } from './shown.ts'
import * as store from './store.ts'
import * as story from './story.ts'
import { veiled } from './veil.ts'

const timeOf = (given: string | undefined) => (given === undefined ? null : new Date(given))
const numberOf = (given: string | undefined) => (given === undefined ? null : phoneNumber(given))

/** Each is asked of calls of its own direction alone. */
const parties = ({ direction, to_number, from_number }: Static<typeof c.getCallHistory.query>) => {
  const [to, from] = [numberOf(to_number), numberOf(from_number)]
  return { to: direction === 'inbound' ? null : to, from: direction === 'outbound' ? null : from }
}

const shownLine = ({ at, leg, what, text }: story.Line) => ({ at: iso(at), ...(leg ? { leg } : {}), what, text })

const unknownAccount = (printed: string) => notFound(`No account ${printed}`)

const cursors = cursorsOf(c.getCallHistory)

export const callRoutes = (parts: Parts) => {
  const { db, prices, voice, changes } = parts
  const { of: linkOf } = recordingLinks(parts)
  const callOf = async (account: string | null, printed: string) => {
    const id = parse('CDR', printed)
    return (account && id && (await store.find(db, account, id))) || notFound(`Call ${printed} does not exist`)
  }
  return [
    serve(c.estimateCallPrice, async ({ account, params }) => {
      const number = phoneNumber(params.number)
      const isOwn = (await calledNumber(db, number))?.account_id === account.id
      const price = isOwn
        ? 0
        : (prices.of('call_out', number) ??
          unprocessable(`There is no price for calls to ${number}`, 'destination_not_priced'))
      return ok({
        price_per_minute: dollars(price),
        currency: 'USD' as const,
        iso_country_code: mainCountryOf(number) ?? '',
      })
    }),

    serve(c.getCallHistory, async ({ account, query }) => {
      const { page, limit, offset } = pageOf(query)
      const after = cursors.read(query.cursor)
      const filter: store.Filter = {
        direction: query.direction === undefined ? null : query.direction === 'inbound' ? 'I' : 'O',
        ...parties(query),
        status: query.status ?? null,
        since: timeOf(query.since),
        until: timeOf(query.until),
      }
      const rows = await store.page(db, account.id, filter, after, limit + 1, after ? 0 : offset)
      const shown = rows.slice(0, limit)
      const last = rows.length > limit ? shown.at(-1) : undefined
      return ok({
        count: shown.length,
        page,
        total: await store.total(db, account.id, filter),
        cdrs: shown.map((row) => shownCall(row, linkOf)),
        ...(last ? { next_cursor: cursors.write({ time: last.at, id: last.id }) } : {}),
      })
    }),

    serve(c.getCall, async ({ account, params }) => {
      const row = await callOf(account.id, params.call_uuid)
      const agent = row.user_id ? await userOf(db, account.id, row.user_id) : null
      return ok({
        cdr: shownCall(row, linkOf),
        ...(agent
          ? {
              agent: {
                uuid: print('USR', agent.id),
                first_name: agent.first_name,
                last_name: agent.last_name,
                full_name: `${agent.first_name} ${agent.last_name}`,
              },
            }
          : {}),
      })
    }),

    serve(c.getCallTimeline, async ({ account, params }) => {
      const row = await callOf(account.id, params.call_uuid)
      const lines = await story.read(db, row.account_id, row.id)
      return ok({ timeline: lines.map((line) => shownLine(veiled(row, line))) })
    }),

    serve(c.getCallTimelineOfAccount, async ({ params }) => {
      const row = await callOf(parse('ACC', params.account_uuid), params.call_uuid)
      return ok({ timeline: (await story.read(db, row.account_id, row.id)).map(shownLine) })
    }),

    serve(c.listOpenCalls, async ({ query }) => {
      const { page, limit, offset } = pageOf(query)
      const rows = await store.open(db, limit, offset)
      const total = await store.openTotal(db)
      return ok({ count: rows.length, page, total, cdrs: rows.map((row) => shownCall(row)) })
    }),

    serve(c.hangUpCall, async ({ params, tx, audit }) => {
      const { account_id, id, is_msgapp } = await callOf(parse('ACC', params.account_uuid), params.call_uuid)
      if (is_msgapp)
        throw new Problem('notSupported', 'A call on the messaging app is on devices elsewhere: only they can end it')
      const row = (await store.askToHangUp(tx, account_id, id)) ?? conflict('The call has ended already', 'call_ended')
      await audit(tx, { after: { hangup: 'requested' } })
      await changes.announce(tx, 'calls')
      return ok({ cdr: shownCall(row, linkOf) })
    }),

    serve(c.getCallLimits, async ({ params }) => {
      const account = parse('ACC', params.account_uuid) ?? unknownAccount(params.account_uuid)
      // A change of nothing says whether there is such an account.
      return ok({ limits: (await db.begin((tx) => setLimits(tx, account, {}))) ?? unknownAccount(params.account_uuid) })
    }),

    serve(c.changeCallLimits, async ({ params, body, tx, audit }) => {
      const account = parse('ACC', params.account_uuid) ?? unknownAccount(params.account_uuid)
      const before = (await setLimits(tx, account, {})) ?? unknownAccount(params.account_uuid)
      const limits = (await setLimits(tx, account, body)) ?? unknownAccount(params.account_uuid)
      await audit(tx, { before, after: limits })
      return ok({ limits })
    }),

    serveOutside(c.checkTrunk, async ({ params, body, audit }) => {
      const name = params.trunk_name
      const echo = numberOf(body.echo_number)
      const trunk =
        (await findConnection(db, ['sip-trunk'], { name }, null)) ?? notFound(`There is no SIP trunk ${name}`)
      const findings = (await voice.examine(trunk.id, echo)).map(({ mend, isWarning, ...one }) => ({
        ...one,
        ...(isWarning ? { warning: true } : {}),
        ...(mend ? { mend } : {}),
      }))
      const working = findings.every(({ well, warning }) => well || warning)
      await audit(null, { target: [print('CNX', trunk.id), name], after: { working, echo_number: echo } })
      return ok({ working, findings })
    }),
  ]
}
