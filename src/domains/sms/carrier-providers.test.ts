import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { after } from 'node:test'
import { until } from '../../../test/platform.ts'
import { twilioSignature } from '../../adapters/sms-http/providers/twilio.ts'
import { vonageSignature } from '../../adapters/sms-http/providers/vonage.ts'
import { type CarrierAnswer, carrierSuite, makeShareDeps, type ReceivedText } from './carrier.conformance.ts'
import { driverOf } from './drivers.ts'

// The port of carriers over HTTP, by the driver of each provider, against doubles that speak their interfaces.

type Fields = Readonly<Record<string, string>>

/** A submit as the double read it. `callback`: the address for receipts, or the token that they repeat. */
type HttpSubmit = { readonly source: string; readonly text: string; readonly callback: string }

type HttpCall = {
  readonly url: string
  readonly method?: 'GET'
  readonly headers?: Fields
  readonly body?: string
}

/** The interface of a provider. */
type Wire = {
  settings(base: string): Readonly<Record<string, unknown>>
  read(url: URL, body: string): HttpSubmit
  readonly answers: Readonly<
    Record<'accept' | 'busy' | 'refuse', (id: string) => readonly [status: number, body: string]>
  >
  readonly codes: { readonly busy: string; readonly refuse: string }
  /** @param address the callback address of the connection */
  report(id: string, submitted: HttpSubmit, state: 'delivered' | 'undelivered', address: string): HttpCall
  write(from: string, to: string, text: string, address: string): HttpCall
}

const json = (value: unknown): string => JSON.stringify(value)
const form = (fields: Fields): string => new URLSearchParams(fields).toString()
const formHeaders: Fields = { 'content-type': 'application/x-www-form-urlencoded' }
const withoutPlus = (number: string) => number.replace('+', '')

const twilioSent = (url: string, fields: Fields): HttpCall => {
  const signature = twilioSignature('token', url, new URLSearchParams(fields))
  return { url, headers: { ...formHeaders, 'x-twilio-signature': signature }, body: form(fields) }
}

const twilio: Wire = {
  settings: (base) => ({ provider: 'twilio', base_url: base, account_sid: 'AC1', auth_token: 'token' }),
  read: (_, body) => {
    const fields = new URLSearchParams(body)
    const [source = '', text = '', callback = ''] = ['From', 'Body', 'StatusCallback'].map(
      (name) => fields.get(name) ?? '',
    )
    return { source, text, callback }
  },
  answers: {
    accept: (id) => [201, json({ sid: id, status: 'queued' })],
    busy: () => [429, json({ code: 20429, message: 'Too Many Requests', status: 429 })],
    refuse: () => [400, json({ code: 21211, message: 'not a valid phone number', status: 400 })],
  },
  codes: { busy: 'twilio_20429', refuse: 'twilio_21211' },
  report: (id, { callback }, state) => twilioSent(callback, { MessageSid: id, MessageStatus: state }),
  write: (from, to, text, address) =>
    twilioSent(address, { MessageSid: `SM${from}`, From: from, To: to, Body: text, SmsStatus: 'received' }),
}

const pair = generateKeyPairSync('ed25519')
const publicKey = Buffer.from(String(pair.publicKey.export({ format: 'jwk' }).x), 'base64url').toString('base64')

const telnyxSent = (url: string, kind: string, payload: object): HttpCall => {
  const body = json({ data: { event_type: kind, payload } })
  const time = String(Math.floor(Date.now() / 1_000))
  const signature = sign(null, Buffer.from(`${time}|${body}`), pair.privateKey).toString('base64')
  return { url, headers: { 'telnyx-timestamp': time, 'telnyx-signature-ed25519': signature }, body }
}

const telnyx: Wire = {
  settings: (base) => ({ provider: 'telnyx', base_url: base, api_key: 'key', public_key: publicKey }),
  read: (_, body) => {
    const { from: source, text, webhook_url: callback } = JSON.parse(body)
    return { source, text, callback }
  },
  answers: {
    accept: (id) => [200, json({ data: { id } })],
    busy: () => [429, json({ errors: [{ code: '10011', title: 'Too many requests' }] })],
    refuse: () => [400, json({ errors: [{ code: '40310', title: "Invalid 'to' address" }] })],
  },
  codes: { busy: 'telnyx_10011', refuse: 'telnyx_40310' },
  report: (id, { callback }, state) =>
    telnyxSent(callback, 'message.finalized', {
      id,
      to: [{ status: state === 'delivered' ? 'delivered' : 'delivery_failed' }],
    }),
  write: (from, to, text, address) =>
    telnyxSent(address, 'message.received', {
      ...{ id: `in ${from}`, from: { phone_number: from }, to: [{ phone_number: to }], text },
    }),
}

const vonageSent = (url: string, fields: Fields): HttpCall => {
  const all = { ...fields, timestamp: String(Math.floor(Date.now() / 1_000)) }
  return { url, headers: formHeaders, body: form({ ...all, sig: vonageSignature('signing', 'sha256', all) }) }
}

const vonage: Wire = {
  settings: (base) => ({
    ...{ provider: 'vonage', base_url: base, api_key: 'key', api_secret: 'secret', signature_secret: 'signing' },
  }),
  read: (_, body) => {
    const fields = new URLSearchParams(body)
    const source = `+${fields.get('from')}`
    return { source, text: fields.get('text') ?? '', callback: fields.get('client-ref') ?? '' }
  },
  answers: {
    accept: (id) => [200, json({ messages: [{ status: '0', 'message-id': id }] })],
    busy: () => [200, json({ messages: [{ status: '1', 'error-text': 'Throughput Rate Exceeded' }] })],
    refuse: () => [200, json({ messages: [{ status: '7', 'error-text': 'Number barred' }] })],
  },
  codes: { busy: 'vonage_1', refuse: 'vonage_7' },
  report: (id, { callback }, state, address) =>
    vonageSent(address, {
      ...{ messageId: id, status: state === 'delivered' ? 'delivered' : 'failed', 'client-ref': callback },
    }),
  write: (from, to, text, address) =>
    vonageSent(address, { messageId: `in${from}`, msisdn: withoutPlus(from), to: withoutPlus(to), text, type: 'text' }),
}

const bandwidthSent = (url: string, event: object): HttpCall => ({
  ...{ url, headers: { authorization: `Basic ${btoa('theirs:known')}` }, body: json([event]) },
})

const bandwidth: Wire = {
  settings: (base) => ({
    ...{ provider: 'bandwidth', base_url: base, account_id: '55', application_id: 'app' },
    ...{ username: 'user', password: 'word', callback_username: 'theirs', callback_secret: 'known' },
  }),
  read: (_, body) => {
    const { from: source, text, tag: callback } = JSON.parse(body)
    return { source, text, callback }
  },
  answers: {
    accept: (id) => [202, json({ id })],
    busy: () => [429, json({ type: 'max-message-queue-size-exceeded', description: 'The queue is full' })],
    refuse: () => [400, json({ type: 'request-validation', description: 'could not be accepted' })],
  },
  codes: { busy: 'bandwidth_max_message_queue_size_exceeded', refuse: 'bandwidth_request_validation' },
  report: (id, { callback }, state, address) =>
    bandwidthSent(address, {
      ...{ type: state === 'delivered' ? 'message-delivered' : 'message-failed', message: { id, tag: callback } },
    }),
  write: (from, to, text, address) =>
    bandwidthSent(address, { type: 'message-received', to, message: { id: `in${from}`, owner: to, from, text } }),
}

const kannel: Wire = {
  settings: (base) => ({
    ...{ provider: 'kannel', base_url: `${base}/cgi-bin/sendsms`, username: 'user', password: 'word' },
    callback_secret: 'known',
  }),
  read: ({ searchParams }) => {
    const [source = '', text = '', callback = ''] = ['from', 'text', 'dlr-url'].map(
      (name) => searchParams.get(name) ?? '',
    )
    return { source, text, callback }
  },
  answers: {
    accept: () => [202, '0: Accepted for delivery'],
    busy: () => [503, 'Temporal failure, try again later.'],
    refuse: () => [403, 'Not routable. Do not try again.'],
  },
  codes: { busy: 'http_503', refuse: 'kannel_not_routable' },
  report: (_, { callback }, state) => ({
    ...{ url: callback.replace('%d', state === 'delivered' ? '1' : '2').replace('%A', ''), method: 'GET' },
  }),
  write: (from, to, text, address) => ({
    ...{ url: `${address}?${form({ secret: 'known', from, to, coding: '0', text })}`, method: 'GET' },
  }),
}

for (const [name, wire] of Object.entries({ twilio, telnyx, vonage, bandwidth, kannel }))
  await carrierSuite(name, async (world) => {
    const ours = await world.app.listen({ port: 0, host: '127.0.0.1' })
    const received: ReceivedText[] = []
    const submits = new Map<string, HttpSubmit>()
    const answers: CarrierAnswer[] = []
    const server = createServer(async (request, response) => {
      const submitted = wire.read(new URL(request.url ?? '', 'http://localhost'), await readText(request))
      const id = name === 'kannel' ? submitted.callback.replace(/^.*[?]m=|&.*$/g, '') : `${name}-${received.length}`
      submits.set(id, submitted)
      received.push({ id, source: submitted.source, text: submitted.text, part: 1 })
      const answer = answers.shift() ?? 'accept'
      if (answer === 'cut') return response.destroy()
      const [status, body] = wire.answers[answer](id)
      return response.writeHead(status).end(body)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    after(() => {
      server.closeAllConnections()
      server.close()
    })
    const bound = server.address()
    const settings = wire.settings(`http://127.0.0.1:${typeof bound === 'object' ? bound?.port : ''}`)
    const driver = driverOf('sms-http')
    let current = ''
    const address = () => `${world.parts.publicUrl()}/callbacks/sms/CNX${current}`
    const call = async ({ url, method, headers = {}, body }: HttpCall) => {
      // The provider was given the public address, which is not the one of the test.
      const target = url.replace(world.parts.publicUrl(), ours)
      const answered = await fetch(target, {
        method: method ?? 'POST',
        headers,
        ...(body === undefined ? {} : { body }),
      })
      await answered.text()
      assert.ok(answered.ok, `${answered.status}`)
    }
    return {
      capabilities: driver.capabilitiesOf(settings),
      connectShare: (share, pace) => driver.connect({ ...settings, tps: pace, slots: share.of }, makeShareDeps(share)),
      received,
      answers,
      codes: wire.codes,
      connect: async (pace) => {
        // With the default, a lost answer would wait for a minute.
        const more = { policy: 'resubmit', ...(pace === null ? {} : { tps: pace }) }
        const { status, body } = await world.call('operator', 'POST', '/operator/connections', {
          ...{ kind: 'sms-http', name: 'conformance', settings: { ...settings, ...more } },
        })
        assert.equal(status, 201, json(body))
        current = body.connection.uuid.slice(3)
        await until(async () => world.parts.carriers.state(current)?.state === 'up')
        await world.parts.routing.ready()
        return current
      },
      disconnect: async (connection) => {
        await world.call('operator', 'DELETE', `/operator/connections/CNX${connection}`)
        await until(async () => world.parts.carriers.state(connection) === null)
      },
      report: async (id, state) => {
        const submitted = submits.get(id)
        assert.ok(submitted)
        await call(wire.report(id, submitted, state, address()))
      },
      write: (from, to, text) => call(wire.write(from, to, text, address())),
    }
  })
