import { randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { issueOperatorKey } from '../../src/domains/operators/ops.ts'
import { type Contract, isMetered, needsOperator } from '../../src/platform/http/endpoint.ts'
import type { ProblemName } from '../../src/platform/http/problem.ts'
import { makeKey } from '../../src/platform/lib/secret.ts'
import type { Tenant, World } from '../world.ts'
import type { Recipe, Request } from './recipe.ts'
import type { Scene } from './scene.ts'
import { fields, type Node, nodeOf, prefixOf, takesAnyForm } from './schema.ts'
import { type RawAnswer, send } from './send.ts'
import { usableRequest } from './usable.ts'

/** The worlds in which every endpoint can be brought to its refusals. */
export type RefusalWorlds = {
  readonly scene: Scene
  /** A world whose tables of keys are gone: every request meets a fault. */
  readonly broken: World
  /** A world whose database cannot be reached. */
  readonly cut: World
  /** A world in which one wrong key blocks an address. */
  readonly strict: World
}

const replaced = (request: Request, contract: Contract, chosen: (node: Node) => unknown): Request | null => {
  for (const part of ['params', 'query', 'body'] as const)
    for (const [name, node] of fields(contract[part])) {
      const value = chosen(node)
      if (value === undefined) continue
      const before = request[part]
      return { ...request, [part]: { ...(typeof before === 'object' ? before : {}), [name]: value } }
    }
  return null
}

/** A request that breaks the schema. */
const invalidRequest = (request: Request, contract: Contract): Request | null => {
  const { contentMediaType } = nodeOf(contract.body)
  if (contract.body && contentMediaType === undefined) return { ...request, body: [] }
  const changed = replaced(request, contract, (node) => {
    if (prefixOf(node)) return takesAnyForm(node) ? undefined : 'XXX1'
    return node.type === 'integer' ? 'many' : undefined
  })
  return changed ?? (contentMediaType ? { ...request, body: { not: 'text' } } : null)
}

/** The cookie of a session without rights in the installation. */
const accountCookie = async ({ world, tenant }: Scene): Promise<string> => {
  const opened = await world.app.inject({ method: 'POST', url: '/console/session', payload: { key: tenant.key } })
  return String(opened.headers['set-cookie']).split(';')[0] ?? ''
}

type RefusalMaker = (stages: RefusalWorlds, contract: Contract, recipe: Recipe) => Promise<RawAnswer | null>

const newTenant = (scene: Scene, options: Parameters<World['tenant']>[0] = {}): Promise<Tenant> =>
  scene.world.tenant(options)

const changeTenant = (scene: Scene, tenant: Tenant, body: object) =>
  scene.world.call('operator', 'PATCH', `/operator/accounts/${tenant.uuid}`, body)

/** The request of another tenant; that of a person has the session of a member there. */
const requestIn = async (scene: Scene, tenant: Tenant, recipe: Recipe): Promise<Request> => {
  const request = await recipe.ok(scene)
  return request.cookie === undefined ? request : await recipe.ok({ ...scene, tenant })
}

const changing =
  (change: (request: Request, contract: Contract) => Request | null): RefusalMaker =>
  async ({ scene }, contract, recipe) => {
    const request = change(await recipe.ok(scene), contract)
    return request && send(scene.world, contract, scene.tenant, request)
  }

/** Refusals common to all endpoints, made from the successful request. Null where a recipe is needed. */
const refusalMakers: { readonly [problem in ProblemName]?: RefusalMaker } = {
  invalid: async (stages, contract, recipe) => {
    const { scene } = stages
    const answer = await changing(invalidRequest)(stages, contract, recipe)
    if (answer || (contract.auth !== 'account' && contract.auth !== 'operator')) return answer
    // A key and a session at once.
    const headers = { cookie: 'trunkline=some-token' }
    const { cookie: _, ...request } = await recipe.ok(scene)
    return send(scene.world, contract, scene.tenant, request, { headers })
  },
  notFound: changing((request, contract) =>
    replaced(request, contract, (node) => {
      const prefix = prefixOf(node)
      return prefix ? `${prefix}${randomUUID()}` : undefined
    }),
  ),
  unprocessable: changing((request, contract) =>
    replaced(request, contract, ({ format }) => (format === 'phone' ? 'nobody' : undefined)),
  ),
  unauthorized: async ({ scene }, contract, recipe) => {
    const request = await recipe.ok(scene)
    return send(scene.world, contract, scene.tenant, request, { key: makeKey('UAK') })
  },
  forbidden: async ({ scene }, contract, recipe) => {
    if (contract.auth === 'session' || contract.opensSession)
      return send(scene.world, contract, scene.tenant, await recipe.ok(scene), {
        headers: { origin: 'https://elsewhere.example' },
      })
    if (contract.auth === 'operator' && !needsOperator(contract)) {
      const cookie = await accountCookie(scene)
      return send(scene.world, contract, scene.tenant, await recipe.ok(scene), { key: null, headers: { cookie } })
    }
    if (contract.auth === 'operator') {
      const { key } = await scene.world.db.begin((tx) => issueOperatorKey(tx, 'observer', { role: 'observer' }))
      return send(scene.world, contract, scene.tenant, await recipe.ok(scene), { key })
    }
    if (contract.auth !== 'account') return null
    const tenant = await newTenant(scene)
    const request = await requestIn(scene, tenant, recipe)
    await changeTenant(scene, tenant, { blocked: true, block_reason: 'fraud' })
    return send(scene.world, contract, tenant, request)
  },
  balance: async ({ scene }, contract, recipe) => {
    if (!isMetered(contract)) return null
    const tenant = await newTenant(scene)
    const request = await requestIn(scene, tenant, recipe)
    await changeTenant(scene, tenant, { max_api_request_count: 0 })
    return send(scene.world, contract, tenant, request)
  },
  tooMany: async ({ scene, strict }, contract, recipe) => {
    if (!isMetered(contract)) {
      const request = await recipe.ok(scene)
      const wrong = () => send(strict, contract, scene.tenant, request, { key: 'a wrong key' })
      // One wrong key is allowed a minute, and the minute may begin between the two.
      const first = await wrong()
      return first.status === 429 ? first : await wrong()
    }
    const tenant = await newTenant(scene)
    const request = await requestIn(scene, tenant, recipe)
    await changeTenant(scene, tenant, { requests_per_minute: 1 })
    await scene.world.db.run`update rate_limit_usage set tokens = 1 where account_id = ${tenant.id}`
    // Requests of the recipe may have left another token.
    for (let n = 0; n < 5; n++) if ((await scene.world.call(tenant, 'GET', '/open/info')).status === 429) break
    return send(scene.world, contract, tenant, request)
  },
  conflict: async ({ scene }, contract, recipe) => {
    if (contract.method !== 'POST') return null
    const request = await recipe.ok(scene)
    const headers = { 'idempotency-key': randomUUID() }
    await send(scene.world, contract, scene.tenant, request, { headers })
    const { body } = request
    // An operator's body may hold only known fields, so the query differs there.
    if (contract.auth === 'operator' && typeof body !== 'string')
      return send(
        scene.world,
        contract,
        scene.tenant,
        { ...request, query: { ...request.query, other: 1 } },
        { headers },
      )
    const other = typeof body === 'string' ? `${body}sms_in,997,0.01\n` : { ...Object(body), other: 1 }
    return send(scene.world, contract, scene.tenant, { ...request, body: other }, { headers })
  },
  tooLarge: async ({ scene }, contract, recipe) => {
    const payload = Buffer.alloc((contract.bodyLimit ?? 256 * 1024) + 1, 32)
    return send(scene.world, contract, scene.tenant, await recipe.ok(scene), { payload })
  },
  timedOut: async ({ scene }, contract, recipe) => {
    const [type = ''] = contract.media ?? ['text/csv']
    // The rest of the body never arrives.
    const payload = new PassThrough()
    payload.write('%PDF-1.7\n')
    const request = await recipe.ok(scene)
    return send(scene.world, contract, scene.tenant, request, { payload, headers: { 'content-type': type } })
  },
  mediaType: async ({ scene }, contract, recipe) => {
    const change = { payload: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    return send(scene.world, contract, scene.tenant, await recipe.ok(scene), change)
  },
  internal: async ({ scene, broken }, contract, recipe) => send(broken, contract, scene.tenant, await recipe.ok(scene)),
  unavailable: async ({ scene, cut }, contract, recipe) => send(cut, contract, scene.tenant, await recipe.ok(scene)),
}

/** Common refusals that precede the effect of a request, so that several are made from one request. */
const beforeEffect: ReadonlySet<ProblemName> = new Set([
  ...(['invalid', 'notFound', 'unauthorized', 'forbidden', 'balance', 'tooMany'] as const),
  ...(['tooLarge', 'timedOut', 'mediaType', 'internal', 'unavailable'] as const),
])

/** Common refusals that hooks make from the data of a contract, before its handler: alike for endpoints of a kind. */
export const isOfKind: ReadonlySet<ProblemName> = new Set([
  ...(['invalid', 'unauthorized', 'forbidden', 'balance', 'tooMany', 'conflict'] as const),
  ...(['tooLarge', 'timedOut', 'mediaType', 'internal', 'unavailable'] as const),
])

/** Brings an endpoint to a refusal, by its recipe or by the common way. */
export const refusalOf = async (
  stages: RefusalWorlds,
  contract: Contract,
  recipe: Recipe,
  problem: ProblemName,
): Promise<RawAnswer | null> => {
  const own = recipe[problem]
  if (!own) {
    const source = beforeEffect.has(problem) ? { ok: (scene: Scene) => usableRequest(recipe, scene) } : recipe
    return (await refusalMakers[problem]?.(stages, contract, source)) ?? null
  }
  const { scene } = stages
  return send(scene.world, contract, scene.tenant, await own(scene))
}
