import type { Config } from './config.ts'

type ProcessRole = Config['roles'][number]

const everyRole: readonly ProcessRole[] = ['api', 'worker', 'voice', 'console']

/** Paths that processes without the role `api` serve, too, with all paths under them. */
const paths: readonly { readonly path: string; readonly by: readonly ProcessRole[] }[] = [
  { path: '/ping', by: everyRole },
  { path: '/healthz', by: everyRole },
  { path: '/readyz', by: everyRole },
  { path: '/metrics', by: everyRole },
  // Receipts, messages and orders of carriers, networks and suppliers.
  { path: '/callbacks', by: ['api', 'worker'] },
  // The socket of browsers. A process without the role voice answers it by itself.
  { path: '/voice', by: ['api', 'voice'] },
  { path: '/console', by: ['api', 'console'] },
  // The telephone of the console.
  { path: '/sdk', by: ['api', 'console'] },
]

/**
 * Returns the roles of which a process needs one to serve a path.
 * @param path of a request, or the pattern of its route
 */
export const rolesThatServe = (path: string): readonly ProcessRole[] =>
  paths.find((one) => path === one.path || path.startsWith(`${one.path}/`))?.by ?? ['api']

/** Returns whether a process with these roles serves a path. */
export const isServed = (path: string, roles: readonly ProcessRole[]): boolean =>
  rolesThatServe(path).some((role) => roles.includes(role))
