import { countryBy, e164 } from '@trunkline/phone/phone.ts'
import type { Sql } from '../../../platform/db/sql.ts'
import { ok, route, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { cursorsOf } from '../../../platform/http/list-cursor.ts'
import { boundOf, cutPage, isNumbered, requestedPage, totalFields } from '../../../platform/http/paging.ts'
import { type Problem, refuse } from '../../../platform/http/problem.ts'
import { refusals as httpRefusals } from '../../../platform/http/refusals.ts'
import { charsetOf } from '../../../platform/http/upload.ts'
import { phoneNumber } from '../../../platform/http/validation.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import { readText } from '../../../platform/lib/text-encoding.ts'
import type { Services } from '../../../services.ts'
import { refusals as contactRefusals } from '../../contacts/refusals.ts'
import { isHidden, type NarrowingCall, narrowingOf } from '../../inbox/narrowing/ops.ts'
import { maxNamedFaults } from '../limits.ts'
import { refusals } from '../refusals.ts'
import { addOptOuts } from './add-opt-outs.ts'
import * as c from './contract.ts'
import { readOptOuts } from './opt-out-csv.ts'
import { type ImportResult, importOptOuts, makeImportResult } from './opt-out-import.ts'
import * as store from './store.ts'

const presentOptOut = (row: store.OptOutRow) => ({
  uuid: print('OPT', row.id),
  channel: 'sms' as const,
  contact_number: row.contact,
  ...(row.number === store.everyNumber ? {} : { phone_number: row.number }),
  reason: row.reason,
  ...(row.keyword === null ? {} : { keyword: row.keyword }),
  ...(row.note === null ? {} : { note: row.note }),
  created_at: iso(row.created_at),
})

/** Returns a contact as stored: in E.164 if possible, otherwise the sender's short code or name. */
const contactOf = (given: string): string => e164(given) ?? (given.startsWith('+') ? phoneNumber(given) : given)

const refusal = ({ read, faults }: ImportResult): Problem => {
  const first = faults.listed.slice(0, maxNamedFaults).map(({ line, error }) => `line ${line}: ${error}`)
  const rest = faults.count > maxNamedFaults ? `; and ${faults.count - maxNamedFaults} more` : ''
  const what = `${faults.count} bad of ${read} ${read === 1 ? 'line' : 'lines'}`
  const report = { bad_lines: faults.count, lines: faults.listed }
  return httpRefusals.fileRejected(`${what}; ${first.join('; ')}${rest}`, 'invalid_file', report)
}

const cursors = cursorsOf(c.listOptOuts)

export const optOutRoutes = ({ db, quotas }: Services) => {
  /** Finds an opt-out that a reader may see. @throws Problem 404 */
  const optOutOf = async (sql: Sql, call: NarrowingCall, printed: string): Promise<store.OptOutRow> => {
    const id = parse('OPT', printed)
    const row = (id && (await store.byId(sql, call.account.id, id))) || refuse(refusals.unknownOptOut(printed))
    const narrowing = await narrowingOf(sql, call)
    return (await isHidden(sql, narrowing, [row.contact])) ? refuse(refusals.unknownOptOut(printed)) : row
  }

  return [
    route(c.listOptOuts, async ({ query, ...call }) => {
      const { account } = call
      const filter: store.Filter = {
        contact: query.contact_number === undefined ? null : contactOf(query.contact_number),
        number: query.phone_number === undefined ? null : phoneNumber(query.phone_number),
        reason: query.reason ?? null,
        since: query.since === undefined ? null : new Date(query.since),
        narrowing: await narrowingOf(db, call),
      }
      const until = boundOf(query.until)
      const asked = requestedPage(query, cursors.key(query.cursor), until)
      const { rows: found, examined } = await store.page(db, account.id, filter, asked.read)
      const { rows, fields } = cutPage(asked, found, ({ at, id }) => cursors.write({ time: at, id }))
      const counted = isNumbered(query) ? await store.pageTotal(db, account.id, filter, until) : null
      return ok({
        ...(examined === null ? {} : { next_cursor: cursors.write(examined) }),
        ...fields,
        ...(counted === null ? {} : totalFields(counted.total, counted.isCut)),
        opt_outs: rows.map(presentOptOut),
      })
    }),

    route(c.createOptOut, async ({ body, tx, audit, reply, ...call }) => {
      const { account } = call
      const contact = phoneNumber(body.contact_number)
      const number = body.phone_number === undefined ? store.everyNumber : phoneNumber(body.phone_number)
      if (number !== store.everyNumber && !(await store.numbersOf(tx, account.id, [number])).has(number))
        throw refusals.unknownSender(number).at('phone_number')
      const optOut = { contact, number, note: body.note?.trim() ?? null }
      for (;;) {
        const [id] = await addOptOuts(tx, quotas, account, body.reason ?? 'manual', [optOut])
        const row = await store.byPair(tx, { account: account.id, contact, number })
        // It existed, and has been removed since.
        if (row === null) continue
        // An agent may opt out a person of another one, and learns nothing that the person wrote.
        const isForeign = id === undefined && (await isHidden(tx, await narrowingOf(tx, call), [contact]))
        const shown = presentOptOut(isForeign ? { ...row, keyword: null, note: null } : row)
        if (id === undefined) reply.code(200)
        await audit(tx, { target: shown.uuid, before: id === undefined ? shown : undefined, after: shown })
        return ok({ opt_out: shown })
      }
    }),

    routeWithoutTransaction(c.importOptOuts, async ({ account, body, query, request, audit }) => {
      if (body === undefined) throw refusals.bodyNotOptOuts()
      const country =
        query.country === undefined
          ? undefined
          : (countryBy(query.country) ?? refuse(contactRefusals.unknownCountry(query.country)))
      const result = makeImportResult()
      try {
        await importOptOuts({ db, quotas }, account, readOptOuts(readText(body, charsetOf(request)), country), result)
      } finally {
        const { created, skipped, faults } = result
        if (created > 0)
          await audit(null, { target: print('ACC', account.id), after: { created, skipped, bad_lines: faults.count } })
      }
      const { read, created, skipped, faults } = result
      if (created + skipped === 0) throw refusal(result)
      return ok({ read, created, skipped, bad_lines: faults.count, lines: [...faults.listed] })
    }),

    route(c.getOptOut, async ({ params, ...call }) =>
      ok({ opt_out: presentOptOut(await optOutOf(db, call, params.opt_out_uuid)) }),
    ),

    route(c.deleteOptOut, async ({ params: { opt_out_uuid: printed }, tx, audit, ...call }) => {
      const row = await optOutOf(tx, call, printed)
      if (!(await store.remove(tx, call.account.id, row.id))) throw refusals.unknownOptOut(printed)
      await audit(tx, { before: presentOptOut(row) })
      return ok({})
    }),
  ]
}
