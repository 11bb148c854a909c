import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

// Loads the modules of the product unchanged, once for each simulated process, so that processes share no variables.
// Four imports lead elsewhere: the driver of PostgreSQL, the carrier's connector, timers and random ids.

const root = pathToFileURL(`${join(import.meta.dirname, '../..')}/`).href
const here = (name: string) => new URL(name, import.meta.url).href

/** `pg` has a default export. */
const driverUrl = `data:text/javascript,export { driver as default } from '${here('driver.ts')}'`

const substitutes: readonly { importer: string; specifier: RegExp; url: string }[] = [
  { importer: 'src/platform/db/sql.ts', specifier: /^pg$/, url: driverUrl },
  { importer: 'src/platform/lib/id.ts', specifier: /^node:crypto$/, url: here('ids.ts') },
  { importer: 'src/', specifier: /^node:timers\/promises$/, url: here('timers-promises.ts') },
  { importer: 'src/', specifier: /\/smpp-carrier\.ts$/, url: here('carrier.ts') },
]

let isRegistered = false

const register = () => {
  isRegistered = true
  registerHooks({
    resolve: (specifier, context, next) => {
      const parent = context.parentURL === undefined ? null : new URL(context.parentURL)
      const slot = parent?.searchParams.get('process')
      if (!parent || slot === null || slot === undefined) return next(specifier, context)
      const importer = parent.href.slice(root.length)
      const found = substitutes.find((one) => importer.startsWith(one.importer) && one.specifier.test(specifier))
      if (found) return { url: found.url, shortCircuit: true }
      const resolved = next(specifier, context)
      return resolved.url.startsWith(`${root}src/`) ? { ...resolved, url: `${resolved.url}?process=${slot}` } : resolved
    },
  })
}

/**
 * Loads a module of the product for a process.
 * @param path from the root of the repository
 */
export const load = async <Module>(slot: number, path: string): Promise<Module> => {
  if (!isRegistered) register()
  return await import(`${root}${path}?process=${slot}`)
}
