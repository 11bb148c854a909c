import type { Sql, Tx } from '../../../platform/db/sql.ts'
import { ok, route, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { cursorsOf } from '../../../platform/http/list-cursor.ts'
import { cutPage, requestedPage, totalFields } from '../../../platform/http/paging.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { countDownload, limiterKeyOf } from '../../../platform/http/request-limiters.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import type { Services } from '../../../services.ts'
import { fileHeaders, findDocument, readFile } from '../../documents/ops.ts'
import { groupOf, offeredTo } from '../ops.ts'
import { refusals } from '../refusals.ts'
import * as c from './contract.ts'
import { approve, hasDocument, type Registration, refuseRegistration, registrationOf, submit } from './registration.ts'
import { presentRequirement, requirementsOf, unansweredOf, validateAnswers } from './requirements.ts'
import * as registrations from './store.ts'

const presentRegistration = (seal: Seal, { number, row, required, missing, answers }: Registration) => ({
  virtual_number_uuid: print('DID', number.id),
  phone_number: number.number,
  iso_country_code: number.iso_country_code,
  did_type: number.type,
  status_text: number.status_text,
  state: row?.state ?? ('none' as const),
  ...(row?.reason ? { reason: row.reason } : {}),
  ...(row && row.state !== 'approved' ? { due_at: iso(row.due_at) } : {}),
  satisfied: missing.length === 0,
  requirements: required.map(presentRequirement),
  missing: missing.map(presentRequirement),
  given: answers.map(({ requirement, document, sealed }) => ({
    requirement_id: requirement,
    ...(document ? { document_uuid: print('DOC', document) } : {}),
    ...(sealed ? { value: seal.open(sealed) } : {}),
  })),
})

const presentListedRegistration = (row: registrations.ListedRegistration) => ({
  virtual_number_uuid: print('DID', row.virtual_number_id),
  phone_number: row.number,
  iso_country_code: row.iso_country_code,
  did_type: row.type,
  status_text: row.status_text,
  account_uuid: print('ACC', row.account_id),
  state: row.state,
  missing: row.missing,
  ...(row.reason ? { reason: row.reason } : {}),
  due_at: iso(row.due_at),
  created_at: iso(row.created_at),
})

const cursors = cursorsOf(c.listRegistrations)

export const registrationRoutes = (parts: Services) => {
  const { db, seal } = parts

  /** Returns the id and the account of a number that an operator names. */
  const findNamed = async (sql: Sql, printed: string) => {
    const id = parse('DID', printed) ?? refuse(refusals.unknownRegistration(printed))
    const owner = (await registrations.accountOfNumber(sql, id)) ?? refuse(refusals.unknownRegistration(printed))
    return { id, account: owner.account_id }
  }

  const audited = async (tx: Tx, account: string, id: string) => {
    const found = await registrationOf(tx, account, id)
    return { state: found?.row?.state, reason: found?.row?.reason, status_text: found?.number.status_text }
  }

  return [
    routeWithoutTransaction(c.checkRequirements, async ({ account, body }) => {
      const group = await groupOf(db, body.group_id, offeredTo(parts, account.id))
      const required = await requirementsOf(db, group)
      const answers = await validateAnswers(db, account.id, required, body.requirements ?? [])
      const missing = unansweredOf(required, answers)
      return ok({ data: { satisfied: missing.length === 0, missing: missing.map(presentRequirement) } })
    }),

    route(c.getRegistration, async ({ account, params }) => {
      const printed = params.virtual_number_uuid
      const id = parse('DID', printed) ?? refuse(refusals.unknownVirtualNumber(printed))
      return ok({
        data: presentRegistration(
          seal,
          (await registrationOf(db, account.id, id)) ?? refuse(refusals.unknownVirtualNumber(printed)),
        ),
      })
    }),

    route(c.giveRequirements, async ({ account, params, body, tx }) => {
      const printed = params.virtual_number_uuid
      const id = parse('DID', printed) ?? refuse(refusals.unknownVirtualNumber(printed))
      const number = (await registrationOf(tx, account.id, id)) ?? refuse(refusals.unknownVirtualNumber(printed))
      await submit(tx, parts, account.id, number.number.id, body.requirements)
      return ok({
        data: presentRegistration(
          seal,
          (await registrationOf(tx, account.id, id)) ?? refuse(refusals.unknownVirtualNumber(printed)),
        ),
      })
    }),

    route(c.listRegistrations, async ({ query }) => {
      const { state = 'awaiting' } = query
      const filter = state === 'all' ? null : state
      const pageRequest = requestedPage(query, cursors.key(query.cursor))
      const [found, total] = await Promise.all([
        registrations.page(db, filter, pageRequest.read),
        registrations.total(db, filter),
      ])
      const { rows, fields } = cutPage(pageRequest, found, ({ at, virtual_number_id: id }) =>
        cursors.write({ time: at, id }),
      )
      return ok({ ...fields, ...totalFields(total), registrations: rows.map(presentListedRegistration) })
    }),

    route(c.showRegistration, async ({ params }) => {
      const { account, id } = await findNamed(db, params.virtual_number_uuid)
      const found =
        (await registrationOf(db, account, id)) ?? refuse(refusals.unknownRegistration(params.virtual_number_uuid))
      return ok({ registration: { ...presentRegistration(seal, found), account_uuid: print('ACC', account) } })
    }),

    routeWithoutTransaction(c.readRegistrationDocument, async ({ params, request, reply, audit }) => {
      const { account, id } = await findNamed(db, params.virtual_number_uuid)
      const printed = params.document_uuid
      const document = parse('DOC', printed) ?? refuse(refusals.documentNotOfNumber(printed))
      if (!(await hasDocument(db, account, id, document))) throw refusals.documentNotOfNumber(printed)
      const found = (await findDocument(db, account, document)) ?? refuse(refusals.documentNotOfNumber(printed))
      countDownload(parts.limiters, limiterKeyOf(request), reply)
      await audit(null, { account, after: { name: found.name, kind: found.kind } })
      reply.headers(fileHeaders(found))
      return readFile(db, seal, found)
    }),

    route(c.approveRegistration, async ({ params, tx, audit }) => {
      const { account, id } = await findNamed(tx, params.virtual_number_uuid)
      const before = await audited(tx, account, id)
      await approve(tx, parts, account, id)
      await audit(tx, { account, before, after: await audited(tx, account, id) })
      return ok({})
    }),

    route(c.refuseRegistration, async ({ params, body, tx, audit }) => {
      const { account, id } = await findNamed(tx, params.virtual_number_uuid)
      const before = await audited(tx, account, id)
      await refuseRegistration(tx, parts, account, id, body.reason, body.suspend ?? false)
      await audit(tx, { account, before, after: await audited(tx, account, id) })
      return ok({})
    }),
  ]
}
