import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openapiFile } from '../scripts/openapi.ts'
import { installedTools, runTool } from './openapi-tools/installed.ts'

// The OpenAPI document as others read it: two linters with their recommended rules.

const root = join(import.meta.dirname, '..')
const { modules, skip } = installedTools('linters')

test('Redocly finds neither an error nor a warning in openapi.json', { skip }, async () => {
  const report = await runTool(join(modules, '.bin/redocly'), ['lint', '--format=json', openapiFile], root)
  const { totals, problems } = JSON.parse(report)
  assert.deepEqual([totals.errors, totals.warnings], [0, 0], JSON.stringify(problems, null, 2))
})

test('Spectral finds nothing in openapi.json, not even a hint', { skip }, async () => {
  await runTool(join(modules, '.bin/spectral'), ['lint', '--fail-severity=hint', openapiFile], root)
})
