import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { makeLog } from './log.ts'

test('a JSON line has its level as a word, its time in RFC 3339, the instance and the roles', () => {
  const lines: string[] = []
  const source = { instance: `${hostname()}, process ${process.pid}`, role: 'api,worker' }
  const log = makeLog('info', { write: (line) => void lines.push(line) }, undefined, source)
  log.warn({ connection: 'acme', err: new Error('gone') }, 'smpp: down')
  log.debug('not logged')
  assert.equal(lines.length, 1)
  const { time, err, ...line } = JSON.parse(lines[0] ?? '')
  assert.deepEqual(line, { level: 'warn', ...source, connection: 'acme', msg: 'smpp: down' })
  assert.equal(err.message, 'gone')
  assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.ok(Math.abs(Date.parse(time) - Date.now()) < 60_000)
})
