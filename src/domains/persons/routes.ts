import { assertMayMake } from '../../platform/http/credential-strength.ts'
import { type Endpoint, ok, route } from '../../platform/http/endpoint.ts'
import { cursorsOf } from '../../platform/http/list-cursor.ts'
import { cutPage, nextOf, requestedPage } from '../../platform/http/paging.ts'
import { refuse } from '../../platform/http/problem.ts'
import { parse } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import * as c from './contract.ts'
import { deliverPasswordLink, deliveryOf } from './invitations/deliver.ts'
import { makePasswordLink } from './invitations/links.ts'
import { invitationRoutes } from './invitations/routes.ts'
import { deleteMailedOfOthers, deleteUnused } from './invitations/store.ts'
import { mailedLinkRoutes } from './mailed-links/routes.ts'
import { meRoutes } from './me-routes.ts'
import { memberRoutes } from './members/routes.ts'
import { noticeChange } from './notices.ts'
import { passkeyRoutes } from './passkeys/routes.ts'
import { presentListed } from './present.ts'
import { refusals } from './refusals.ts'
import { secondFactorRoutes } from './second-factor/routes.ts'
import * as secondFactor from './second-factor/store.ts'
import { endAccessAndVoice } from './sessions/end-access.ts'
import { sessionRoutes } from './sessions/routes.ts'
import { makeSignInGate } from './sign-in-gate.ts'
import * as store from './store.ts'

const cursors = cursorsOf(c.listPersons)

const audited = (row: store.ListedPersonRow) => ({
  operator: row.operator,
  suspended: row.suspended_at !== null,
  second_factor: row.has_second_factor,
  email_proved: row.email_proved_at !== null,
})

/** Endpoints by which operators manage persons. */
const operatorRoutes = (services: Services) => {
  const { db, changes, publicUrl } = services
  return [
    route(c.listPersons, async ({ query }) => {
      const pageRequest = requestedPage(query, cursors.key(query.cursor))
      const found = await store.page(db, pageRequest.read)
      const { rows, fields } = cutPage(pageRequest, found, ({ at, id }) => cursors.write({ time: at, id }))
      return ok({ count: rows.length, persons: rows.map(presentListed), ...nextOf(fields) })
    }),

    route(c.changePerson, async ({ params, body, request, tx, audit }) => {
      const id = parse('PRS', params.person_uuid)
      const row = (id && (await store.lock(tx, id))) || refuse(refusals.unknownPerson(params.person_uuid))
      if (request.session?.person?.id === row.id) throw refusals.ownPerson()
      assertMayMake(request, { kind: 'operator' })
      const before = (await store.findListed(tx, row.id)) ?? refuse(refusals.unknownPerson(params.person_uuid))
      // An operator vouches for the address of an operator.
      const vouches = body.email_proved ?? (body.operator ? true : undefined)
      if (vouches === true) {
        if (!(await store.proveEmail(tx, row.id))) throw refusals.emailProvedElsewhere(row.email)
        await deleteMailedOfOthers(tx, row.id)
      } else if (vouches === false) await store.unproveEmail(tx, row.id)
      if (body.operator !== undefined) await store.setOperator(tx, row.id, body.operator)
      // A link that an administrator of an account made must not open the installation.
      if (body.operator) await deleteUnused(tx, { user: null, person: row.id })
      if (body.suspended !== undefined) await store.setSuspended(tx, row.id, body.suspended)
      const hasLostFactor = body.second_factor === false && (await secondFactor.remove(tx, row.id))
      if (hasLostFactor) await noticeChange(tx, services, request, row.id, 'second_factor_off')
      if (body.suspended === true || body.second_factor === false) await endAccessAndVoice(tx, services, row.id, null)
      const after = (await store.findListed(tx, row.id)) ?? refuse(refusals.unknownPerson(params.person_uuid))
      await audit(tx, { before: audited(before), after: audited(after) })
      await changes.invalidate(tx, 'sessions')
      return ok({ person: presentListed(after) })
    }),

    route(c.createPasswordLink, async ({ params, body, request, tx, audit }) => {
      const id = parse('PRS', params.person_uuid)
      const row = (id && (await store.lock(tx, id))) || refuse(refusals.unknownPerson(params.person_uuid))
      assertMayMake(request, { kind: 'link', role: null })
      const delivery = deliveryOf(services, body.delivery)
      if (delivery === 'mail' && (await store.hasYielded(tx, row.id))) throw refusals.emailProvedElsewhere(row.email)
      const invitedBy = request.operator?.label ?? 'operator'
      const link = await makePasswordLink(tx, publicUrl(), { person: row.id, account: null, invitedBy, delivery })
      const { expires_at } = link
      const sent = await deliverPasswordLink(tx, services, { link, delivery, to: row.email, account: null })
      await audit(tx, { after: { delivery, expires_at } })
      return ok({ ...('url' in sent ? { password_url: sent.url } : sent), expires_at })
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
    ...mailedLinkRoutes(services, gate),
    ...memberRoutes(services),
    ...operatorRoutes(services),
  ]
}
