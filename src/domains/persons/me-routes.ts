import { assertMayMake } from '../../platform/http/credential-strength.ts'
import { ok, route, routeWithoutTransaction } from '../../platform/http/endpoint.ts'
import { refuse } from '../../platform/http/problem.ts'
import { tidyName } from '../../platform/lib/full-name.ts'
import { print } from '../../platform/lib/id.ts'
import { isTimezone } from '../../platform/lib/timezone.ts'
import type { Services } from '../../services.ts'
import { lockUsersOf, nameUsersOf } from '../users/ops.ts'
import * as c from './contract.ts'
import { rememberPerson } from './known-browser.ts'
import { maxPreferenceBytes } from './limits.ts'
import { noticeChange } from './notices.ts'
import { assertStrong, hashPassword, verifyPassword } from './password.ts'
import { presentPerson } from './present.ts'
import { refusals } from './refusals.ts'
import { prove } from './sessions/store.ts'
import type { SignInGate } from './sign-in-gate.ts'
import * as store from './store.ts'
import { endAccess, recordRefusal, recordVisit, visitorOfSession } from './visit.ts'

export const meRoutes = (services: Services, gate: SignInGate) => {
  const { db, changes } = services
  return [
    route(c.changeMe, async ({ session, body, request, tx }) => {
      const { person } = session
      const name = body.name === undefined ? null : tidyName(body.name)
      if (person && name !== null) await lockUsersOf(tx, person.id)
      const row = (person && (await store.lock(tx, person.id))) ?? refuse(refusals.noPerson())
      if (body.timezone && !isTimezone(body.timezone)) throw refusals.badTimezone(body.timezone)
      if (Buffer.byteLength(JSON.stringify(body.preferences ?? {})) > maxPreferenceBytes)
        throw refusals.preferencesTooLarge(maxPreferenceBytes)
      const changed = await store.change(tx, row.id, { ...row, ...body, name: name ?? row.name })
      if (name !== null) await nameUsersOf(tx, row.id, name)
      const [before, after] = [row, changed].map(({ name, locale, timezone }) => ({ name, locale, timezone }))
      await recordVisit(tx, request, session, 'changeMe', { target: print('PRS', row.id), before, after })
      await changes.invalidate(tx, 'sessions')
      return ok({ person: presentPerson(changed) })
    }),

    routeWithoutTransaction(c.changePassword, async ({ session, body, request, reply }) => {
      const { person } = session
      const row = (person && (await store.find(db, person.id))) ?? refuse(refusals.noPerson())
      assertMayMake(request, { kind: 'factor' })
      const visitor = visitorOfSession(request, session)
      const isRight = await gate.attempt(visitor, (turn) => verifyPassword(body.current, row.password_hash, turn))
      if (!isRight) {
        await recordRefusal(services, request, row, 'proofRefused')
        throw refusals.wrongProof()
      }
      await assertStrong(body.password, row)
      const hash = await hashPassword(body.password, gate.turnOf(visitor))
      return await db.begin(async (tx) => {
        await store.setPassword(tx, row.id, hash)
        const { ended, person: changed } = await endAccess(tx, services, row.id, session.id)
        rememberPerson(services, request, reply, changed)
        await prove(tx, session.id)
        await noticeChange(tx, services, request, row.id, 'password_changed')
        await recordVisit(tx, request, session, 'changePassword', { target: print('PRS', row.id), after: { ended } })
        return ok({ ended })
      })
    }),
  ]
}
