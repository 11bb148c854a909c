import type { FastifyRequest } from 'fastify'
import type { Contract, Endpoint } from './endpoint.ts'

// Other methods of known paths answer 405 with the allowed methods. A route for each took 50 ms of processor time per
// start. So the path of a request that matches no route is looked up, and few other methods have routes.

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** A path of the endpoints. */
export type KnownPath = {
  /** The pattern of its routes. */
  readonly url: string
  /** The first of its contracts. */
  readonly contract: Contract
  /** The methods that have routes, and HEAD where GET has one. */
  readonly allowed: ReadonlySet<string>
  /** Whether browsers may ask with OPTIONS. */
  readonly isForBrowsers: boolean
  /**
   * Other methods that need a route of their own: without it, a request would match another route, such as
   * GET /contacts/import that of /contacts/:id.
   */
  readonly shadowed: readonly (typeof methods)[number][]
}

export type OtherMethods = {
  readonly paths: readonly KnownPath[]
  /** Returns the path of a request that matches no route; null for an unknown path or method. */
  find(request: Pick<FastifyRequest, 'method' | 'url'>): KnownPath | null
}

/** Returns a key by which paths sort as the router prefers them: fixed steps before parameters. */
const rankOf = (url: string): string => url.replaceAll(/:\w+(?![\w/]|$)/g, '\ufffe').replaceAll(/:\w+/g, '\uffff')

/** Whether one request may match both paths. */
const overlap = (one: readonly string[], other: readonly string[]): boolean =>
  one.every((step, at) => step === other[at] || step.includes(':') || other[at]?.includes(':'))

/** Returns the path of a URL; null if its escapes are no UTF-8. */
const pathOf = (url: string): string | null => {
  try {
    return decodeURI(url.split(/[?#]/, 1)[0] ?? '').replace(/(?<=.)\/$/, '')
  } catch {
    return null
  }
}

const patternOf = (url: string): RegExp => new RegExp(`^${url.split(/:\w+/).map(RegExp.escape).join('[^/]*')}$`)

/** @param catchAll the beginnings of paths that a route outside of the endpoints matches, such as `/console/` */
export const makeOtherMethods = (endpoints: readonly Endpoint[], catchAll: readonly string[]): OtherMethods => {
  const paths: KnownPath[] = []
  /** The paths that were added so far, by the number of their steps and the first step, with the methods of routes. */
  const routed = new Map<string, { readonly steps: readonly string[]; readonly methods: ReadonlySet<string> }[]>()
  const add = (same: readonly Contract[], contract: Contract) => {
    const { url } = contract
    const allowed = new Set(same.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))
    const isForBrowsers = same.some(({ browser }) => browser)
    const others = methods.filter((method) => !allowed.has(method) && !(isForBrowsers && method === 'OPTIONS'))
    const steps = url.split('/')
    const kind = `${steps.length} ${steps[1]}`
    const similar = routed.get(kind) ?? []
    const near = similar.filter((one) => overlap(steps, one.steps))
    const isCaught = catchAll.some((beginning) => url.startsWith(beginning))
    const shadowed = others.filter((method) => isCaught || near.some((one) => one.methods.has(method)))
    similar.push({ steps, methods: new Set([...allowed, ...shadowed, ...(isForBrowsers ? ['OPTIONS'] : [])]) })
    routed.set(kind, similar)
    paths.unshift({ url, contract, allowed, isForBrowsers, shadowed })
  }
  const contracts = endpoints.map(({ contract }) => contract)
  // Only paths that the router prefers less can take a request from another.
  const byRank = [...Map.groupBy(contracts, ({ url }) => rankOf(url))].sort(([a], [b]) => (a < b ? 1 : -1))
  for (const [, same] of byRank) if (same[0]) add(same, same[0])

  let patterns: { readonly path: KnownPath; readonly pattern: RegExp }[] | null = null
  return {
    paths,
    find: ({ method, url }) => {
      const address = methods.some((one) => one === method) ? pathOf(url) : null
      if (address === null) return null
      patterns ??= paths.map((path) => ({ path, pattern: patternOf(path.url) }))
      const found = patterns.find(({ path, pattern }) => !path.allowed.has(method) && pattern.test(address))
      return found?.path ?? null
    },
  }
}
