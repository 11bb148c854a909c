import { assertMayMake } from '../../platform/http/credential-strength.ts'
import { cursorsOf } from '../../platform/http/cursor.ts'
import { type Endpoint, ok, route } from '../../platform/http/endpoint.ts'
import { cutPage, nextOf, requestedPage } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { parse } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import * as c from './contract.ts'
import { makePasswordLink } from './invitations/links.ts'
import { invitationRoutes } from './invitations/routes.ts'
import { deleteUnused } from './invitations/store.ts'
import { meRoutes } from './me-routes.ts'
import { memberRoutes } from './members/routes.ts'
import { passkeyRoutes } from './passkeys/routes.ts'
import { presentListed } from './present.ts'
import { refusals } from './refusals.ts'
import { secondFactorRoutes } from './second-factor/routes.ts'
import * as secondFactor from './second-factor/store.ts'
import { sessionRoutes } from './sessions/routes.ts'
import { makeSignInGate } from './sign-in-gate.ts'
import * as store from './store.ts'
import { endAccess } from './visit.ts'

const cursors = cursorsOf(c.listPersons)

const audited = (row: store.ListedPersonRow) => ({
  operator: row.operator,
  suspended: row.suspended_at !== null,
  second_factor: row.has_second_factor,
})

/** Endpoints by which operators manage persons. */
const operatorRoutes = (services: Services) => {
  const { db, changes, publicUrl } = services
  return [
    route(c.listPersons, async ({ query }) => {
      const asked = requestedPage(query, cursors.key(query.cursor))
      const found = await store.page(db, asked.read)
      const { rows, fields } = cutPage(asked, found, ({ at, id }) => cursors.write({ time: at, id }))
      return ok({ count: rows.length, persons: rows.map(presentListed), ...nextOf(fields) })
    }),

    route(c.changePerson, async ({ params, body, request, tx, audit }) => {
      const id = parse('PRS', params.person_uuid)
      const row = (id && (await store.lock(tx, id))) || refuse(refusals.unknownPerson(params.person_uuid))
      if (request.session?.person?.id === row.id) throw refusals.ownPerson()
      assertMayMake(request, { kind: 'operator' })
      const before = (await store.findListed(tx, row.id)) ?? refuse(refusals.unknownPerson(params.person_uuid))
      if (body.operator !== undefined) await store.setOperator(tx, row.id, body.operator)
      // A link that an administrator of an account made must not open the installation.
      if (body.operator) await deleteUnused(tx, { user: null, person: row.id })
      if (body.suspended !== undefined) await store.setSuspended(tx, row.id, body.suspended)
      if (body.second_factor === false) await secondFactor.remove(tx, row.id)
      if (body.suspended === true || body.second_factor === false) await endAccess(tx, services, row.id, null)
      const after = (await store.findListed(tx, row.id)) ?? refuse(refusals.unknownPerson(params.person_uuid))
      await audit(tx, { before: audited(before), after: audited(after) })
      await changes.invalidate(tx, 'sessions')
      return ok({ person: presentListed(after) })
    }),

    route(c.createPasswordLink, async ({ params, request, tx, audit }) => {
      const id = parse('PRS', params.person_uuid)
      const row = (id && (await store.lock(tx, id))) || refuse(refusals.unknownPerson(params.person_uuid))
      assertMayMake(request, { kind: 'link', role: null })
      const { url, expires_at } = await makePasswordLink(tx, publicUrl(), row.id, request.operator?.label ?? 'operator')
      await audit(tx, { after: { expires_at } })
      return ok({ password_url: url, expires_at })
    }),
  ]
}

/** Endpoints of persons, their sessions, invitations and memberships. */
export const personRoutes = (services: Services): Endpoint[] => {
  const gate = makeSignInGate(services.config.wrongKeysPerMinute > 0)
  return [
    ...sessionRoutes(services, gate),
    ...meRoutes(services, gate),
    ...secondFactorRoutes(services, gate),
    ...passkeyRoutes(services),
    ...invitationRoutes(services, gate),
    ...memberRoutes(services),
    ...operatorRoutes(services),
  ]
}
