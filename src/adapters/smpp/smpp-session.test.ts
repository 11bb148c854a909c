import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { encodePdu } from '@trunkline/smpp/encode.ts'
import { noTlvs, statuses, tags } from '@trunkline/smpp/pdu.ts'
import type { SmppLink } from '@trunkline/smpp/smpp-link.ts'
import smpp, { type SmppSession } from 'smpp'
import { connectSmpp } from './smpp-carrier.ts'
import {
  acceptSubmit,
  connectAndBind,
  listen,
  makeCarrierServer,
  makeDelivery,
  makePart,
  makeSettings,
  turnUntil,
  watchEvents,
} from './testing.ts'

test('another SMPP implementation accepts a message, reports it and sends a reply', async (t) => {
  const server = smpp.createServer((session: SmppSession) => {
    session.on('error', () => {})
    session.on('bind_transceiver', (pdu) => session.send(pdu.response({ system_id: 'other' })))
    session.on('unbind', (pdu) => session.send(pdu.response()))
    session.on('submit_sm', (pdu) => {
      assert.equal(pdu.data_coding, 0)
      assert.equal(pdu.registered_delivery, 1)
      assert.equal(pdu.source_addr, '447911123456')
      session.send(pdu.response({ message_id: `id of ${pdu.short_message.message}` }))
      session.deliver_sm(
        { source_addr: '33612345678', destination_addr: '447911123456', short_message: 'Thanks' },
        () => {},
      )
      session.deliver_sm({ esm_class: 4, short_message: 'id:77 stat:DELIVRD err:000' }, () => {})
    })
  })
  const seen = watchEvents()
  const carrier = await connectAndBind(t, await listen(t, server), seen)
  assert.deepEqual(await carrier.submit(makePart()), { outcome: 'accepted', carrierId: 'id of Hello' })
  await seen.until(() => seen.inbound.length === 1 && seen.receipts.length === 1)
  const [inbound] = seen.inbound
  assert.deepEqual(seen.inbound, [
    { source: '+33612345678', destination: '+447911123456', text: 'Thanks', concat: null, link: inbound?.link },
  ])
  assert.match(inbound?.link ?? '', /./)
  assert.deepEqual(seen.receipts, [{ carrierId: '77', state: 'delivered', error: null, handset: '', number: '' }])
})

test('an id of any length is cut alike in the response and in its receipt', async (t) => {
  const id = 'f'.repeat(5_000)
  const server = makeCarrierServer((link, pdu) => {
    if (pdu.command !== 'submit_sm') return
    acceptSubmit(link, pdu, id)
    const tlvs = new Map([[tags.receipted_message_id, Buffer.from(id)]])
    link.send({ ...makeDelivery(2), esmClass: 4, tlvs })
  })
  const seen = watchEvents()
  const carrier = await connectAndBind(t, await listen(t, server), seen)
  const result = await carrier.submit(makePart())
  await seen.until(() => seen.receipts.length === 1)
  assert.ok(result.outcome === 'accepted' && result.carrierId.length === 255)
  assert.equal(seen.receipts[0]?.carrierId, result.carrierId)
})

test('no more parts than the window are unanswered, and freed capacity is notified', async (t) => {
  let unanswered = 0
  let most = 0
  let count = 0
  const server = makeCarrierServer((link, pdu) => {
    if (pdu.command !== 'submit_sm') return
    most = Math.max(most, ++unanswered)
    setImmediate().then(() => {
      unanswered--
      acceptSubmit(link, pdu, String(++count))
    })
  })
  const seen = watchEvents()
  const carrier = await connectAndBind(t, await listen(t, server), seen, { window: 4 })
  const results: Promise<unknown>[] = []
  const fill = () => {
    for (let room = carrier.freeWindow(); room > 0 && results.length < 100; room--)
      results.push(carrier.submit(makePart()))
    return results.length === 100
  }
  await seen.until(fill)
  await Promise.all(results)
  assert.equal(count, 100)
  assert.ok(most <= 4, `${most} unanswered`)
  assert.equal(carrier.state().submitted, 100)
  assert.equal(carrier.state().inFlight, 0)
})

test('requests unanswered when the link breaks have an unknown outcome, and the bind comes back', async (t) => {
  const links: SmppLink[] = []
  let taken = 0
  const server = makeCarrierServer((link) => {
    if (++taken === 3) link.destroy('broken')
  }, links)
  const seen = watchEvents()
  const carrier = await connectAndBind(t, await listen(t, server), seen)
  const results = await Promise.all([1, 2, 3].map(() => carrier.submit(makePart())))
  assert.deepEqual(
    results.map(({ outcome }) => outcome),
    ['unknown', 'unknown', 'unknown'],
  )
  assert.equal(carrier.freeWindow(), 0)
  await seen.until(() => links.length === 2 && carrier.state().state === 'up')
})

test('a submit without a response in time has an unknown outcome, and the link stays', async (t) => {
  const server = makeCarrierServer((link, pdu) => {
    if (pdu.command === 'submit_sm' && pdu.shortMessage.toString() === 'answer') acceptSubmit(link, pdu, '1')
  })
  const carrier = await connectAndBind(t, await listen(t, server), watchEvents(), { response_seconds: 0.1 })
  assert.deepEqual(await carrier.submit(makePart()), {
    outcome: 'unknown',
    reason: 'unanswered',
    detail: 'no answer in time',
  })
  assert.equal((await carrier.submit(makePart({ text: 'answer' }))).outcome, 'accepted')
})

test('a carrier that answers nothing, including enquire_link, is disconnected', async (t) => {
  const server = createServer((socket) => {
    socket.once('data', (bind) => {
      const sequence = Buffer.from(bind).readUInt32BE(12)
      socket.write(encodePdu({ command: 'bind_transceiver_resp', sequence, status: 0, systemId: '', tlvs: noTlvs }))
      socket.resume()
    })
  })
  const seen = watchEvents()
  const carrier = await connectAndBind(t, await listen(t, server), seen, { enquire_seconds: 0.05 })
  await seen.until(() => carrier.state().state === 'down')
  assert.equal(carrier.state().lastError, 'the peer does not answer enquire_link')
})

test('congestion leads to a retry, and other refusals are final', async (t) => {
  const answers = [statuses.ESME_RTHROTTLED, statuses.ESME_RMSGQFUL, statuses.ESME_RSYSERR, statuses.ESME_RINVDSTADR]
  const server = makeCarrierServer((link, pdu) => link.refuse(pdu.command, pdu.sequence, answers.shift() ?? 0))
  const seen = watchEvents()
  const carrier = await connectAndBind(t, await listen(t, server), seen)
  const submit = async () => {
    await seen.until(() => carrier.freeWindow() > 0)
    return carrier.submit(makePart())
  }
  for (const reason of ['ESME_RTHROTTLED', 'ESME_RMSGQFUL', 'ESME_RSYSERR']) {
    const result = await submit()
    assert.ok(result.outcome === 'retry' && result.seconds > 0 && result.seconds <= 0.5)
    assert.deepEqual(result, { outcome: 'retry', wasSent: true, reason, seconds: result.seconds })
  }
  assert.deepEqual(await submit(), { outcome: 'refused', reason: 'ESME_RINVDSTADR' })
})

test('an inbound message is acknowledged only once it is persisted, and refused with a temporary error on failure', async (t) => {
  const links: SmppLink[] = []
  const port = await listen(
    t,
    makeCarrierServer(() => {}, links),
  )
  const kept: ((error?: Error) => void)[] = []
  const seen = watchEvents(
    () => new Promise((resolve, reject) => kept.push((error) => (error ? reject(error) : resolve()))),
  )
  await connectAndBind(t, port, seen)
  const [link] = links
  assert.ok(link)
  let answered = 0
  const deliver = async () => {
    const answer = await link.request(makeDelivery)
    answered++
    return answer.command === 'deliver_sm_resp' ? answer.status : -1
  }
  const first = deliver()
  const second = deliver()
  await turnUntil(() => kept.length === 2)
  assert.equal(answered, 0)
  kept[1]?.(new Error('the database is away'))
  assert.equal(await second, statuses.ESME_RX_T_APPN)
  assert.equal(answered, 1)
  kept[0]?.()
  assert.equal(await first, statuses.ESME_ROK)
})

test('a malformed delivery is refused, the bind stays, and the log contains no message text', async (t) => {
  const links: SmppLink[] = []
  const seen = watchEvents()
  const lines: string[] = []
  const port = await listen(
    t,
    makeCarrierServer(() => {}, links),
  )
  const carrier = connectSmpp(makeSettings(port), seen.events, (event, details) =>
    lines.push(JSON.stringify({ event, ...details })),
  )
  t.after(() => carrier.close())
  await seen.until(() => carrier.state().state === 'up')
  const [link] = links
  assert.ok(link)
  const text = 'ZQXMARK'
  const overlong = encodePdu({ ...makeDelivery(99), shortMessage: Buffer.from(text) })
  overlong[overlong.length - text.length - 1] = 200
  link.sendRaw(Buffer.concat([overlong, Buffer.from('00000010000000fe0000000000000002', 'hex')]))
  const answer = await link.request(makeDelivery)
  assert.ok(answer.command === 'deliver_sm_resp' && answer.status === 0)
  assert.equal(carrier.state().state, 'up')
  assert.equal(seen.inbound.length, 1)
  // A receipt without a message id.
  await link.request((sequence) => ({ ...makeDelivery(sequence), esmClass: 4, shortMessage: Buffer.from(text) }))
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).event).filter((event) => event !== 'bound'),
    ['malformed', 'malformed', 'receipt-without-id'],
  )
  assert.match(lines.join(), /"header":"[0-9a-f]{32}","bytes":\d+/)
  for (const form of [text, Buffer.from(text).toString('hex'), makeDelivery(1).source.address])
    assert.ok(form !== '' && !lines.join().includes(form), form)
})

test('a refused account is not retried soon', async (t) => {
  let binds = 0
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (bind) => {
      binds++
      const sequence = Buffer.from(bind).readUInt32BE(12)
      const status = statuses.ESME_RINVPASWD
      socket.write(encodePdu({ command: 'bind_transceiver_resp', sequence, status, systemId: '', tlvs: noTlvs }))
    })
  })
  const seen = watchEvents()
  const carrier = connectSmpp(makeSettings(await listen(t, server)), seen.events)
  t.after(() => carrier.close())
  await seen.until(() => carrier.state().state === 'down')
  assert.equal(carrier.state().lastError, 'bind refused: ESME_RINVPASWD')
  assert.equal(binds, 1)
})

test('closing waits for requests in flight and unbinds', async (t) => {
  const commands: string[] = []
  const server = makeCarrierServer((link, pdu) => {
    commands.push(pdu.command)
    if (pdu.command === 'submit_sm') setImmediate().then(() => acceptSubmit(link, pdu, '1'))
  })
  const carrier = await connectAndBind(t, await listen(t, server), watchEvents())
  const result = carrier.submit(makePart())
  await carrier.close()
  assert.equal((await result).outcome, 'accepted')
  assert.equal(carrier.state().state, 'closed')
  assert.equal((await carrier.submit(makePart())).outcome, 'retry')
})
