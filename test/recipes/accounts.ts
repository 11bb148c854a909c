import { issueOperatorKey } from '../../src/domains/operators/ops.ts'
import { uuid } from '../../src/platform/lib/id.ts'
import type { World } from '../world.ts'
import type { Recipes } from './recipe.ts'
import { makeScene, type Scene, unique } from './scene.ts'

const account = ({ tenant }: Scene) => ({ account_uuid: tenant.uuid })
const person = ({ mark }: Scene) => ({
  first_name: mark,
  last_name: mark,
  email: `${unique('person').replace(' ', '.')}@example.com`,
})

/** The e-mail address of a user of the account. */
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

/** A user's token on an account that then reached this state. */
const bearerAfter = async ({ world, mark }: Scene, options: { requestsPerMinute?: number }, change: object) => {
  const tenant = await world.tenant(options)
  const bearer = await bearerOf({ world, tenant }, await (await makeScene(world, mark, tenant)).user())
  await world.call('operator', 'PATCH', `/operator/accounts/${tenant.uuid}`, change)
  return { bearer }
}

/** The path of a closed account. */
const closedAccount = async ({ world }: Scene) => {
  const { uuid } = await world.tenant({ balance: '0' })
  const answer = await world.call('operator', 'POST', `/operator/accounts/${uuid}/close`, { reason: 'left' })
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return { account_uuid: uuid }
}

/** The path of an account with a balance. */
const accountWith = async ({ world }: Scene, balance: string) => ({
  account_uuid: (await world.tenant({ balance })).uuid,
})

let prefixes = 100_000

/** A new prefix with this number of prices. */
const priced = async ({ world }: Scene, count: number) => {
  const place = { kind: 'call_in', prefix: String(++prefixes) }
  const prices = Array.from({ length: count }, (_, i) => ({
    ...place,
    price: '0.01',
    effective_at: `2020-01-0${i + 1}T00:00:00Z`,
  }))
  await world.call('operator', 'PUT', '/operator/prices', { prices })
  return place
}

export const accountRecipes: Recipes = {
  getInfo: { ok: () => ({}) },
  changeOwnAccount: { ok: ({ mark }) => ({ body: { name: mark, low_balance: '5.00' } }) },
  createAccount: { ok: ({ mark }) => ({ body: { name: mark } }) },
  listAccounts: { ok: () => ({}) },
  getAccount: { ok: (scene) => ({ params: account(scene) }) },
  changeAccount: {
    ok: (scene) => ({ params: account(scene), body: { name: scene.mark } }),
    conflict: async (scene) => ({ params: await closedAccount(scene), body: { name: scene.mark } }),
  },
  closeAccount: {
    ok: async (scene) => ({ params: await accountWith(scene, '0'), body: { reason: scene.mark } }),
    conflict: async (scene) => ({ params: await accountWith(scene, '1'), body: { reason: scene.mark } }),
  },
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
      body: {
        label: mark,
        expires_at: '2999-01-01T00:00:00Z',
        allowed_addresses: ['127.0.0.0/8'],
        spend_per_day: '25.00',
      },
    }),
  },
  revokeOwnKey: {
    // A key may revoke any key that has no more rights than itself.
    ok: async ({ world, tenant }) => {
      const made = await world.call(tenant, 'POST', '/open/keys', { label: 'weak', scopes: ['develop'] })
      return { params: { key_uuid: made.body.uuid } }
    },
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

  creditAccount: {
    ok: (scene) => ({ params: account(scene), body: { amount: '1.5', note: scene.mark } }),
    conflict: async (scene) => ({ params: await closedAccount(scene), body: { amount: '1.5' } }),
  },
  debitAccount: {
    ok: (scene) => ({ params: account(scene), body: { amount: '0.01', reason: scene.mark } }),
    balance: async (scene) => ({ params: await accountWith(scene, '1'), body: { amount: '2', reason: scene.mark } }),
  },
  correctBalance: {
    ok: (scene) => ({ params: account(scene), body: { amount: '0.01', reason: scene.mark } }),
    balance: async (scene) => ({ params: await accountWith(scene, '1'), body: { amount: '-2', reason: scene.mark } }),
  },
  listHolds: { ok: (scene) => ({ params: account(scene), query: { results_per_page: 10 } }) },
  getOwnLedger: { ok: () => ({ query: { results_per_page: 10 } }) },
  listOwnHolds: { ok: () => ({ query: { results_per_page: 10 } }) },
  getUsage: {
    ok: () => ({ query: { by: 'channel' } }),
    invalid: () => ({ query: { since: '2026-01-02T00:00:00Z', until: '2026-01-01T00:00:00Z' } }),
  },
  getLedger: { ok: (scene) => ({ params: account(scene), query: { results_per_page: 10 } }) },

  listPrices: { ok: () => ({}) },
  setPrices: { ok: () => ({ body: { prices: [{ kind: 'sms_in', prefix: '999', price: '0.01' }] } }) },
  deletePrice: {
    ok: async (scene) => {
      const price = await priced(scene, 1)
      return { query: price }
    },
    invalid: () => ({ query: { kind: 'letter' } }),
    notFound: () => ({ query: { kind: 'call_in', prefix: '999999999999999' } }),
    conflict: async (scene) => ({ query: await priced(scene, 2) }),
  },
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
