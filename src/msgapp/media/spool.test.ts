import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../test/servers.ts'
import { ownName, sweep } from './spool.ts'

test('what a dead process left half-fetched is removed; what another one fetches stays', async () => {
  const folder = temporaryFolder()
  const { pid: dead } = spawnSync(process.execPath, ['--version'])
  const living = [ownName, `${hostname()}_${process.ppid}_a`, 'elsewhere_1_a']
  for (const name of [...living, `${hostname()}_${dead}_a`, `${hostname()}_${process.pid}_before`]) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'file'), 'half')
  }
  await sweep(folder)
  assert.deepEqual(readdirSync(folder).sort(), living.sort())
  await sweep(join(folder, 'nothing'))
})
