import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { inheritedEnvironment } from '../../../test/child.ts'
import { temporaryFolder } from '../../../test/servers.ts'

const program = join(import.meta.dirname, '../../../bin/trunkline.mjs')

const start = (args: string[], environment: Record<string, string> = {}) =>
  spawn(process.execPath, [program, ...args], {
    env: { ...inheritedEnvironment, ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  })

test('the program passes on arguments, output and exit status', async () => {
  const child = start(['accounts', 'lst'])
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  assert.deepEqual([code, out], [2, ''])
  assert.match(err, /did you mean "accounts list"/)
})

test('the standard input is a file named -', async (t) => {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    bodies.push(`${request.headers['content-type']} ${request.headers['x-operator-key']} ${await text(request)}`)
    response.end('{"success":true,"count":1}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo // it listens on TCP
  const url = `http://127.0.0.1:${port}`
  const child = start(['prices', 'import', '-'], { TRUNKLINE_URL: url, TRUNKLINE_OPERATOR_KEY: 'key' })
  child.stdin.end('kind,prefix,price\n')
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  assert.deepEqual([code, out], [0, 'count  1\n'])
  assert.deepEqual(bodies, ['text/csv key kind,prefix,price\n'])
})

test('a long file is streamed from the disk, with its length', async (t) => {
  const sent: string[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    sent.push(`${request.headers['content-length']} ${body.length}`)
    response.end('{"success":true,"lines":1}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo // it listens on TCP
  const file = join(temporaryFolder(), 'numbers.csv')
  writeFileSync(file, 'x'.repeat(3_000_000))
  const environment = { TRUNKLINE_URL: `http://127.0.0.1:${port}`, TRUNKLINE_OPERATOR_KEY: 'key' }
  const child = start(['inventory', 'import', file], environment)
  assert.deepEqual([await text(child.stdout), await text(child.stderr)], ['lines  1\n', ''])
  assert.deepEqual(sent, ['3000000 3000000'])
  const missing = start(['inventory', 'import', `${file}.not`], environment)
  assert.match(await text(missing.stderr), /cannot read .*numbers\.csv\.not/)
})

test('a signal ends the program, and the exit status shows it', async (t) => {
  let heard = () => {}
  const requested = new Promise<void>((resolve) => {
    heard = resolve
  })
  const server = createServer(() => heard()) // never answers
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo // it listens on TCP
  const child = start(['accounts', 'list', '--url', `http://127.0.0.1:${port}`, '--operator-key', 'key'])
  await requested
  child.kill('SIGTERM')
  const [code, signal] = await once(child, 'close')
  assert.deepEqual([code, signal], [null, 'SIGTERM'])
  server.closeAllConnections()
})
