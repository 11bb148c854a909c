import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { contracts } from '../src/contracts.ts'
import { eventDocuments } from '../src/event-payloads.ts'
import { openapi } from '../src/platform/http/openapi.ts'

const root = join(import.meta.dirname, '..')

/** Path of the OpenAPI document. */
export const openapiFile = join(root, 'docs', 'openapi.json')

/** Returns the OpenAPI document generated from the current contracts. */
export const openapiText = (): string => {
  const { version }: { version: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return `${JSON.stringify(openapi(contracts, version, eventDocuments), null, 2)}\n`
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

if (import.meta.main) {
  writeFileSync(openapiFile, openapiText())
  writeFileSync(commandsFile, commandsText())
}
