import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { paces } from '../../src/domains/persons/limits.ts'
import { codeAt, stepAt } from '../../src/domains/persons/second-factor/totp.ts'
import { makeAuthenticator } from '../authenticator.ts'
import { bytesOf } from '../authenticator-app.ts'
import { mailedLink } from '../mailed.ts'
import { acceptLink, callAs, claim, freshClaim, goodPassword, member, signIn, tokenOf } from '../persons.ts'
import type { Recipes, Request } from './recipe.ts'
import { type Scene, unique } from './scene.ts'

/** An e-mail address that no person has. */
const newEmail = (): string => `${unique('person').replace(' ', '.')}@example.com`

/** Fields of a new member. */
const newMember = ({ mark }: Scene) => ({
  first_name: mark,
  last_name: mark,
  email: newEmail(),
  role: 'agent',
  delivery: 'link',
})

/** Invites a person to the account. */
const invited = async (scene: Scene) => {
  const made = await scene.world.call(scene.tenant, 'POST', '/open/members', newMember(scene))
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return { user: made.body.member.uuid as string, token: tokenOf(made.body.invite_url) }
}

/** A signed-in person with a password. */
const signedIn = async ({ world, tenant }: Scene, role = 'agent') => {
  const browser = await member(world, tenant, role, newEmail())
  return { ...browser, person: String(browser.boot.person.uuid) }
}

/** Enters the wrong password until the person has to wait. */
const exhaust = async ({ world }: Scene, email: string): Promise<void> => {
  for (let i = 0; i <= paces.wrong.burst + paces.clean.burst; i++)
    await callAs(world, null, 'POST', '/console/session', { email, password: 'a wrong password' })
}

/** A person whose authenticator app waits for its first code, or has given it. */
const withApp = async (scene: Scene, isActive: boolean) => {
  const browser = await signedIn(scene)
  const { body } = await browser.call('POST', '/console/totp')
  const code = codeAt(bytesOf(body.secret), stepAt(Date.now()))
  if (isActive) assert.equal((await browser.call('POST', '/console/totp/verify', { code })).status, 200)
  return { ...browser, code }
}

/** A person, and the answer of a device to the options of a new passkey. */
const newPasskey = async (scene: Scene) => {
  const { cookie, call } = await signedIn(scene)
  const { options } = (await call('POST', '/console/passkeys/options')).body
  const { origin } = (await call('GET', '/console/passkeys')).body
  const body = { name: scene.mark, credential: makeAuthenticator(origin).register(options) }
  return { call, request: { cookie, body } }
}

const claimBody = (token: string): Request => ({
  body: { token, name: 'Olive Operator', email: newEmail(), password: goodPassword },
})

/** An invitation of a person who has a password. */
const reinvited = async (scene: Scene) => {
  const { email } = await signedIn(scene)
  const other = await scene.world.tenant()
  const body = { ...newMember(scene), email }
  const made = await scene.world.call(other, 'POST', '/open/members', body)
  return { email, token: tokenOf(made.body.invite_url) }
}

export const personRecipes: Recipes = {
  showClaim: { ok: () => ({}) },
  claimInstallation: {
    ok: async ({ world }) => claimBody(await freshClaim(world)),
    unauthorized: async ({ world }) => {
      await freshClaim(world)
      return claimBody('no-token-of-any-claim-link-at-all')
    },
    gone: async ({ world }) => {
      const token = await freshClaim(world)
      await claim(world, newEmail())
      return claimBody(token)
    },
    tooMany: async (scene) => {
      const { email } = await signedIn(scene)
      await exhaust(scene, email)
      const token = await freshClaim(scene.world)
      return { body: { token, name: 'Olive', email, password: 'eleven quiet owls hunt' } }
    },
  },
  signIn: {
    ok: async (scene) => ({ body: { email: (await signedIn(scene)).email, password: goodPassword } }),
    unauthorized: () => ({ body: { email: newEmail(), password: 'a wrong password' } }),
    tooMany: async (scene) => {
      const email = newEmail()
      await exhaust(scene, email)
      return { body: { email, password: goodPassword } }
    },
    conflict: async (scene) => {
      const { email, person } = await signedIn(scene)
      const other = await scene.world.tenant()
      const twin = randomUUID()
      await scene.world.db.run`
        insert into persons (id, email, email_key, name, password_hash)
        select ${twin}, email, email_key, name, password_hash from persons where id = ${person.slice(3)}`
      await scene.world.db.run`
        insert into users (account_id, id, first_name, last_name, email, status, person_id)
        values (${other.id}, ${randomUUID()}, 'Twin', 'Twin', ${email}, 'ACTIVE', ${twin})`
      return { body: { email, password: goodPassword } }
    },
  },
  showSession: { ok: () => ({}) },
  signOut: {
    ok: async ({ world, tenant }) => ({ cookie: (await signIn(world, { key: tenant.key })).cookie }),
  },
  proveSession: {
    ok: async (scene) => ({ cookie: (await signedIn(scene)).cookie, body: { password: goodPassword } }),
  },
  listSessions: { ok: () => ({}) },
  endOtherSessions: { ok: () => ({}) },
  endSession: {
    ok: async ({ world, tenant }) => ({
      params: { session_uuid: (await signIn(world, { key: tenant.key })).boot.session_uuid },
    }),
  },

  changeMe: {
    ok: async (scene) => ({ cookie: (await signedIn(scene)).cookie, body: { name: scene.mark } }),
    conflict: ({ mark }) => ({ body: { name: mark } }),
  },
  changePassword: {
    ok: async (scene) => ({
      cookie: (await signedIn(scene)).cookie,
      body: { current: goodPassword, password: 'nine yellow kites fly' },
    }),
    conflict: () => ({ body: { current: goodPassword, password: 'nine yellow kites fly' } }),
  },
  listPasskeys: { ok: async (scene) => ({ cookie: (await signedIn(scene)).cookie }), conflict: () => ({}) },
  preparePasskey: { ok: async (scene) => ({ cookie: (await signedIn(scene)).cookie }), conflict: () => ({}) },
  createPasskey: {
    ok: async (scene) => (await newPasskey(scene)).request,
    conflict: async (scene) => {
      const { request } = await newPasskey(scene)
      return { body: request.body }
    },
  },
  deletePasskey: {
    ok: async (scene) => {
      const { call, request } = await newPasskey(scene)
      const added = await call('POST', '/console/passkeys', request.body)
      return { cookie: request.cookie, params: { passkey_uuid: added.body.passkey.uuid } }
    },
    notFound: async (scene) => ({
      cookie: (await signedIn(scene)).cookie,
      params: { passkey_uuid: `PKY${randomUUID()}` },
    }),
    conflict: () => ({ params: { passkey_uuid: `PKY${randomUUID()}` } }),
  },
  preparePasskeySignIn: { ok: () => ({}) },
  showSecondFactor: { ok: async (scene) => ({ cookie: (await signedIn(scene)).cookie }), conflict: () => ({}) },
  prepareSecondFactor: {
    ok: async (scene) => ({ cookie: (await signedIn(scene)).cookie }),
    conflict: async (scene) => ({ cookie: (await withApp(scene, true)).cookie }),
  },
  activateSecondFactor: {
    ok: async (scene) => {
      const { cookie, code } = await withApp(scene, false)
      return { cookie, body: { code } }
    },
    conflict: async (scene) => ({ cookie: (await signedIn(scene)).cookie, body: { code: '287082' } }),
  },
  removeSecondFactor: {
    ok: async (scene) => ({ cookie: (await withApp(scene, true)).cookie }),
    notFound: async (scene) => ({ cookie: (await signedIn(scene)).cookie }),
    conflict: () => ({}),
  },
  listPersons: { ok: () => ({ query: { results_per_page: 2 } }) },
  changePerson: {
    ok: async (scene) => ({ params: { person_uuid: (await signedIn(scene)).person }, body: { suspended: true } }),
    conflict: async ({ world }) => {
      const { cookie, boot } = await claim(world, newEmail())
      return { cookie, params: { person_uuid: boot.person.uuid }, body: { suspended: true } }
    },
  },
  createPasswordLink: { ok: async (scene) => ({ params: { person_uuid: (await signedIn(scene)).person } }) },

  requestPasswordReset: {
    ok: async (scene) => ({ body: { email: (await signedIn(scene)).email } }),
    tooMany: async ({ world }) => {
      const body = { email: newEmail() }
      const most = paces.mail.burst + paces.clean.burst
      for (let i = 0; i < most; i++) await callAs(world, null, 'POST', '/console/password-reset', body)
      return { body }
    },
  },
  requestEmailProof: {
    ok: async (scene) => ({ cookie: (await signedIn(scene)).cookie }),
    conflict: () => ({}),
  },
  proveEmail: {
    ok: async (scene) => {
      const { cookie, call, email } = await signedIn(scene)
      assert.equal((await call('POST', '/console/me/email-proof')).status, 202)
      return { cookie, body: { token: tokenOf(await mailedLink(scene.world, email, 'prove_address')) } }
    },
    notFound: async (scene) => ({
      cookie: (await signedIn(scene)).cookie,
      body: { token: 'no-token-of-any-link-at-all' },
    }),
    conflict: () => ({ body: { token: 'no-token-of-any-link-at-all' } }),
  },

  showInvitation: {
    ok: async (scene) => ({ body: { token: (await invited(scene)).token } }),
    notFound: () => ({ body: { token: 'no-token-of-any-invitation-at-all' } }),
    conflict: async (scene) => {
      const { token } = await invited(scene)
      await acceptLink(scene.world, token, { password: goodPassword })
      return { body: { token } }
    },
  },
  acceptInvitation: {
    ok: async (scene) => ({ body: { token: (await invited(scene)).token, password: goodPassword } }),
    unauthorized: async (scene) => ({
      body: { token: (await reinvited(scene)).token, password: 'a wrong password', existing: true },
    }),
    notFound: () => ({ body: { token: 'no-token-of-any-invitation-at-all', password: goodPassword } }),
    conflict: async (scene) => {
      const { token } = await invited(scene)
      await acceptLink(scene.world, token, { password: goodPassword })
      return { body: { token, password: goodPassword } }
    },
    tooMany: async (scene) => {
      const { email, token } = await reinvited(scene)
      await exhaust(scene, email)
      return { body: { token, password: goodPassword } }
    },
  },
  inviteOperator: { ok: () => ({ body: { email: newEmail(), operator: 'observer' } }) },
  createClaimLink: {
    ok: async ({ world }) => {
      await freshClaim(world)
      return {}
    },
    gone: async ({ world }) => {
      await claim(world, newEmail())
      return {}
    },
  },

  listMembers: { ok: () => ({ query: { results_per_page: 2 } }) },
  createMember: {
    ok: (scene) => ({ body: newMember(scene) }),
    conflict: async (scene) => {
      const { email } = await signedIn(scene)
      return { body: { ...newMember(scene), email } }
    },
  },
  changeMember: {
    ok: async (scene) => ({
      params: { user_uuid: (await invited(scene)).user },
      body: { first_name: unique(scene.mark) },
    }),
    conflict: async (scene) => ({ params: { user_uuid: (await invited(scene)).user }, body: { status: 'ACTIVE' } }),
  },
  inviteMember: {
    ok: async (scene) => ({ params: { user_uuid: (await invited(scene)).user } }),
    conflict: async (scene) => {
      const tenant = await scene.world.tenant()
      const mine = await signedIn(scene)
      const body = { ...newMember(scene), email: mine.email }
      const made = await scene.world.call(tenant, 'POST', '/open/members', body)
      await acceptLink(scene.world, made.body.invite_url, { password: goodPassword })
      return { params: { user_uuid: mine.user } }
    },
  },
}
