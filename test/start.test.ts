import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import smpp, { type SmppPdu, type SmppSession } from 'smpp'
import { fullForm } from './needs.ts'
import { apiKey, buyNumber, type Platform, startPlatform, until } from './platform.ts'
import { temporaryFolder } from './servers.ts'

let platform: Platform
after(() => platform?.end('SIGKILL'))

const send = async (from: string, to: string, text: string): Promise<string> => {
  const answer = await platform.call('POST', '/open/sms/send', { from_number: from, to_number: to, text })
  assert.equal(answer.status, 202, JSON.stringify(answer.body))
  return answer.body.message_uuid
}
const statusOf = async (uuid: string): Promise<string> =>
  (await platform.call('GET', `/open/sms/message/${uuid}`)).body.message.status

let own: { number: string; channel: string }

test('the main use works: buy a number, send an SMS, get its receipt and the handset’s answer, read the thread', async () => {
  platform = await startPlatform(temporaryFolder())
  own = await buyNumber(platform)
  const text = 'Zażółć gęślą jaźń – 👋🏽'.repeat(8)
  const uuid = await send(own.number, '447700900123', text)
  await until(async () => (await statusOf(uuid)) === 'delivered')

  const handset = '/sandbox/handsets/+447700900123'
  const { sms } = (await platform.call('GET', handset)).body
  assert.deepEqual({ ...sms[0], at: '' }, { direction: 'inbound', peer: own.number, text, at: '', uuid })

  const reply = `${'A long answer. '.repeat(20)}€`
  assert.equal((await platform.call('POST', `${handset}/sms`, { to: own.number, text: reply })).status, 202)
  const thread = `/open/sms/messages/${own.channel}/%2B447700900123`
  const answer = await until(async () => {
    const { body } = await platform.call('GET', thread)
    return body.count === 2 && body
  })
  assert.deepEqual(
    answer.messages.map(({ text, direction }: { text: string; direction: string }) => [text, direction]),
    [
      [text, 'outbound'],
      [reply, 'inbound'],
    ],
  )
  assert.equal(answer.messages[0].fragments, Math.ceil(text.length / 67))
})

test(
  'pages, documents and metrics of a platform with packed dependencies are served, without a key',
  fullForm('further starts'),
  async () => {
    for (const path of [
      '/docs',
      '/docs/try',
      '/docs/voice',
      '/metrics',
      '/openapi.json',
      '/console/phone',
      '/sdk/example/telephone.html',
    ])
      assert.equal((await fetch(platform.url + path)).status, 200, path)
    const refused = await platform.call('POST', '/open/sms/send', { from_number: 1 })
    assert.equal(refused.status, 400)
  },
)

test('magic numbers and the behaviour of handsets give every final state', async () => {
  const finals: Record<string, string> = { '0001': 'undelivered', '0002': 'expired', '0003': 'rejected' }
  for (const [last, status] of Object.entries(finals)) {
    const uuid = await send(own.number, `+44791112${last}`, 'x')
    await until(async () => (await statusOf(uuid)) === status)
  }
  assert.equal((await platform.call('PUT', '/sandbox/handsets/+447911129999', { sms: 'undeliverable' })).status, 200)
  const uuid = await send(own.number, '+447911129999', 'x')
  await until(async () => (await statusOf(uuid)) === 'undelivered')
})

test('a second start on the same home ends with a clear message', async () => {
  await assert.rejects(startPlatform(platform.home), new RegExp(`in use.*${platform.pid}`, 's'))
})

test('the carrier is real: while its process is stopped messages stay queued, and they are sent after its next start', async () => {
  const children = execFileSync('pgrep', ['-P', String(platform.pid), '-f', 'simulator/main.ts'], { encoding: 'utf8' })
  process.kill(Number(children.trim()), 'SIGKILL')
  await until(async () => {
    const { connections } = (await platform.call('GET', '/operator/connections')).body
    return connections.find(({ kind }: { kind: string }) => kind === 'smpp').state.state !== 'bound'
  })
  const uuid = await send(own.number, '+447700900200', 'waits for a carrier')
  for (let look = 0; look < 50; look++) assert.equal(await statusOf(uuid), 'queued')
  assert.equal(await platform.end('SIGKILL'), 'SIGKILL')
  platform = await startPlatform(platform.home)
  await until(async () => (await statusOf(uuid)) === 'delivered')
})

/** An SMSC that we did not write: the npm package smpp. */
const otherSmsc = async () => {
  const texts: string[] = []
  const sessions: SmppSession[] = []
  const server = smpp.createServer((session) => {
    sessions.push(session)
    session.on('error', () => {})
    session.on('bind_transceiver', (pdu: SmppPdu) => session.send(pdu.response()))
    session.on('enquire_link', (pdu: SmppPdu) => session.send(pdu.response()))
    session.on('unbind', (pdu: SmppPdu) => session.send(pdu.response()))
    session.on('submit_sm', (pdu: SmppPdu) => {
      texts.push(String(pdu.short_message?.message))
      const id = `id${texts.length}`
      session.send(pdu.response({ message_id: id }))
      // Sent at once: a receipt may overtake the commit of its submit.
      session.deliver_sm(
        {
          source_addr: String(pdu.destination_addr),
          destination_addr: String(pdu.source_addr),
          esm_class: 4,
          short_message: `id:${id} sub:001 dlvrd:001 submit date:2611210620 done date:2611210620 stat:DELIVRD err:000 text:`,
        },
        () => {},
      )
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    texts,
    say: (from: string, to: string, text: string) =>
      sessions.at(-1)?.deliver_sm({ source_addr: from, destination_addr: to, short_message: text }, () => {}),
    close: () => {
      for (const session of sessions) session.destroy()
      server.close()
    },
  }
}

test('the same walk works unchanged over a foreign SMSC, without a restart', fullForm('further starts'), async (t) => {
  const smsc = await otherSmsc()
  t.after(smsc.close)
  const settings = { host: '127.0.0.1', port: smsc.port, system_id: 'trunkline', password: 'hush hush' }
  const made = await platform.call('POST', '/operator/connections', { kind: 'smpp', name: 'elsewhere', settings })
  assert.equal(made.status, 201)
  assert.ok(!JSON.stringify(made.body).includes('hush'))
  const { uuid: connection } = made.body.connection
  const tried = await platform.call('POST', `/operator/connections/${connection}/test`)
  assert.deepEqual(tried.body, { success: true, working: true, message: 'bound' })

  const uuid = await send(own.number, '+447700900300', 'over another carrier')
  await until(async () => (await statusOf(uuid)) === 'delivered')
  assert.deepEqual(smsc.texts, ['over another carrier'])

  smsc.say('447700900300', own.number.slice(1), 'and back')
  const thread = await until(async () => {
    const { body } = await platform.call('GET', `/open/sms/messages/${own.channel}/447700900300`)
    return body.count === 2 && body
  })
  assert.equal(thread.messages[1].text, 'and back')

  assert.equal((await platform.call('DELETE', `/operator/connections/${connection}`)).status, 200)
  const again = await send(own.number, '+447700900301', 'the sandbox again')
  await until(async () => (await statusOf(again)) === 'delivered')
})

test(
  'a long message waits for window capacity part by part on a slow carrier: no part is sent twice',
  fullForm('further starts'),
  async () => {
    const { connections } = (await platform.call('GET', '/operator/connections')).body
    const { uuid } = connections.find(({ kind }: { kind: string }) => kind === 'smpp')
    await platform.call('PATCH', `/operator/connections/${uuid}`, { settings: { tps: 10 } })
    await platform.call('POST', `/operator/connections/${uuid}/test`)
    const message = await send(own.number, '+447700900500', 'x'.repeat(500))
    await until(async () => (await statusOf(message)) === 'delivered')
    const { connection } = (await platform.call('GET', `/operator/connections/${uuid}`)).body
    assert.equal(connection.state.submitted, 4)
  },
)

test(
  'keys from the settings are not printed, and generated ones are printed once, also after a failed first start',
  fullForm('further starts'),
  async () => {
    const home = temporaryFolder()
    const none = { TRUNKLINE_API_KEY: '', TRUNKLINE_OPERATOR_KEY: '' }
    const absent = join(home, 'absent.pem')
    // The start reads these files after the keys were created.
    await assert.rejects(
      startPlatform(home, { ...none, TRUNKLINE_TLS_CERT: absent, TRUNKLINE_TLS_KEY: absent }),
      /ENOENT/,
    )
    assert.ok(!platform.output().includes(apiKey))
    assert.doesNotMatch(platform.output(), /API key|Operator key/)
    const second = await startPlatform(home, none)
    assert.match(second.output(), /Operator key {3}\S+/)
    const key = /UAK[0-9A-Za-z]{49}/.exec(second.output())?.[0] ?? ''
    const info = await fetch(`${second.url}/open/info`, { headers: { 'x-user-api-key': key } })
    assert.equal(info.status, 200)
    assert.equal(await second.end(), 0)
    const third = await startPlatform(home, none)
    assert.equal(await third.end(), 0)
    assert.doesNotMatch(third.output(), /key {3,}/)
  },
)

test(
  'a port in use stops the start with one line that names the setting, before a database is created',
  fullForm('further starts'),
  async () => {
    const { port } = new URL(platform.url)
    const taken: [string, string][] = [
      ['TRUNKLINE_PORT', port],
      ['TRUNKLINE_SANDBOX_SMPP_PORT', String(platform.smppPort)],
      ['TRUNKLINE_SANDBOX_SIP_PORT', String(platform.sipPort)],
    ]
    for (const [setting, value] of taken) {
      const home = temporaryFolder()
      await assert.rejects(startPlatform(home, { [setting]: value }), ({ message }: Error) => {
        const [, printed = ''] = /^ended at its start \(1\): (.*)$/s.exec(message) ?? []
        assert.match(printed, new RegExp(`^trunkline: (?:TCP|UDP) port ${value} of .* is in use .*${setting}.*\n$`))
        return true
      })
      assert.ok(!existsSync(join(home, 'postgres')), 'the database was created')
    }
  },
)

test('SIGUSR1 neither opens the debugger nor stops the platform', async () => {
  process.kill(platform.pid, 'SIGUSR1')
  const children = execFileSync('pgrep', ['-P', String(platform.pid), '-f', 'simulator/main.ts'], { encoding: 'utf8' })
  process.kill(Number(children.trim()), 'SIGUSR1')
  assert.equal((await platform.call('GET', '/open/info')).status, 200)
})

test(
  'Ctrl-C stops the platform cleanly; the next start has the same data, and the sandbox’s clock, which moves created_at',
  fullForm('further starts'),
  async () => {
    const moved = await platform.call('POST', '/sandbox/clock', { advance_seconds: 86_400 })
    assert.equal(moved.status, 202)
    assert.ok(Math.abs(Date.parse(moved.body.now) - Date.now() - 86_400_000) < 5_000)
    const before = (await platform.call('GET', '/open/info')).body.balance
    assert.equal(await platform.end('SIGINT'), 0)
    // SIGUSR1 was sent above. A process handles pending signals before it exits: the debugger would have printed its address.
    assert.doesNotMatch(platform.output(), /debugger/i)
    platform = await startPlatform(platform.home)
    assert.deepEqual((await platform.call('GET', '/open/info')).body.balance, before)
    assert.equal((await platform.call('GET', `/open/sms/messages/${own.channel}/447700900123`)).body.count, 2)
    const uuid = await send(own.number, '+447700900400', 'tomorrow')
    const { message } = (await platform.call('GET', `/open/sms/message/${uuid}`)).body
    assert.ok(Date.parse(message.created_at) > Date.now() + 86_000_000)
    assert.equal(await platform.end(), 0)
  },
)

test(
  'a running platform asks its carrier for a receipt that does not come, and the answer counts as one',
  fullForm('a further start; the fast form asks carriers in the process of the test'),
  async () => {
    platform = await startPlatform(platform.home)
    const handset = '+447700900600'
    await platform.call('PUT', `/sandbox/handsets/${handset}`, { sms: 'silent' })
    const uuid = await send(own.number, handset, 'without a receipt')
    await until(async () => (await statusOf(uuid)) === 'sent')
    assert.equal((await platform.call('POST', '/sandbox/clock', { advance_seconds: 960 })).status, 202)
    const message = async () => (await platform.call('GET', `/open/sms/message/${uuid}`)).body.message
    await until(async () => (await message()).sub_status === 'accepted')
    assert.equal((await message()).status, 'sent')
    assert.equal(await platform.end(), 0)
  },
)
