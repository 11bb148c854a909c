import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { header, headersOf, type SipMessage, type SipRequest } from '@trunkline/sip/message.ts'
import { buildResponse, type ResponseOptions } from '@trunkline/sip/response.ts'
import { openPeer, requestText, until } from '@trunkline/sip/user-agent/testing.ts'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { answer, closedAfter, dial, fromBrowser, openCarrier, openMedia, openWorld, sdp, trunkOf } from '../testing.ts'
import { withoutHostNames } from './host-names.ts'

// Responses of carriers to our INVITE other than one 200 with a session description. The carrier is a UDP socket.

const media = await openMedia()
after(() => media.close())

const number = '+33612345678'

const wire = async (t: TestContext) => {
  const peer = await openPeer(t)
  let port = 0
  const next = async (method: string): Promise<SipRequest> =>
    until(() => {
      const at = peer.heard.findIndex((message) => message.kind === 'request' && message.method === method)
      const [found] = at < 0 ? [] : peer.heard.splice(at, 1)
      return found?.kind === 'request' ? found : null
    }, method)
  const status = (cseq: string) =>
    until(() => peer.heard.find((one) => one.kind === 'response' && header(one, 'CSeq') === cseq), cseq)
  return {
    port: peer.port,
    heard: peer.heard,
    next,
    status,
    use: (gateway: number) => {
      port = gateway
    },
    /** Answers a request. */
    reply: (request: SipRequest, { headers = [], ...rest }: ResponseOptions) => {
      const contact = ['Contact', `<sip:carrier@127.0.0.1:${peer.port}>`] as const
      const isRedirection = rest.status >= 300
      const response = buildResponse(request, {
        tag: 'far',
        ...rest,
        headers: [...(isRedirection ? [] : [contact]), ...headers],
      })
      peer.send(response, port)
      return response
    },
    /** Sends a request in the dialog of a response of ours. */
    ask: async (method: string, cseq: number, like: SipMessage, body = '', type = 'application/sdp') => {
      const text = requestText(method, port, body === '' ? '' : `Content-Type: ${type}\n`, {
        branch: `z9hG4bK${cseq}`,
        cseq,
      })
        .replace(/^From: .*/m, () => `From: ${header(like, 'To')}`)
        .replace(/^To: .*/m, () => `To: ${header(like, 'From')}`)
        .replace(/^Call-ID: .*/m, `Call-ID: ${header(like, 'Call-ID')}`)
        .replace(
          /Content-Length: 0\n\n$/,
          `Content-Length: ${Buffer.byteLength(body.replaceAll(/\r?\n/g, '\r\n'))}\n\n${body}`,
        )
      peer.send(text, port)
      const response = await status(`${cseq} ${method}`)
      assert.ok(response.kind === 'response')
      return response
    },
  }
}

/** A browser calls the number over raw carriers, in the order of the list. */
const calling = async (t: TestContext, count = 1) => {
  const carriers = await Promise.all(Array.from({ length: count }, () => wire(t)))
  const targets = carriers.map((_, index) => ({ trunk: `c${index}`, number }))
  const world = await openWorld(t, () => ({ value: { targets } }), { media })
  await world.gateway.apply(carriers.map(({ port }, index) => trunkOf(port, { id: `c${index}` })))
  for (const carrier of carriers) carrier.use(world.gateway.port)
  const ann = await world.browser('ANN')
  const softphone = await closedAfter(t, makeSoftphone())
  // WebRTC takes one answer to an offer: the 200 repeats that of the announcement.
  let isAccepted = false
  const accept = async (text: string) => {
    if (isAccepted) return
    isAccepted = true
    await softphone.accept(text)
  }
  const { dialled } = await dial(ann, fromBrowser(ann, number), { offer: softphone.offer, accept })
  const telephone = await closedAfter(t, makeTelephone())
  const [first] = carriers
  assert.ok(first)
  const invite = await first.next('INVITE')
  const describe = async () => sdp(await telephone.answer(invite.body.toString()))
  return { ...world, carriers, first, invite, dialled, softphone, telephone, describe }
}

test('a 200 without a session description, and none before, is acknowledged and ended: nobody has answered', async (t) => {
  const { first, invite, dialled, ended, callControl } = await calling(t)
  first.reply(invite, { status: 200 })
  await first.next('ACK')
  first.reply(await first.next('BYE'), { status: 200 })
  const { how, status, by } = await ended()
  assert.deepEqual([how, status, by], ['no_sdp', 488, 'callee'])
  await until(() => dialled.refused[0])
  assert.match(dialled.refused[0] ?? '', /^488 .*without a session description/)
  assert.deepEqual(callControl.of('answered'), [])
})

test('a session description in an unreliable provisional response is no answer: the 200 must repeat it', async (t) => {
  const { first, invite, dialled, ended, callControl, describe } = await calling(t)
  first.reply(invite, { status: 183, body: await describe() })
  await until(() => dialled.progress.includes(183))
  first.reply(invite, { status: 200 })
  await first.next('ACK')
  await first.next('BYE')
  assert.equal((await ended()).how, 'no_sdp')
  assert.deepEqual(callControl.of('answered'), [])
})

const reliable = (rseq: number) =>
  [
    ['Require', '100rel'],
    ['RSeq', String(rseq)],
  ] as const

test('a session description in a reliable provisional response is the answer, but of another branch of the carrier', async (t) => {
  const one = await calling(t)
  one.first.reply(one.invite, { status: 183, headers: reliable(1), body: await one.describe() })
  one.first.reply(await one.first.next('PRACK'), { status: 200 })
  one.first.reply(one.invite, { status: 200 })
  await one.first.next('ACK')
  await until(() => one.dialled.session)
  assert.equal(one.callControl.of('answered').length, 1)

  const other = await calling(t)
  other.first.reply(other.invite, { status: 183, headers: reliable(1), body: await other.describe() })
  other.first.reply(await other.first.next('PRACK'), { status: 200 })
  other.first.reply(other.invite, { status: 200, tag: 'elsewhere' })
  await other.first.next('BYE')
  assert.equal((await other.ended()).how, 'no_sdp')
})

test('a carrier changes the audio of its announcement by UPDATE, and the call is answered with what came last', async (t) => {
  const { first, invite, dialled, describe, telephone, softphone, callControl } = await calling(t)
  const early = first.reply(invite, { status: 183, headers: reliable(1), body: await describe() })
  first.reply(await first.next('PRACK'), { status: 200 })
  await until(() => dialled.progress.includes(183))
  assert.equal((await first.ask('UPDATE', 1, early)).status, 200)
  const moved = await closedAfter(t, makeTelephone())
  const updated = await first.ask('UPDATE', 2, early, await moved.offer())
  assert.equal(updated.status, 200, updated.reason)
  await moved.accept(updated.body.toString())
  assert.equal((await first.ask('INFO', 3, early, 'Signal=5', 'application/dtmf-relay')).status, 200)
  assert.equal((await first.ask('INFO', 4, early)).status, 200)
  assert.equal((await first.ask('PRACK', 5, early)).status, 481)
  assert.equal((await first.ask('INVITE', 6, early, await moved.offer())).status, 491)
  // The 2xx repeats the first answer, which is over.
  first.reply(invite, { status: 200, body: await describe() })
  await first.next('ACK')
  await until(() => dialled.session)
  softphone.sendTone(1_000)
  await until(() => moved.received > 20)
  assert.equal(telephone.received, 0)
  assert.equal(callControl.of('answered').length, 1)
})

test('a redirection to another address of the trunk is followed', async (t) => {
  const { first, invite, dialled } = await calling(t)
  const carrier = await openCarrier(t)
  first.reply(invite, { status: 302, headers: [['Contact', `<sip:${number}@127.0.0.1:${carrier.port}>`]] })
  await first.next('ACK')
  const call = await carrier.call()
  assert.notEqual(header(call.invite, 'Call-ID'), header(invite, 'Call-ID'))
  await answer(call, await closedAfter(t, makeTelephone()))
  await until(() => dialled.session)
})

for (const [why, contact] of [
  ['to another host', `<sip:${number}@192.0.2.1>`],
  ['to another number, whose price and permission are others', '<sip:+882161234567@127.0.0.1>'],
  ['with headers for the request', `<sip:${number}@127.0.0.1?P-Asserted-Identity=x>`],
  ['to a telephone URI', `<tel:${number}>`],
  ['without a Contact', null],
] as const)
  test(`a redirection ${why} fails over to the next trunk`, async (t) => {
    const { carriers, first, invite, dialled, describe } = await calling(t, 2)
    first.reply(invite, { status: 302, headers: contact === null ? [] : [['Contact', contact]] })
    const [, second] = carriers
    assert.ok(second)
    const next = await second.next('INVITE')
    second.reply(next, { status: 200, body: await describe() })
    await until(() => dialled.session)
  })

test('redirections that lead in a circle, or ever on, end, and the next trunk is tried', async (t) => {
  const { carriers, first, invite } = await calling(t, 2)
  let at = invite
  for (let index = 0; index < 4; index++) {
    first.reply(at, { status: 302, headers: [['Contact', `<sip:${number}@127.0.0.1:${first.port};round=${index}>`]] })
    at = await first.next('INVITE')
  }
  first.reply(at, { status: 302, headers: [['Contact', `<sip:${number}@127.0.0.1:${first.port};round=9>`]] })
  await carriers[1]?.next('INVITE')
  const circle = await calling(t, 2)
  circle.first.reply(circle.invite, { status: 301, headers: [['Contact', `<${circle.invite.uri}>`]] })
  await circle.carriers[1]?.next('INVITE')
  assert.equal(circle.first.heard.filter((one) => one.kind === 'request' && one.method === 'INVITE').length, 0)
})

test('a carrier names a host in place of an address, in its offer and in its answer', async (t) => {
  const { first, invite, dialled, telephone, softphone, describe } = await calling(t)
  const { content, type } = await describe()
  first.reply(invite, { status: 200, body: { type, content: content.replace(/^c=.*$/m, 'c=IN IP4 localhost') } })
  await until(() => dialled.session)
  softphone.sendTone(1_000)
  await until(() => telephone.received > 20)
  const offer = await withoutHostNames(
    'c=IN IP4 media.carrier.test\r\nm=audio 5 RTP/AVP 0\r\nc=IN IP4 gone.test\r\n',
    async (name) => {
      if (name === 'gone.test') throw new Error('no answer')
      return ['2001:db8::1', '192.0.2.7']
    },
  )
  assert.equal(offer, 'c=IN IP4 192.0.2.7\r\nm=audio 5 RTP/AVP 0\r\nc=IN IP4 gone.test\r\n')
})

test('calls take the route that the registrar of the carrier wants (RFC 3608)', async (t) => {
  const [registrar, edge] = [await wire(t), await wire(t)]
  const world = await openWorld(t, () => ({ value: { targets: [{ trunk: 'carrier', number }] } }), { media })
  for (const one of [registrar, edge]) one.use(world.gateway.port)
  const settings = { register: true, username: 'acme', password: 'pass' }
  await world.gateway.apply([trunkOf(registrar.port, settings)])
  const routes = [`<sip:127.0.0.1:${edge.port};lr>`, '<sip:core.carrier.test;lr>']
  registrar.reply(await registrar.next('REGISTER'), { status: 200, headers: [['Service-Route', routes.join(', ')]] })
  await until(() => world.gateway.trunk('carrier')?.registered)
  const ann = await world.browser('ANN')
  await dial(ann, fromBrowser(ann, number), await closedAfter(t, makeSoftphone()))
  const invite = await edge.next('INVITE')
  assert.deepEqual(headersOf(invite, 'Route'), routes)
  assert.equal(invite.uri, `sip:${number}@127.0.0.1:${registrar.port}`)
  edge.reply(invite, { status: 486 })
  assert.deepEqual(headersOf(await edge.next('ACK'), 'Route'), routes)
})
