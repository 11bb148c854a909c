import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../../test/servers.ts'
import { processFolder, removePartial } from './spool.ts'

test('partial files of a dead process are removed, and those of other processes stay', async () => {
  const folder = temporaryFolder()
  const { pid: dead } = spawnSync(process.execPath, ['--version'])
  const living = [processFolder, `${hostname()}_${process.ppid}_a`, 'elsewhere_1_a']
  for (const name of [...living, `${hostname()}_${dead}_a`, `${hostname()}_${process.pid}_before`]) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'file'), 'half')
  }
  await removePartial(folder)
  assert.deepEqual(readdirSync(folder).sort(), living.sort())
  await removePartial(join(folder, 'nothing'))
})
