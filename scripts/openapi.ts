import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { contracts } from '../src/contracts.ts'
import { eventDocuments } from '../src/event-payloads.ts'
import { openapi } from '../src/platform/http/openapi.ts'
import { tagDescriptions } from '../src/tags.ts'

const root = join(import.meta.dirname, '..')

/** Path of the OpenAPI document, which is not tracked: scripts/documents.mjs makes it when its sources changed. */
export const openapiFile = join(root, 'docs', 'openapi.json')

/** Returns the OpenAPI document generated from the current contracts. */
export const openapiText = (): string => {
  const { version }: { version: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return `${JSON.stringify(openapi(contracts, version, eventDocuments, tagDescriptions), null, 2)}\n`
}

/** Path of the contracts that the command line reads; it starts without loading the schema library. */
export const commandsFile = join(root, 'src/interfaces/cli/contracts.json')

/** Returns the contracts of the command line, one per line to keep diffs small. */
export const commandsText = (): string => {
  const lines = contracts
    .filter(({ cli }) => cli !== undefined)
    .map(({ id, method, url, auth, summary, params, query, body, reply, faults, stream, cli }) =>
      JSON.stringify(
        { id, method, url, auth, summary, params, query, body, reply, faults, stream, cli },
        // Names of schemas serve the document only.
        (key, value) => (key === 'x-name' ? undefined : value),
      ),
    )
  return `[\n${lines.join(',\n')}\n]\n`
}

const imports = /^(?:import|export)\s+(?!type\b)[^'"(=]*?\s*from\s+'((?:\.|@trunkline\/)[^']+)'/gm

/** Returns the paths of the files that the documents are made of: this one and all that it imports, except npm packages. */
export const documentSources = (): string[] => {
  const reached = new Set([import.meta.url])
  for (const url of reached)
    for (const [, name = ''] of readFileSync(fileURLToPath(url), 'utf8').matchAll(imports))
      reached.add(name.startsWith('.') ? new URL(name, url).href : packageFile(name))
  return [...reached].map((url) => relative(root, fileURLToPath(url)).replaceAll('\\', '/')).sort()
}

/** The file of a package of this repository, such as `@trunkline/phone/phone.ts`. */
const packageFile = (name: string): string => {
  const [, folder = '', ...path] = name.split('/')
  return pathToFileURL(join(root, 'packages', folder, 'src', ...path)).href
}

/** Writes a file at once: another process may read it. */
const write = (path: string, text: string): void => {
  const part = `${path}.${process.pid}`
  writeFileSync(part, text)
  renameSync(part, path)
}

if (import.meta.main) {
  write(openapiFile, openapiText())
  write(commandsFile, commandsText())
  console.log(documentSources().join('\n'))
}
