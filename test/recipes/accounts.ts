import { uuid } from '../../src/lib/id.ts'
import { issueOperatorKey } from '../../src/operators/ops.ts'
import type { World } from '../world.ts'
import type { Recipes } from './recipe.ts'
import { makeScene, type Scene, unique } from './scene.ts'

const account = ({ tenant }: Scene) => ({ account_uuid: tenant.uuid })
const person = ({ mark }: Scene) => ({
  first_name: mark,
  last_name: mark,
  email: `${unique('person').replace(' ', '.')}@example.com`,
})

/** The e-mail address of a user that the account has. */
const knownEmail = async (scene: Scene): Promise<string> => {
  const made = person(scene)
  await scene.world.call('operator', 'POST', `/operator/accounts/${scene.tenant.uuid}/users`, made)
  return made.email
}

const newOperatorKey = ({ db }: World) => db.begin((tx) => issueOperatorKey(tx, unique('operator')))

/** A number that the operator granted to the account. */
const granted = async (scene: Scene): Promise<string> => {
  const phone_number = scene.chatNumber()
  await scene.world.call('operator', 'POST', `/operator/accounts/${scene.tenant.uuid}/number-grants`, { phone_number })
  return phone_number
}

/** A token of a user, for the voice client. */
const bearerOf = async ({ world, tenant }: Pick<Scene, 'world' | 'tenant'>, user: string): Promise<string> =>
  (await world.call(tenant, 'POST', '/open/sdk/access-token', { user_uuid: user })).body.token

/** The same, of an account that then came to this. */
const bearerAfter = async ({ world, mark }: Scene, options: { requestsPerMinute?: number }, change: object) => {
  const tenant = await world.tenant(options)
  const bearer = await bearerOf({ world, tenant }, await (await makeScene(world, mark, tenant)).user())
  await world.call('operator', 'PATCH', `/operator/accounts/${tenant.uuid}`, change)
  return { bearer }
}

export const accountRecipes: Recipes = {
  getInfo: { ok: () => ({}) },
  createAccount: { ok: ({ mark }) => ({ body: { name: mark } }) },
  listAccounts: { ok: () => ({}) },
  getAccount: { ok: (scene) => ({ params: account(scene) }) },
  changeAccount: { ok: (scene) => ({ params: account(scene), body: { name: scene.mark } }) },
  createKey: {
    ok: (scene) => ({ params: account(scene), body: { label: scene.mark, scopes: ['inbox', 'read_only'] } }),
    forbidden: async (scene) => {
      const { uuid, id } = await scene.world.tenant()
      await scene.world.db.run`
        insert into api_keys (account_id, id, label, hash, last_four)
        select ${id}, gen_random_uuid(), 'one of many', sha256(gen_random_uuid()::text::bytea), 'last'
        from generate_series(1, 99)`
      return { params: { account_uuid: uuid }, body: { label: scene.mark } }
    },
  },
  listOwnKeys: { ok: () => ({}) },
  createOwnKey: {
    ok: ({ mark }) => ({
      body: { label: mark, expires_at: '2999-01-01T00:00:00Z', allowed_addresses: ['127.0.0.0/8'] },
    }),
  },
  revokeOwnKey: {
    ok: async (scene) => ({ params: { key_uuid: await scene.key() } }),
    conflict: async ({ world, tenant }) => {
      const { keys } = (await world.call(tenant, 'GET', '/open/keys')).body
      return { params: { key_uuid: keys.find(({ current }: { current: boolean }) => current).uuid } }
    },
  },
  listKeys: { ok: (scene) => ({ params: account(scene) }) },
  revokeKey: { ok: async (scene) => ({ params: { ...account(scene), key_uuid: await scene.key() } }) },

  createOperatorKey: { ok: ({ mark }) => ({ body: { label: mark } }) },
  listOperatorKeys: { ok: () => ({}) },
  revokeOperatorKey: {
    ok: async ({ world }) => ({ params: { key_uuid: (await newOperatorKey(world)).uuid } }),
    conflict: async ({ world }) => {
      const { keys } = (await world.call('operator', 'GET', '/operator/keys')).body
      return { params: { key_uuid: keys.find(({ current }: { current: boolean }) => current).uuid } }
    },
  },

  listAudit: { ok: (scene) => ({ query: { account_uuid: scene.tenant.uuid, results_per_page: 5 } }) },
  listOwnAudit: { ok: () => ({ query: { results_per_page: 5 } }) },

  listActiveUsers: { ok: () => ({}) },
  createUser: {
    ok: (scene) => ({ params: account(scene), body: person(scene) }),
    conflict: async (scene) => ({ params: account(scene), body: { ...person(scene), email: await knownEmail(scene) } }),
  },
  listUsers: { ok: (scene) => ({ params: account(scene) }) },
  changeUser: {
    ok: async (scene) => ({ params: { user_uuid: await scene.user() }, body: person(scene) }),
    conflict: async (scene) => ({
      params: { user_uuid: await scene.user() },
      body: { email: await knownEmail(scene) },
    }),
  },

  mintToken: {
    ok: async (scene) => ({ body: { user_uuid: await scene.user(), label: scene.mark } }),
    notFound: () => ({ body: { user_uuid: `USR${uuid()}` } }),
  },
  revokeTokens: {
    ok: async (scene) => ({ body: { user_uuid: await scene.user() } }),
    invalid: () => ({ body: {} }),
  },
  getCredentials: {
    ok: async (scene) => ({ bearer: await bearerOf(scene, await scene.user()), body: {} }),
    forbidden: (scene) => bearerAfter(scene, {}, { blocked: true, block_reason: 'fraud' }),
    balance: (scene) => bearerAfter(scene, {}, { max_api_request_count: 0 }),
    tooMany: (scene) => bearerAfter(scene, { requestsPerMinute: 1 }, {}),
  },
  listSigningKeys: { ok: () => ({}) },
  rotateSigningKey: { ok: () => ({}) },

  createNumberGrant: {
    ok: (scene) => ({ params: account(scene), body: { phone_number: scene.chatNumber(), note: scene.mark } }),
    conflict: async (scene) => {
      const owner = await makeScene(scene.world, scene.mark)
      return { params: account(scene), body: { phone_number: (await owner.number()).number } }
    },
  },
  listNumberGrants: { ok: (scene) => ({ params: account(scene) }) },
  deleteNumberGrant: { ok: async (scene) => ({ params: { ...account(scene), phone_number: await granted(scene) } }) },

  creditAccount: { ok: (scene) => ({ params: account(scene), body: { amount: '1.5', note: scene.mark } }) },
  listHolds: { ok: (scene) => ({ params: account(scene), query: { results_per_page: 10 } }) },
  getLedger: { ok: (scene) => ({ params: account(scene), query: { results_per_page: 10 } }) },

  listPrices: { ok: () => ({}) },
  setPrices: { ok: () => ({ body: { prices: [{ kind: 'sms_in', prefix: '999', price: '0.01' }] } }) },
  importPrices: {
    ok: () => ({ body: 'kind,prefix,price\nsms_in,998,0.01\n' }),
    unprocessable: () => ({ body: 'kind,prefix,price\nletter,998,0.01\n' }),
  },

  ping: { ok: () => ({}) },
  alive: { ok: () => ({}) },
  readiness: {
    ok: () => ({}),
    invalid: () => ({ query: { role: 'letters' } }),
    unavailable: () => ({ query: { role: 'voice' } }),
  },
}
