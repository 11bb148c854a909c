import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atEnd, runEndings } from './endings.ts'

test('endings run in reverse order, each once, and all of them although one fails', async () => {
  const ran: string[] = []
  atEnd(() => ran.push('database'))
  atEnd(async () => {
    await null
    ran.push('platform')
    throw new Error('the platform did not end')
  })
  atEnd(() => ran.push('browser'))
  await assert.rejects(runEndings(), /the platform did not end/)
  assert.deepEqual(ran, ['browser', 'platform', 'database'])
  await runEndings()
  assert.equal(ran.length, 3)
})
