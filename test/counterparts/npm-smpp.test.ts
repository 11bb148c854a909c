import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { segment } from '@trunkline/phone/segments.ts'
import smpp, { type SmppPdu, type SmppSession } from 'smpp'
import { certificate } from '../certificate.ts'
import { needs } from '../needs.ts'
import { type BoundSession, bindSession, ownNumber, submitAll } from '../simulator.ts'

// The npm package `smpp`, which we did not write, as the carrier.

type SeenSubmits = {
  readonly commands: string[]
  readonly binds: SmppPdu[]
  readonly submits: SmppPdu[]
  readonly receivers: SmppSession[]
}

/** A carrier that accepts everything, with the sessions that it can deliver to. */
const carrier = async (
  t: TestContext,
  tls: { key: string; cert: string } | null,
): Promise<SeenSubmits & { port: number }> => {
  const seen: SeenSubmits = { commands: [], binds: [], submits: [], receivers: [] }
  const sessions: SmppSession[] = []
  const listener = (session: SmppSession) => {
    sessions.push(session)
    session.on('error', () => {})
    session.on('pdu', ({ command }: SmppPdu) => seen.commands.push(command))
    for (const command of ['bind_transceiver', 'bind_transmitter', 'bind_receiver']) {
      session.on(command, (pdu: SmppPdu) => {
        seen.binds.push(pdu)
        if (command !== 'bind_transmitter') seen.receivers.push(session)
        session.send(pdu.response({ system_id: 'npm' }))
      })
    }
    session.on('unbind', (pdu: SmppPdu) => session.send(pdu.response()))
    session.on('enquire_link', (pdu: SmppPdu) => session.send(pdu.response()))
    session.on('submit_sm', (pdu: SmppPdu) => {
      seen.submits.push(pdu)
      session.send(pdu.response({ message_id: `npm ${seen.submits.length}` }))
    })
  }
  const server = tls ? smpp.createServer(tls, listener) : smpp.createServer(listener)
  t.after(() => {
    for (const session of sessions) session.destroy()
    server.close()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address && typeof address === 'object')
  return { ...seen, port: address.port }
}

const deliver = (session: SmppSession, fields: Record<string, unknown>): Promise<SmppPdu> =>
  new Promise((resolve) => session.deliver_sm(fields, resolve))

const gsm = `${'{x}'.repeat(60)}${'y'.repeat(200)}`
const ucs = `${'я'.repeat(66)}😀${'ю'.repeat(90)}`

/** The text of submits, joined in order, as the package decodes it: header and text separately. */
const joined = (submits: readonly SmppPdu[]): string =>
  submits.map(({ short_message, message_payload }) => String((message_payload ?? short_message)?.message)).join('')

const addresses = { source_addr: '33612345678', destination_addr: '447911123456' }
const kinds = ['transceiver', 'transmitter', 'receiver', 'pair'] as const
const bound = (platform: BoundSession) => platform.carrier.state().links.every(({ state }) => state === 'up')

/** Sends and receives what a bind of that kind allows, in every concatenation mode. */
const talk = async (t: TestContext, kind: (typeof kinds)[number], tls: { key: string; cert: string } | null) => {
  for (const long of ['udh8', 'udh16', 'sar', 'payload'] as const) {
    const seen = await carrier(t, tls)
    const security = tls ? { tls: true, tls_ca: tls.cert, tls_server_name: 'carrier.test' } : {}
    const platform = await bindSession(t, seen.port, { bind: kind, long, binds: 2, ...security })
    await platform.until(() => bound(platform))
    for (const text of kind === 'receiver' ? [] : [gsm, ucs]) {
      seen.submits.length = 0
      const results = await submitAll(platform, '+33612345678', text, long)
      assert.deepEqual(
        results,
        segment(text, long).parts.map((_, i) => ({ outcome: 'accepted', carrierId: `npm ${i + 1}` })),
      )
      assert.equal(joined(seen.submits), text)
    }
    for (const [i, session] of seen.receivers.entries()) {
      await deliver(session, { ...addresses, short_message: `Hi ${i}` })
      await deliver(session, { ...addresses, esm_class: 4, short_message: `id:${i} stat:DELIVRD err:000` })
    }
    assert.deepEqual(
      platform.inbound.map(({ text }) => text),
      seen.receivers.map((_, i) => `Hi ${i}`),
    )
    assert.equal(platform.receipts.length, kind === 'transmitter' ? 0 : 2)
    await platform.carrier.close()
    const binds = kind === 'pair' ? ['bind_receiver', 'bind_transmitter'] : [`bind_${kind}`]
    assert.deepEqual(seen.commands.filter((command) => command.startsWith('bind')).sort(), [...binds, ...binds].sort())
    assert.equal(seen.commands.filter((command) => command === 'unbind').length, 2 * binds.length)
  }
}

for (const kind of kinds) {
  test(`two binds as ${kind} carry messages whole in every concatenation mode`, (t) => talk(t, kind, null))
}

test('binds work over TLS as they do without', needs('openssl'), (t) => talk(t, 'pair', certificate()))

test('the carrier reads binds, addresses and messages as the settings state them', async (t) => {
  const seen = await carrier(t, null)
  const platform = await bindSession(t, seen.port, {
    system_type: 'VMA',
    interface_version: '5.0',
    address_range: '^44',
    service_type: 'CMT',
    source_ton: 2,
    source_npi: 8,
    destination_ton: 0,
    destination_npi: 0,
    gsm_data_coding: 241,
    alphabet: 'latin1',
  })
  const part = { message: 'm', part: 1, parts: 1, source: ownNumber, destination: '+33612345678', reference: 0 }
  await platform.carrier.submit({ ...part, text: 'Hello', encoding: 'gsm7', validSeconds: 90_061 })
  await platform.carrier.submit({ ...part, text: 'я', encoding: 'ucs2' })
  const [gsm, ucs] = seen.submits
  const [request] = seen.binds
  const fields = ({ system_type, interface_version, address_range }: SmppPdu) => [
    system_type,
    interface_version,
    address_range,
  ]
  assert.deepEqual(request && fields(request), ['VMA', 0x50, '^44'])
  assert.deepEqual(
    gsm && [gsm.service_type, gsm.source_addr_ton, gsm.source_addr_npi, gsm.dest_addr_ton, gsm.dest_addr_npi],
    ['CMT', 2, 8, 0, 0],
  )
  assert.equal(gsm?.data_coding, 241)
  assert.equal(ucs?.data_coding, 8)
  assert.equal(ucs?.validity_period, '')
  const seconds = (new Date(String(gsm?.validity_period)).getTime() - Date.now()) / 1_000
  assert.ok(Math.abs(seconds - 90_061) < 30, `${seconds}`)
  const [session] = seen.receivers
  assert.ok(session)
  await deliver(session, { ...addresses, short_message: Buffer.from('Grüße @', 'latin1') })
  assert.equal(platform.inbound[0]?.text, 'Grüße @')
})
