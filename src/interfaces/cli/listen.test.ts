import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { until } from '../../../test/platform.ts'
import { makeWorld, type Tenant } from '../../../test/world.ts'
import { assemble } from '../../assemble.ts'
import { contracts } from '../../contracts.ts'
import { record } from '../../domains/events/ops.ts'
import { startRoles } from '../../start-roles.ts'
import { makeShell } from './testing.ts'

const { db, parts, tenant } = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })

/** A server over the database of this file. @param port 0 for any */
const serve = async (port = 0) => {
  const running = await startRoles(await assemble({ ...parts, config: { ...parts.config, port, roles: ['api'] } }))
  after(running.stop)
  return running
}
const server = await serve()
const url = `http://127.0.0.1:${server.port}`

type Got = { headers: Record<string, string>; body: string }

/** The webhook endpoint of a developer. */
const receive = async (statusOf = () => 200) => {
  const got: Got[] = []
  const receiver = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (part) => {
      body += part
    })
    request.on('end', () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
      got.push({ headers, body })
      response.writeHead(statusOf()).end('seen')
    })
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  after(() => receiver.close())
  after(() => receiver.closeAllConnections())
  const { port } = receiver.address() as AddressInfo // it listens on TCP
  return { got, hook: `http://127.0.0.1:${port}/hook` }
}

/** Runs the command, and stops it on request. */
const listen = (who: Tenant, args: string[], options: { isColoured?: boolean; base?: string } = {}) => {
  const controller = new AbortController()
  after(() => controller.abort())
  let [out, err] = ['', '']
  const shell = makeShell(contracts, {
    isColoured: options.isColoured ?? false,
    untilStopped: () => controller.signal,
    write: (text) => {
      out += text
    },
    writeError: (text) => {
      err += text
    },
  })
  const done = shell('listen', '--url', options.base ?? url, '--api-key', who.key, ...args)
  return {
    out: () => out,
    err: () => err,
    shows: (text: string | RegExp) => until(async () => out.match(text)),
    end: async () => {
      controller.abort()
      return (await done).status
    },
    done,
  }
}

const happen = (who: Tenant, first_name: string) =>
  db.begin((tx) =>
    record(tx, [
      { account: who.id, name: 'contact.created', channel: null, conversation: null, payload: { first_name } },
    ]),
  )

const firstNames = (got: readonly Got[]) => got.map(({ body }) => JSON.parse(body).first_name)

test('events of the account are posted to the local endpoint, signed with the printed secret', async () => {
  const ada = await tenant()
  const { got, hook } = await receive()
  const listening = listen(ada, ['--forward-to', hook])
  const [, secret = ''] = await listening.shows(/Signed with +(whsec_\S+)/)
  const shell = makeShell(contracts)
  const { status, out } = await shell('trigger', 'contact.created', '--url', url, '--api-key', ada.key)
  assert.deepEqual([status, /via +account/.test(out)], [0, true], out)
  await until(async () => got.length === 1)
  const [{ headers, body } = { headers: {}, body: '' }] = got
  const event = new Webhook(secret).verify(body, headers)
  assert.deepEqual(event, JSON.parse(body))
  assert.equal(JSON.parse(body).event, 'contact.created')
  await listening.shows(/\d\d:\d\d:\d\d {2}contact\.created {2}EVT[0-9a-f-]{36} {2}200 {2}\d+ ms\n/)
  assert.equal(await listening.end(), 0)
})

test('the command reconnects and continues after the last event, with each event once', async () => {
  const ada = await tenant()
  const { got, hook } = await receive()
  const first = await serve()
  const listening = listen(ada, ['--forward-to', hook], { base: `http://127.0.0.1:${first.port}` })
  await listening.shows('Signed with')
  await happen(ada, 'before')
  await until(async () => got.length === 1)
  await first.stop()
  await happen(ada, 'meanwhile')
  await until(async () => /the server is stopping.*reconnecting in/.test(listening.err()))
  await serve(first.port)
  await happen(ada, 'behind')
  await until(async () => got.length >= 3)
  assert.match(listening.err(), /reconnected/)
  await happen(ada, 'last')
  await until(async () => firstNames(got).includes('last'))
  assert.deepEqual(firstNames(got), ['before', 'meanwhile', 'behind', 'last'])
  assert.equal(await listening.end(), 0)
})

test('the response of the local endpoint is shown, and so is its absence', async () => {
  const ada = await tenant()
  let status = 500
  const { hook } = await receive(() => status)
  const listening = listen(ada, ['--forward-to', hook, '--print'], { isColoured: true })
  await listening.shows('Signed with')
  await happen(ada, 'x')
  await listening.shows(/\[31m500/)
  status = 302
  await happen(ada, 'y')
  await listening.shows(/\[33m302/)
  assert.match(listening.out(), / {4} {2}"first_name": "y"/)
  const away = listen(ada, ['--forward-to', 'http://127.0.0.1:1/'])
  await away.shows('Signed with')
  await happen(ada, 'z')
  await away.shows(/contact\.created {2}EVT\S+ {2}not delivered: \S+/)
})

test('events are printed without an address; with --json as JSON lines', async () => {
  const ada = await tenant()
  const [plain, json] = [listen(ada, []), listen(ada, ['--json'])]
  await plain.shows('Listening to')
  await until(async () => json.err().includes('Listening to'))
  await happen(ada, 'Zoë \u001b[2J')
  await plain.shows(/"first_name": "Zoë \\u001b\[2J"/)
  await json.shows('\n')
  const line = JSON.parse(json.out())
  assert.deepEqual([line.event, line.payload.first_name], ['contact.created', 'Zoë \u001b[2J'])
})

test('a refusal by the server is printed, and ends the command', async () => {
  const ada = await tenant()
  for (const [who, args, message] of [
    [{ ...ada, key: 'nobody' }, [], /The API key is not valid.*\(unauthorized, req_/],
    [ada, ['--events', 'contact.creatd'], /did you mean contact\.created\? \(unknown_event/],
  ] as const) {
    const listening = listen(who, [...args])
    assert.equal((await listening.done).status, 1)
    assert.match(listening.err(), message)
  }
  const unreachable = listen(ada, [], { base: 'http://127.0.0.1:1' })
  assert.equal((await unreachable.done).status, 1)
  assert.match(unreachable.err(), /cannot be reached \(ECONNREFUSED\); is the server running/)
})

test('a revoked key ends the command with a message', async () => {
  const ada = await tenant()
  const listening = listen(ada, [])
  await listening.shows('Listening to')
  await db.run`update api_keys set revoked_at = app_now() where account_id = ${ada.id}`
  await db.begin((tx) => parts.changes.invalidate(tx, 'accounts'))
  assert.equal((await listening.done).status, 1)
  assert.match(listening.err(), /the key was revoked/)
})

test('a wrong command line is refused before anything is sent', async () => {
  const shell = makeShell(contracts, { environment: { TRUNKLINE_API_KEY: 'a key' } })
  for (const [line, message] of [
    ['listen --forward-to here', /--forward-to must be an address/],
    ['listen --forward-to ftp://localhost/', /--forward-to must be an address/],
    ['listen --forward-to', /--forward-to needs a value/],
    ['listen to me', /"to" is an unexpected argument/],
    ['listen --evnts x', /no option --evnts; did you mean --events/],
    ['lisen', /no command "lisen"; did you mean "listen"/],
    ['triger x', /no command "triger"; did you mean "trigger"/],
    ['trigger', /trigger needs EVENT_NAME: EVENT_NAME is missing/],
    ['trigger a b', /"b" is an unexpected argument/],
  ] as const) {
    const { status, err } = await shell(...line.split(' '))
    assert.match(err, message)
    assert.equal(status, 2, line)
  }
  assert.match((await makeShell(contracts)('listen')).err, /--api-key, or set TRUNKLINE_API_KEY/)
})

test('help explains the command, alone and among all commands', async () => {
  const shell = makeShell(contracts)
  const one = await shell('listen', '--help')
  assert.equal(one.status, 0)
  for (const word of ['--forward-to URL', '--events NAME,…', '--print', '--api-key', 'trunkline listen --forward-to'])
    assert.ok(one.out.includes(word), word)
  const all = await shell('--help')
  assert.match(all.out, /\n {2}listen +Deliver the account’s events/)
  assert.match(all.out, /\n {2}trigger +Make an event happen/)
})

test('Ctrl-C ends the command at once, with status 0 and nothing on the error output', async () => {
  const ada = await tenant()
  const args = ['listen', '--url', url, '--api-key', ada.key]
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  after(() => child.kill('SIGKILL'))
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text
  })
  await until(async () => out.includes('Listening to'))
  const ended = once(child, 'exit')
  // As from a terminal, through bin/trunkline.mjs.
  child.kill('SIGINT')
  child.kill('SIGINT')
  assert.deepEqual(await ended, [0, null])
  assert.equal(err, '')
  assert.ok(!out.includes('\u001b'), 'there are no colours without a terminal')
})
