import { assertMayMake } from '../../../platform/http/credential-strength.ts'
import { ok, route, routeWithoutTransaction } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import type { Session } from '../../../platform/http/session.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { print } from '../../../platform/lib/id.ts'
import { keyHash } from '../../../platform/lib/secret.ts'
import type { Services } from '../../../services.ts'
import { rememberPerson } from '../known-browser.ts'
import { noticeChange } from '../notices.ts'
import { refusals } from '../refusals.ts'
import type { SignInGate } from '../sign-in-gate.ts'
import { endAccess, recordRefusal, recordVisit, visitorOfSession } from '../visit.ts'
import { acceptAppCode, sealSecret } from './check.ts'
import * as c from './contract.ts'
import * as store from './store.ts'
import { bareCode, base32, makeRecoveryCodes, makeSecret, otpauthUrl } from './totp.ts'

const personOf = ({ person }: Session) => person ?? refuse(refusals.noPerson())

/** Endpoints of a person's authenticator app. */
export const secondFactorRoutes = (services: Services, gate: SignInGate) => {
  const { db, seal } = services
  return [
    route(c.showSecondFactor, async ({ session }) => {
      const person = personOf(session)
      const at = (await store.find(db, person.id))?.activated_at
      return ok({
        active: Boolean(at),
        ...(at ? { activated_at: iso(at) } : {}),
        recovery_codes_left: await store.countRecoveryCodes(db, person.id),
      })
    }),

    route(c.prepareSecondFactor, async ({ session, request, tx }) => {
      const person = personOf(session)
      assertMayMake(request, { kind: 'factor' })
      const secret = makeSecret()
      if (!(await store.prepare(tx, person.id, sealSecret(seal, person.id, secret))))
        throw refusals.secondFactorExists()
      await recordVisit(tx, request, session, 'prepareSecondFactor', { target: print('PRS', person.id) })
      return ok({ secret: base32(secret), otpauth_url: otpauthUrl(secret, person.email) })
    }),

    routeWithoutTransaction(c.activateSecondFactor, async ({ session, body, request, reply }) => {
      const person = personOf(session)
      assertMayMake(request, { kind: 'factor' })
      const row = await store.find(db, person.id)
      if (!row || row.activated_at) throw refusals.secondFactorState()
      const isRight = await gate.attempt(visitorOfSession(request, session), () =>
        acceptAppCode(services, row, body.code),
      )
      if (!isRight) {
        await recordRefusal(services, request, person, 'proofRefused')
        throw refusals.wrongCode()
      }
      const codes = makeRecoveryCodes()
      return await db.begin(async (tx) => {
        const hashes = codes.map((code) => keyHash(bareCode(code)))
        if (!(await store.activate(tx, person.id, hashes))) throw refusals.secondFactorState()
        // The other sessions were opened without the second factor.
        const { ended, person: changed } = await endAccess(tx, services, person.id, session.id)
        rememberPerson(services, request, reply, changed)
        const entry = { target: print('PRS', person.id), after: { second_factor: true, ended } }
        await recordVisit(tx, request, session, 'activateSecondFactor', entry)
        await noticeChange(tx, services, request, person.id, 'second_factor_on')
        return ok({ recovery_codes: codes })
      })
    }),

    route(c.removeSecondFactor, async ({ session, request, reply, tx }) => {
      const person = personOf(session)
      if (!(await store.remove(tx, person.id))) throw refusals.noSecondFactor()
      // The app may have been lost together with a device that is signed in.
      const { ended, person: changed } = await endAccess(tx, services, person.id, session.id)
      rememberPerson(services, request, reply, changed)
      const entry = {
        target: print('PRS', person.id),
        before: { second_factor: true },
        after: { second_factor: false, ended },
      }
      await recordVisit(tx, request, session, 'removeSecondFactor', entry)
      await noticeChange(tx, services, request, person.id, 'second_factor_off')
      return ok({})
    }),
  ]
}
