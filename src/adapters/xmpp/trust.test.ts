import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { XmppSettings } from '@trunkline/xmpp/xmpp-settings.ts'
import { certificate } from '../../../test/certificate.ts'
import { needs } from '../../../test/needs.ts'
import { startProsody, until } from '../../../test/prosody.ts'
import { xmppDriver } from './xmpp-driver.ts'
import { line, type RecordedEvents, recordEvents, settingsFor } from './xmpp-testing.ts'

const ours = '+15550000001'
const us = line(ours)
const users = ['15550000001', '15550000002']

const refusedWith = async (t: TestContext, settings: XmppSettings): Promise<RecordedEvents> => {
  const seen = recordEvents()
  const network = (await xmppDriver.load()).start(settings, seen.tools)
  t.after(() => network.close())
  network.attach(us)
  await until('it is reported', () => ['failed', 'disconnected'].includes(seen.phase(us.channel) ?? ''))
  return seen
}

test('a refused login and a wrong server are reported with the reason', needs('prosody'), async (t) => {
  const server = await startProsody(t, users)
  const stateOf = async (settings: XmppSettings) => {
    const { states } = await refusedWith(t, settings)
    return states.get(us.channel)?.find(({ phase }) => phase !== 'connecting')
  }
  const client = settingsFor('client', server)
  const wrong = await stateOf({ ...client, password: 'wrong' })
  assert.deepEqual([wrong?.phase, wrong?.fatal], ['failed', true])
  assert.match(wrong?.reason ?? '', /not-authorized/)

  const { tls_ca: _, ...unknown } = client
  assert.match((await stateOf(unknown))?.reason ?? '', /self-signed/)
  assert.match((await stateOf({ ...client, tls_ca: certificate().cert }))?.reason ?? '', /self-signed|unable to verify/)
  const misnamed = await stateOf({ ...client, tls_server_name: 'carrier.test' })
  assert.deepEqual([misnamed?.phase, misnamed?.fatal], ['disconnected', false])
  assert.match(misnamed?.reason ?? '', /altnames/i)

  const part = await stateOf({ ...settingsFor('component', server), secret: 'wrong' })
  assert.match(part?.reason ?? '', /not-authorized/)
  const { password: __, ...poor } = client
  assert.match((await stateOf(poor))?.reason ?? '', /neither a password nor an administrator/)
})

test('a server without TLS gets no password in the clear', async (t) => {
  const got: string[] = []
  const mechanisms = "<mechanisms xmlns='urn:ietf:params:xml:ns:xmpp-sasl'><mechanism>PLAIN</mechanism></mechanisms>"
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.setEncoding('utf8').on('data', (text: string) => {
      got.push(text)
      if (!text.includes('<stream:stream')) return
      socket.write(
        `<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' id='1' version='1.0'><stream:features>${mechanisms}</stream:features>`,
      )
    })
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await until('it listens', () => server.listening)
  const address = server.address()
  assert.ok(address && typeof address === 'object')
  const settings = {
    mode: 'client',
    host: '127.0.0.1',
    port: address.port,
    domain: 'localhost',
    password: 'geheim',
  } as const
  const [plain, required] = [await refusedWith(t, { ...settings, encryption: 'none' }), await refusedWith(t, settings)]
  assert.match(plain.states.get(us.channel)?.at(-1)?.reason ?? '', /no supported login: PLAIN/)
  assert.match(required.states.get(us.channel)?.at(-1)?.reason ?? '', /no TLS/)
  assert.ok(!got.join('').includes('<auth'))
})
