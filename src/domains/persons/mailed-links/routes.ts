import { assertMayMake } from '../../../platform/http/credential-strength.ts'
import { ok, route } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import type { Session } from '../../../platform/http/session.ts'
import { enqueue } from '../../../platform/jobs/queue.ts'
import { print } from '../../../platform/lib/id.ts'
import { keyHash } from '../../../platform/lib/secret.ts'
import type { Services } from '../../../services.ts'
import { queueMail } from '../../mail/ops.ts'
import { makeProofLink } from '../invitations/links.ts'
import * as invitations from '../invitations/store.ts'
import { makeTokenLookup } from '../invitations/token-lookup.ts'
import { rememberPerson } from '../known-browser.ts'
import { noticeChange } from '../notices.ts'
import { presentPerson } from '../present.ts'
import { refusals } from '../refusals.ts'
import { endAccessAndVoice } from '../sessions/end-access.ts'
import type { SignInGate } from '../sign-in-gate.ts'
import * as persons from '../store.ts'
import { emailKeyOf, recordVisit } from '../visit.ts'
import * as c from './contract.ts'
import { type ResetPayload, resetKind } from './jobs.ts'

const personOf = ({ person }: Session) => person ?? refuse(refusals.noPerson())

/** Endpoints of the links that persons are mailed when they ask for them. */
export const mailedLinkRoutes = (services: Services, gate: SignInGate) => {
  const { mail, changes, publicUrl } = services
  const knownHash = makeTokenLookup(services)
  return [
    // A job looks for the persons, so that the time of the reply does not depend on them.
    route(c.requestPasswordReset, async ({ body, request, tx }) => {
      const email = emailKeyOf(body.email)
      assertMayMake(request, { kind: 'own-link' })
      gate.admitMail(request.ip, email)
      if (!mail.isConfigured) return ok({})
      const payload: ResetPayload = { email }
      await enqueue(tx, resetKind, { ...payload }, { key: keyHash(email).toString('base64url') })
      return ok({})
    }),

    route(c.requestEmailProof, async ({ session, request, tx }) => {
      const person = (await persons.lock(tx, personOf(session).id)) ?? refuse(refusals.noPerson())
      assertMayMake(request, { kind: 'own-link' })
      if (person.email_proved_at) throw refusals.emailIsProved()
      if (await persons.hasYielded(tx, person.id)) throw refusals.emailProvedElsewhere(person.email)
      const { url, expires_at } = await makeProofLink(tx, publicUrl(), person.id)
      const values = { link: url, expires_at }
      await queueMail(tx, services, { to: person.email, template: 'prove_address', values, account: null })
      await recordVisit(tx, request, session, 'requestEmailProof', { target: print('PRS', person.id) })
      return ok({ mailed_to: person.email, expires_at })
    }),

    route(c.proveEmail, async ({ session, body, request, reply, tx }) => {
      const { id } = personOf(session)
      const hash = await knownHash(request.ip, body.token)
      const link = await invitations.find(tx, hash)
      if (link?.kind !== 'proof' || link.person_id !== id || !(await invitations.use(tx, hash)))
        throw refusals.unknownProof()
      const person = (await persons.lock(tx, id)) ?? refuse(refusals.noPerson())
      if (!(await persons.proveEmail(tx, id))) throw refusals.emailProvedElsewhere(person.email)
      await invitations.deleteMailedOfOthers(tx, id)
      // Another person may have had this one until now, as at an invitation.
      await endAccessAndVoice(tx, services, id, session.id)
      const proved = (await persons.find(tx, id)) ?? refuse(refusals.noPerson())
      rememberPerson(services, request, reply, proved)
      await noticeChange(tx, services, request, id, 'email_proved')
      const entry = { target: print('PRS', id), after: { email_proved: true } }
      await recordVisit(tx, request, session, 'proveEmail', entry)
      await changes.invalidate(tx, 'sessions')
      return ok({ person: presentPerson(proved) })
    }),
  ]
}
