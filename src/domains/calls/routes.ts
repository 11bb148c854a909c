import { mainCountryOf } from '@trunkline/phone/phone.ts'
import { hasOneOf } from '../../platform/http/capability.ts'
import { ok, route, routeWithoutTransaction } from '../../platform/http/endpoint.ts'
import { cursorsOf } from '../../platform/http/list-cursor.ts'
import { boundOf, cutPage, requestedPage, totalFields } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { phoneNumber } from '../../platform/http/validation.ts'
import { fullName } from '../../platform/lib/full-name.ts'
import { parse, print } from '../../platform/lib/id.ts'
import { dollars } from '../../platform/lib/money.ts'
import type { Services } from '../../services.ts'
import { refusals as accountRefusals } from '../accounts/refusals.ts'
import { findConnection } from '../connections/ops.ts'
import { narrowingOf } from '../inbox/narrowing/ops.ts'
import { calledNumber } from '../numbers/ops.ts'
import { presentTimeline, publicationOf } from '../timelines/ops.ts'
import { userOf } from '../users/ops.ts'
import { callNames, readFilter } from './call-filter.ts'
import { presentCall } from './call-presenter.ts'
import * as c from './contract.ts'
import { presentDefaults, setLimits } from './control/call-limits.ts'
import { recordingLinks } from './recordings/recording-links.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'
import { callFacts, callSubject } from './timeline/call-facts.ts'
import * as story from './timeline/call-timeline.ts'
import { callVerdict } from './timeline/end-reasons.ts'
import { programFacts, readSteps } from './timeline/program-steps.ts'
import { redact } from './timeline/redact.ts'
import { callOf, visibleCallOf } from './visible-call.ts'

const numberOf = (value: string | undefined) => (value === undefined ? null : phoneNumber(value))

const cursors = cursorsOf(c.getCallHistory)
const openCursors = cursorsOf(c.listOpenCalls)

const timelineOf = async (
  { db, clock }: Services,
  row: store.CallRow,
  showsMoney: boolean,
  shown = (line: story.TimelineEntry) => line,
) => {
  const [lines, steps, publication] = await Promise.all([
    story.readTimeline(db, row.account_id, row.id),
    readSteps(db, row.account_id, row.id),
    publicationOf(db, row.account_id, callSubject(row, clock.offset() * 1000)),
  ])
  const known = callFacts(row, lines.map(shown), publication, showsMoney)
  return ok(presentTimeline([...known, ...programFacts(steps)], callVerdict(row)))
}

/** Prices and the calls of an account. */
const accountCallRoutes = (parts: Services) => {
  const { db, prices } = parts
  const { urlOf: linkOf } = recordingLinks(parts)
  return [
    route(c.estimateCallPrice, async ({ account, params }) => {
      const number = phoneNumber(params.number)
      const isOwn = (await calledNumber(db, number))?.account_id === account.id
      const price = isOwn ? 0 : (prices.of('call_out', number) ?? refuse(refusals.destinationNotPriced(number)))
      return ok({
        price_per_minute: dollars(price),
        currency: 'USD' as const,
        iso_country_code: mainCountryOf(number) ?? '',
      })
    }),

    route(c.getCallHistory, async ({ query, ...call }) => {
      const { account, key } = call
      const filter = await readFilter(db, account.id, query, key, await narrowingOf(db, call, 'read_only'))
      const until = boundOf(query.until)
      const pageRequest = requestedPage(query, cursors.key(query.cursor), until)
      const { rows: found, examined } = await store.page(db, account.id, filter, pageRequest.read)
      const { rows, fields } = cutPage(pageRequest, found, ({ at, id }) => cursors.write({ time: at, id }))
      const counted = await store.total(db, account.id, filter, until)
      const nameOf = await callNames(db, rows, key)
      return ok({
        ...(examined === null ? {} : { next_cursor: cursors.write(examined) }),
        ...fields,
        ...totalFields(counted.total, counted.isCut),
        cdrs: rows.map((row) => ({ ...presentCall(row, linkOf), ...nameOf(row) })),
      })
    }),

    route(c.getCall, async ({ params, ...call }) => {
      const { account, key } = call
      const row = await visibleCallOf(db, call, params.call_uuid, 'read_only')
      const agent = row.user_id ? await userOf(db, account.id, row.user_id) : null
      const nameOf = await callNames(db, [row], key)
      return ok({
        cdr: { ...presentCall(row, linkOf), ...nameOf(row) },
        ...(agent
          ? {
              agent: {
                uuid: print('USR', agent.id),
                first_name: agent.first_name,
                last_name: agent.last_name,
                full_name: fullName(agent),
              },
            }
          : {}),
      })
    }),

    route(c.getCallTimeline, async ({ params, ...call }) => {
      const row = await visibleCallOf(db, call, params.call_uuid, 'read_only')
      return timelineOf(parts, row, hasOneOf(call.key, 'money', 'inbox'), (line) => redact(row, line))
    }),
  ]
}

/** Calls of all accounts, their limits and trunks, for operators. */
const operatorCallRoutes = (parts: Services) => {
  const { db, config, voice, changes, remoteConnections } = parts
  const { urlOf: linkOf } = recordingLinks(parts)
  return [
    route(c.getCallTimelineOfAccount, async ({ params }) => {
      return timelineOf(parts, await callOf(db, parse('ACC', params.account_uuid), params.call_uuid), true)
    }),

    route(c.getAssertedCaller, async ({ params }) => {
      const { asserted_number } = await callOf(db, parse('ACC', params.account_uuid), params.call_uuid)
      return ok({ asserted_number })
    }),

    route(c.listOpenCalls, async ({ query }) => {
      const pageRequest = requestedPage(query, openCursors.key(query.cursor))
      const { rows, fields } = cutPage(pageRequest, await store.findOpen(db, pageRequest.read), ({ at, id }) =>
        openCursors.write({ time: at, id }),
      )
      return ok({ ...fields, ...totalFields(await store.countOpen(db)), cdrs: rows.map((row) => presentCall(row)) })
    }),

    route(c.hangUpCall, async ({ params, tx, audit }) => {
      const { account_id, id, is_msgapp } = await callOf(db, parse('ACC', params.account_uuid), params.call_uuid)
      if (is_msgapp) throw refusals.callOnOtherDevices()
      const row = (await store.requestHangUp(tx, account_id, id)) ?? refuse(refusals.callEnded())
      await audit(tx, { after: { hangup: 'requested' } })
      await changes.invalidate(tx, 'calls')
      return ok({ cdr: presentCall(row, linkOf) })
    }),

    route(c.getCallLimits, async ({ params }) => {
      const account = parse('ACC', params.account_uuid) ?? refuse(accountRefusals.unknownAccount(params.account_uuid))
      // An empty change shows whether the account exists.
      const limits =
        (await db.begin((tx) => setLimits(tx, account, {}))) ??
        refuse(accountRefusals.unknownAccount(params.account_uuid))
      return ok({ limits, defaults: presentDefaults(config) })
    }),

    route(c.changeCallLimits, async ({ params, body, tx, audit }) => {
      const account = parse('ACC', params.account_uuid) ?? refuse(accountRefusals.unknownAccount(params.account_uuid))
      const before = (await setLimits(tx, account, {})) ?? refuse(accountRefusals.unknownAccount(params.account_uuid))
      const limits = (await setLimits(tx, account, body)) ?? refuse(accountRefusals.unknownAccount(params.account_uuid))
      await audit(tx, { before, after: limits })
      return ok({ limits, defaults: presentDefaults(config) })
    }),

    routeWithoutTransaction(c.checkTrunk, async ({ params, body, audit }) => {
      const name = params.trunk_name
      const echo = numberOf(body.echo_number)
      const trunk = (await findConnection(db, ['sip-trunk'], { name }, null)) ?? refuse(refusals.unknownTrunk(name))
      const from = voice.state(trunk.id) ? voice : remoteConnections
      const findings = (await from.examine(trunk.id, echo)).map(({ mend, isWarning, ...one }) => ({
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

export const callRoutes = (parts: Services) => [...accountCallRoutes(parts), ...operatorCallRoutes(parts)]
