import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { inheritedEnvironment, preloadFlag } from './child.ts'
import { temporaryFolder } from './servers.ts'

test('a stop while the roles start waits for them: none uses the database after its end', async () => {
  const free = ['PORT', 'SIP_PORT', 'SANDBOX_SMPP_PORT', 'SANDBOX_SIP_PORT'].map((name) => [`TRUNKLINE_${name}`, '0'])
  const child = spawn(process.execPath, [preloadFlag, join(import.meta.dirname, '../src/main.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...inheritedEnvironment, ...Object.fromEntries(free), TRUNKLINE_HOME: temporaryFolder() },
  })
  const exited = once(child, 'exit')
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    // The first connection binds while other roles still start.
    if (line.includes('smpp: bound')) child.kill('SIGTERM')
  }
  assert.deepEqual(await exited, [0, null])
  assert.ok(lines.some((line) => line.includes('smpp: bound')))
  assert.deepEqual(
    lines.filter((line) => line.includes('Cannot use a pool after calling end')),
    [],
  )
})
