import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { needs } from '../needs.ts'
import { until } from '../platform.ts'
import { handsetMessages, makeSimulatorHome, ownNumber, password, startSimulator } from '../simulator.ts'
import { freePort, runProgram } from './program.ts'

// Kannel 1.4, an SMS gateway that we did not write, as a client of the sandbox SMSC.

const handset = '+33612345678'
const source = ownNumber.slice(1)

type Gateway = {
  /** Asks Kannel to send, as its users do; `coding` 2 is UCS-2. */
  send(to: string, text: string, coding?: 0 | 2): Promise<void>
  /** The requests that Kannel made for receipts and messages: path and query. */
  readonly calls: URL[]
}

/** Kannel reports receipts and inbound messages by GET requests. */
const listen = async (t: TestContext, calls: URL[]): Promise<number> => {
  const server = createServer((request, response) => {
    calls.push(new URL(request.url ?? '/', 'http://localhost'))
    response.end()
  })
  t.after(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return address && typeof address === 'object' ? address.port : 0
}

const startKannel = async (t: TestContext, smppPort: number): Promise<Gateway> => {
  const folder = await makeSimulatorHome(t)
  const calls: URL[] = []
  const hook = `http://127.0.0.1:${await listen(t, calls)}`
  const [admin, box, http] = [await freePort(), await freePort(), await freePort()]
  const path = join(folder, 'kannel.conf')
  await writeFile(
    path,
    `group = core
admin-port = ${admin}
admin-password = admin
smsbox-port = ${box}
box-allow-ip = 127.0.0.1

group = smsc
smsc = smpp
smsc-id = sandbox
host = 127.0.0.1
port = ${smppPort}
transceiver-mode = true
smsc-username = kannel
smsc-password = ${password}
system-type = VMA
interface-version = 34
source-addr-ton = 1
source-addr-npi = 1
dest-addr-ton = 1
dest-addr-npi = 1
msg-id-type = 3

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
get-url = "${hook}/text?from=%p&to=%P&text=%a&coding=%c"
max-messages = 0
accepted-smsc = sandbox
`,
  )
  const bearer = runProgram(t, ['bearerbox', '-v', '1', path], folder)
  const status = async () => {
    const answer = await fetch(`http://127.0.0.1:${admin}/status.txt?password=admin`).catch(() => null)
    return answer?.ok ? answer.text() : ''
  }
  await bearer.reaches('it is bound', async () => /sandbox.*online/.test(await status()))
  const smsbox = runProgram(t, ['smsbox', '-v', '1', path], folder)
  await smsbox.reaches('it is registered', async () => /smsbox.*on-line/.test(await status()))
  await smsbox.listens(http)
  const call = async (query: Record<string, string>) => {
    const answer = await fetch(`http://127.0.0.1:${http}/cgi-bin/sendsms?${new URLSearchParams(query)}`)
    assert.equal(answer.status, 202, `${await answer.text()} ${smsbox.output()}`)
  }
  return {
    calls,
    send: (to, text, coding = 0) =>
      call({
        username: 'user',
        password: 'word',
        from: `+${source}`,
        to,
        text,
        coding: String(coding),
        charset: 'UTF-8',
        'dlr-mask': '31',
        'dlr-url': `${hook}/receipt?state=%d&to=%P&id=%F&answer=%A`,
      }),
  }
}

/** The number of Kannel's reports of a state: 1 delivered, 2 not. */
const countReports = ({ calls }: Gateway, state: string): number =>
  calls.filter(({ pathname, searchParams }) => pathname === '/receipt' && searchParams.get('state') === state).length

test('Kannel sends long messages in all alphabets and receives the receipt of each', needs('bearerbox'), async (t) => {
  const simulator = await startSimulator(t, await makeSimulatorHome(t))
  const kannel = await startKannel(t, simulator.smppPort)
  const texts: [text: string, coding: 0 | 2][] = [
    ['Hello @ £ € [x] {y} Ünits', 0],
    ['a'.repeat(160), 0],
    [`${'b'.repeat(152)}€${'c'.repeat(200)}`, 0],
    ['Привет 👋', 2],
    ['я'.repeat(150), 2],
    ...Array.from({ length: 40 }, (_, i): [string, 0] => [`burst ${i}`, 0]),
  ]
  for (const [text, coding] of texts) await kannel.send(handset, text, coding)
  await kannel.send('+33612340001', 'Nobody there')
  await until(async () => countReports(kannel, '1') >= texts.length && countReports(kannel, '2') === 1)
  const seen = await handsetMessages(simulator, handset)
  assert.deepEqual(
    seen.map(({ text }) => text),
    texts.map(([text]) => text),
  )
  assert.ok(seen.every(({ peer }) => peer === ownNumber))
  assert.equal(countReports(kannel, '1'), texts.length)
})

test(
  'Kannel receives what a handset sends, with long messages joined from their parts',
  needs('bearerbox'),
  async (t) => {
    const simulator = await startSimulator(t, await makeSimulatorHome(t))
    const kannel = await startKannel(t, simulator.smppPort)
    const long = 'д'.repeat(100)
    for (const text of ['Grüße, €5', long])
      await simulator.call('POST', `/handsets/${handset}/sms`, { to: ownNumber, text })
    await until(async () => kannel.calls.length >= 2)
    const heard = kannel.calls.map(({ searchParams }) => searchParams)
    assert.deepEqual(
      heard.map((query) => [query.get('from'), query.get('to')]),
      [
        [handset, ownNumber],
        [handset, ownNumber],
      ],
    )
    assert.equal(heard[0]?.get('text'), 'Grüße, €5')
    // Kannel passes UCS-2 on as raw octets, which `URL` reads as characters.
    assert.match(kannel.calls[1]?.search ?? '', new RegExp(`text=(?:%044){${long.length}}&coding=2`))
  },
)
