import { assertMayMake } from '../../../platform/http/credential-strength.ts'
import { ok, route, routeWithPreparation } from '../../../platform/http/endpoint.ts'
import { refuse } from '../../../platform/http/problem.ts'
import type { Session } from '../../../platform/http/session.ts'
import { iso } from '../../../platform/lib/clock.ts'
import { parse, print, uuid } from '../../../platform/lib/id.ts'
import type { Services } from '../../../services.ts'
import { rememberPerson } from '../known-browser.ts'
import { challengeMs, maxPasskeys } from '../limits.ts'
import { noticeChange } from '../notices.ts'
import { refusals } from '../refusals.ts'
import { endAccess, recordVisit } from '../visit.ts'
import { makeChallenge } from './challenge.ts'
import * as c from './contract.ts'
import { algorithms, relyingPartyOf } from './relying-party.ts'
import * as store from './store.ts'
import { relyingParty, verifyRegistration } from './verify.ts'
import { loadWebAuthn } from './webauthn.ts'

const personOf = ({ person }: Session) => person ?? refuse(refusals.noPerson())

const presentPasskey = ({ id, name, created_at, used_at }: store.PasskeyRow) => ({
  uuid: print('PKY', id),
  name,
  created_at: iso(created_at),
  ...(used_at ? { last_used_at: iso(used_at) } : {}),
})

/** Endpoints of a person's passkeys. */
export const passkeyRoutes = (services: Services) => {
  const { db, seal, publicUrl, changes } = services
  return [
    route(c.listPasskeys, async ({ session }) => {
      const rows = await store.ofPerson(db, personOf(session).id, maxPasskeys)
      const party = relyingPartyOf(publicUrl())
      return ok({ passkeys: rows.map(presentPasskey), ...(party ? { origin: party.origin } : {}) })
    }),

    route(c.preparePasskey, async ({ session, tx }) => {
      const { id, email, name } = personOf(session)
      const party = relyingParty(services)
      const rows = await store.ofPerson(tx, id, maxPasskeys)
      if (rows.length >= maxPasskeys) throw refusals.tooManyPasskeys(maxPasskeys)
      const { generateRegistrationOptions } = await loadWebAuthn()
      const options = await generateRegistrationOptions({
        rpName: 'Trunkline',
        rpID: party.id,
        userID: new Uint8Array(Buffer.from(id.replaceAll('-', ''), 'hex')),
        userName: email,
        userDisplayName: name,
        challenge: makeChallenge(seal, `register ${id}`),
        timeout: challengeMs,
        excludeCredentials: rows.map(({ credential_id, transports }) => ({
          id: credential_id.toString('base64url'),
          transports,
        })),
        supportedAlgorithmIDs: algorithms,
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      })
      return ok({ options: { ...options } })
    }),

    routeWithPreparation(
      c.createPasskey,
      ({ session, body }) => verifyRegistration(services, personOf(session).id, body.credential),
      async ({ session, body, request, prepared, tx }) => {
        const person = personOf(session)
        assertMayMake(request, { kind: 'factor' })
        if (!prepared || !(await store.spendChallenge(tx, prepared.digest, challengeMs))) throw refusals.wrongPasskey()
        if ((await store.ofPerson(tx, person.id, maxPasskeys)).length >= maxPasskeys)
          throw refusals.tooManyPasskeys(maxPasskeys)
        const { credential } = prepared
        const row = await store.create(tx, {
          id: uuid(),
          person: person.id,
          credential: Buffer.from(credential.id, 'base64url'),
          publicKey: Buffer.from(credential.publicKey),
          signCount: credential.counter,
          transports: body.credential.response.transports ?? [],
          name: body.name,
        })
        if (!row) throw refusals.passkeyExists()
        const entry = { target: print('PKY', row.id), after: { name: row.name } }
        await recordVisit(tx, request, session, 'createPasskey', entry)
        await noticeChange(tx, services, request, person.id, 'passkey_added')
        await changes.invalidate(tx, 'sessions')
        return ok({ passkey: presentPasskey(row) })
      },
    ),

    route(c.deletePasskey, async ({ session, params, request, reply, tx }) => {
      const person = personOf(session)
      const id = parse('PKY', params.passkey_uuid)
      if (!id || !(await store.remove(tx, person.id, id))) throw refusals.unknownPasskey(params.passkey_uuid)
      // The passkey may be gone together with a device that is signed in.
      const { ended, person: changed } = await endAccess(tx, services, person.id, session.id)
      rememberPerson(services, request, reply, changed)
      await recordVisit(tx, request, session, 'deletePasskey', { target: print('PKY', id), after: { ended } })
      await noticeChange(tx, services, request, person.id, 'passkey_removed')
      return ok({})
    }),

    route(c.preparePasskeySignIn, async () => {
      const { generateAuthenticationOptions } = await loadWebAuthn()
      const options = await generateAuthenticationOptions({
        rpID: relyingParty(services).id,
        challenge: makeChallenge(seal, 'enter'),
        timeout: challengeMs,
        userVerification: 'required',
      })
      return ok({ options: { ...options } })
    }),
  ]
}
