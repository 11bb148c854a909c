import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Pdu, statuses } from '@trunkline/smpp/pdu.ts'
import type { SmppLink } from '@trunkline/smpp/smpp-link.ts'
import { acceptSubmit, connectAndBind, listen, makeCarrierServer, makePart, turnUntil, watchEvents } from './testing.ts'

const part = { carrierId: 'AB12', source: '+447911123456' }

const refuse = (link: SmppLink, { sequence }: Pdu, status: number) => link.refuse('query_sm', sequence, status)

test('a question is sent with the id and the sender of the part, and its answer is read by the words of the carrier', async (t) => {
  const asked: Pdu[] = []
  const server = makeCarrierServer((link, pdu) => {
    asked.push(pdu)
    const state = asked.length === 1 ? 5 : 11
    link.send({
      command: 'query_sm_resp',
      sequence: pdu.sequence,
      status: 0,
      messageId: 'AB12',
      finalDate: '',
      state,
      error: 3,
    })
  })
  const carrier = await connectAndBind(t, await listen(t, server), watchEvents(), {
    receipt_states: { 11: 'rejected' },
  })
  assert.deepEqual(await carrier.query?.(part), { outcome: 'state', state: 'undelivered', error: '3' })
  assert.deepEqual(await carrier.query?.(part), { outcome: 'state', state: 'rejected', error: '3' })
  const [first] = asked
  assert.ok(first?.command === 'query_sm')
  assert.deepEqual([first.messageId, first.source], ['AB12', { ton: 1, npi: 1, address: '447911123456' }])
})

test('a question takes a place of the window and of the pace, and is not sent without one', async (t) => {
  const held: { link: SmppLink; pdu: Pdu }[] = []
  const server = makeCarrierServer((link, pdu) => void held.push({ link, pdu }))
  const carrier = await connectAndBind(t, await listen(t, server), watchEvents(), { window: 1 })
  const submitted = carrier.submit(makePart())
  await turnUntil(() => held.length === 1)
  assert.deepEqual(await carrier.query?.(part), { outcome: 'retry' })
  for (const { link, pdu } of held.splice(0)) acceptSubmit(link, pdu, 'AB12')
  assert.equal((await submitted).outcome, 'accepted')
  const asked = carrier.query?.(part)
  await turnUntil(() => held.length === 1)
  assert.equal(carrier.freeWindow(), 0)
  assert.deepEqual(await carrier.submit(makePart()), {
    ...{ outcome: 'retry', wasSent: false, reason: 'no_capacity', seconds: 0.5 },
  })
  for (const { link, pdu } of held) refuse(link, pdu, statuses.ESME_RINVMSGID)
  assert.deepEqual(await asked, { outcome: 'refused', reason: 'ESME_RINVMSGID', isUnsupported: false })
  assert.equal(carrier.freeWindow(), 1)

  const paced = await connectAndBind(
    t,
    await listen(
      t,
      makeCarrierServer((link, pdu) => refuse(link, pdu, 3)),
    ),
    watchEvents(),
    {
      tps: 1,
    },
  )
  assert.deepEqual(await paced.query?.(part), { outcome: 'refused', reason: 'ESME_RINVCMDID', isUnsupported: true })
  assert.deepEqual(await paced.query?.(part), { outcome: 'retry' })
})

test('a carrier that leaves questions without an answer keeps its bind, and a busy one is asked later', async (t) => {
  let reaction: number | 'mute' = 'mute'
  const server = makeCarrierServer((link, pdu) => {
    if (reaction !== 'mute') refuse(link, pdu, reaction)
  })
  const fields = { response_seconds: 0.05 }
  const carrier = await connectAndBind(t, await listen(t, server), watchEvents(), fields)
  for (let times = 0; times < 4; times++)
    assert.deepEqual(await carrier.query?.(part), { outcome: 'refused', reason: 'unanswered', isUnsupported: false })
  assert.equal(carrier.state().state, 'up')
  for (const status of [statuses.ESME_RTHROTTLED, statuses.ESME_RSYSERR]) {
    reaction = status
    assert.deepEqual(await carrier.query?.(part), { outcome: 'retry' })
  }
})

test('a carrier is not asked over a bind that only receives, nor against its setting', async (t) => {
  const server = makeCarrierServer(() => {})
  const port = await listen(t, server)
  assert.equal((await connectAndBind(t, port, watchEvents(), { bind: 'receiver' })).query, undefined)
  assert.equal((await connectAndBind(t, port, watchEvents(), { query_sm: false })).query, undefined)
})
