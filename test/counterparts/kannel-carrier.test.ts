import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, type TestContext, test } from 'node:test'
import { contact, giveNumber, makeSmsWorld } from '../../src/domains/sms/sms-testing.ts'
import { needs } from '../needs.ts'
import { until } from '../platform.ts'
import { makeSimulatorHome } from '../simulator.ts'
import { freePort, runProgram } from './program.ts'

// Kannel 1.4 as a carrier over HTTP: smsbox, and its fake SMSC, which delivers at once. The driver `kannel` and the
// driver `generic` with settings for it must give the same results.

let ours = ''
const world = await makeSmsWorld({ publicUrl: () => ours })
ours = await world.app.listen({ port: 0, host: '127.0.0.1' })
after(world.stop)
const { call, send, tenant, waitForStatus } = world

type Kannel = {
  /** Address of sendsms. */
  readonly url: string
  /** Lines that the fake SMSC got: sender, recipient, form and text. */
  readonly lines: string[]
  /** A handset writes through the fake SMSC. */
  write(from: string, to: string, text: string): void
}

/** Starts Kannel, whose inbound messages go to a connection. */
const startKannel = async (t: TestContext, inbound: () => string): Promise<Kannel> => {
  const folder = await makeSimulatorHome(t)
  const [admin, box, http, smsc] = [await freePort(), await freePort(), await freePort(), await freePort()]
  const path = join(folder, 'kannel.conf')
  await writeFile(
    path,
    `group = core
admin-port = ${admin}
admin-password = admin
smsbox-port = ${box}
box-allow-ip = 127.0.0.1

group = smsc
smsc = fake
smsc-id = fake
port = ${smsc}
connect-allow-ip = 127.0.0.1

group = smsbox
bearerbox-host = 127.0.0.1
sendsms-port = ${http}

group = sendsms-user
username = user
password = word
concatenation = true
max-messages = 10

group = sms-service
keyword = default
catch-all = true
get-url = "${inbound()}?secret=known&id=%I&from=%p&to=%P&coding=%c&text=%b"
max-messages = 0
accepted-smsc = fake
`,
  )
  const bearer = runProgram(t, ['bearerbox', '-v', '1', path], folder)
  await bearer.listens(smsc)
  const socket: Socket = connect(smsc, '127.0.0.1')
  t.after(async () => void socket.destroy())
  await once(socket, 'connect')
  const lines: string[] = []
  createInterface({ input: socket }).on('line', (line) => lines.push(line))
  const smsbox = runProgram(t, ['smsbox', '-v', '1', path], folder)
  await smsbox.listens(http)
  return {
    url: `http://127.0.0.1:${http}/cgi-bin/sendsms`,
    lines,
    write: (from, to, text) => void socket.write(`${from} ${to} text ${text}\n`),
  }
}

const settingsOf = (url: string): readonly (readonly [name: string, settings: Record<string, unknown>])[] => [
  ['kannel', { provider: 'kannel', base_url: url, username: 'user', password: 'word', callback_secret: 'known' }],
  [
    'generic',
    {
      provider: 'generic',
      url: `${url}?username={username}&password={password}&from={from}&to={to}&text={text}&charset=UTF-8&coding={coding}&dlr-mask=31&dlr-url={callback}%26state%3D%25d`,
      ...{ username: 'user', password: 'word', success_status: [202], error_pattern: '^[A-Z][a-z]+ [a-z]+' },
      denied_codes: ['Authorization failed'],
      ...{ receipt_state: 'state', receipt_states: { '1': 'delivered', '2': 'undelivered', '4': 'accepted' } },
      ...{ callback_secret: 'known', inbound_from: 'from', inbound_to: 'to', inbound_text: 'text' },
    },
  ],
]

for (const which of [0, 1] as const)
  test(
    `Kannel delivers messages, reports on them and passes on what handsets write: driver ${['kannel', 'generic'][which]}`,
    needs('bearerbox'),
    async (t) => {
      let connection = ''
      // The address of inbound messages is in Kannel's file, so the connection comes first.
      const place = await call('operator', 'POST', '/operator/connections', {
        ...{ kind: 'sms-http', name: `kannel ${which}`, enabled: false },
        settings: settingsOf('http://127.0.0.1:9/')[which]?.[1],
      })
      connection = place.body.connection.uuid
      const kannel = await startKannel(t, () => `${ours}/callbacks/sms/${connection}`)
      const settings = settingsOf(kannel.url)[which]?.[1]
      await world.change(connection, { enabled: true, settings })
      t.after(async () => void (await call('operator', 'DELETE', `/operator/connections/${connection}`)))
      await until(async () => world.parts.carriers.state(connection.slice(3))?.state === 'up')
      await world.parts.routing.ready()

      const who = await tenant()
      const { number } = await giveNumber(world, who)
      for (const text of ['Hello Kannel', 'x'.repeat(200), 'Привет']) {
        const printed = (await send(who, number, text)).body.message_uuid
        await waitForStatus(who, printed, 'delivered')
      }
      assert.equal(kannel.lines[0], `${number} ${contact} text Hello Kannel`)
      assert.ok(kannel.lines.length >= 4, 'a long message leaves Kannel in parts')

      kannel.write(contact, number, 'Grüße für 5 € from the handset')
      const received = await until(async () => {
        const { messages } = (await call(who, 'GET', '/open/sms/messages')).body
        return messages.find((one: { direction: string }) => one.direction === 'inbound') ?? null
      })
      assert.deepEqual([received.source, received.text], [contact, 'Grüße für 5 € from the handset'])

      await world.change(connection, { settings: { password: 'wrong' } })
      await until(async () => world.parts.carriers.state(connection.slice(3))?.submitted === 0)
      await world.parts.routing.ready()
      const held = (await send(who, number, 'wrong password')).body.message_uuid
      const state = await until(async () => {
        const one = world.parts.carriers.state(connection.slice(3))
        return one?.state === 'down' ? one : null
      })
      assert.equal(state.fatal, true)
      assert.match(
        state.lastError ?? '',
        /^the provider refused the credentials \(403\): Authorization failed for sendsms/,
      )
      await world.change(connection, { settings: { password: 'word' } })
      await until(async () => world.parts.carriers.state(connection.slice(3))?.state === 'up')
      await world.advance(10)
      await waitForStatus(who, held, 'delivered')
    },
  )
