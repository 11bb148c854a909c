import { paths } from '../../console/paths.ts'

// The pages of the console without parameters of their own, for tests and pictures that visit all of them.

const withoutParameters = Object.entries(paths).map(([name, path]) => ({ name, pattern: path.pattern as string }))

/** Pages of an account, as what follows `/console/ACC…`, by their names. */
export const accountPages: readonly { readonly name: string; readonly path: string }[] = withoutParameters
  .map(({ name, pattern }) => ({ name, path: pattern.replace(/(?:\/:\w+\?)+$/, '') }))
  .filter(({ path }) => path.startsWith('/console/:account/') && path.lastIndexOf(':') === path.indexOf(':'))
  .map(({ name, path }) => ({ name, path: path.replace('/console/:account', '') }))

/** Pages of the person. */
export const ownPages: readonly { readonly name: string; readonly path: string }[] = withoutParameters
  .filter(({ pattern }) => pattern.startsWith('/console/you'))
  .map(({ name, pattern }) => ({ name, path: pattern }))

const uuid = '01a20000-0000-7000-8000-000000000000'
const thingIds: Readonly<Record<string, string>> = {
  ...{ number: `DID${uuid}`, contact: `PER${uuid}`, message: `SMO${uuid}`, call: `CDR${uuid}`, webhook: `WHK${uuid}` },
  ...{ delivery: `EVT${uuid}`, application: `APP${uuid}`, event: `EVT${uuid}`, channel: `WPN${uuid}` },
}

/** Pages of one thing each, with ids that no account has: their waiting and refused states need no data. */
export const thingPages: readonly string[] = withoutParameters
  .map(({ pattern }) => pattern.replace('/console/:account', '').replace(/(?:\/:\w+\?)+$/, ''))
  .filter((path) => path.includes(':'))
  .map((path) => path.replaceAll(/:(\w+)/g, (_, name: string) => thingIds[name] ?? name))
