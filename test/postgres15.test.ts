import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { needs } from './needs.ts'
import { oldest } from './servers.ts'

const root = join(import.meta.dirname, '..')

/** The tests whose SQL matters: those of the domains and of the queue. */
const files = globSync(
  ['src/{accounts,contacts,jobs,ledger,numbers,sms,tokens}/*.test.ts', 'src/http/idempotency.test.ts'],
  {
    cwd: root,
  },
).filter((file) => !/catalogue|sms.(?:route|order|unwritten|wire|flapping)\.test/.test(file))

test('the SQL of every domain runs on PostgreSQL 15 as it does on 18', needs('PostgreSQL 15', oldest !== null), () => {
  assert.ok(files.length >= 5, files.join())
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const run = spawnSync(process.execPath, ['--test', '--test-concurrency=2', ...files], {
    cwd: root,
    env: { ...env, TRUNKLINE_TEST_POSTGRES: '15' },
    encoding: 'utf8',
  })
  assert.equal(run.status, 0, run.stdout)
})
