import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { contracts } from '../src/contracts.ts'
import { openapi } from '../src/http/openapi.ts'

const root = join(import.meta.dirname, '..')

/** Where the document of the interface stands. */
export const openapiFile = join(root, 'docs', 'openapi.json')

/** The document of the interface as the contracts say it now. */
export const openapiText = (): string => {
  const { version }: { version: string } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return `${JSON.stringify(openapi(contracts, version), null, 2)}\n`
}

if (import.meta.main) writeFileSync(openapiFile, openapiText())
