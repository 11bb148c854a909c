import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { type Pdu, statuses } from '@trunkline/smpp/pdu.ts'
import type { SmppLink } from '@trunkline/smpp/smpp-link.ts'
import { connectSmpp } from './smpp-carrier.ts'
import {
  acceptSubmit,
  connectAndBind,
  listen,
  makeCarrierServer,
  makePart,
  makeSettings,
  turnUntil,
  watchEvents,
} from './testing.ts'

const nothing = () => {}
const states = (binds: readonly { state: string }[]) => binds.map(({ state }) => state)

test('ten binds with a wrong password make one attempt', async (t) => {
  let tries = 0
  const server = makeCarrierServer(nothing, [], () => {
    tries++
    return statuses.ESME_RINVPASWD
  })
  const seen = watchEvents()
  const carrier = connectSmpp(makeSettings(await listen(t, server), { binds: 10 }), seen.events)
  t.after(() => carrier.close())
  await seen.until(() => carrier.state().fatal)
  const { state, lastError, links: binds } = carrier.state()
  assert.deepEqual([state, lastError], ['down', 'bind refused: ESME_RINVPASWD'])
  assert.deepEqual(states(binds), Array(10).fill('down'))
  assert.equal(binds.filter(({ fatal }) => fatal).length, 1)
  assert.equal(tries, 1)
})

test('a bind that fails after it worked does not mean a wrong account', async (t) => {
  let tries = 0
  const links: SmppLink[] = []
  const server = makeCarrierServer(nothing, links, () => (++tries === 2 ? statuses.ESME_RBINDFAIL : 0))
  const seen = watchEvents()
  const carrier = await connectAndBind(t, await listen(t, server), seen)
  links[0]?.destroy('dropped')
  await seen.until(() => carrier.state().lastError === 'bind refused: ESME_RBINDFAIL')
  assert.equal(carrier.state().fatal, false)
  await seen.until(() => links.length === 2)
})

test('a bind refused while the carrier may count those of another process is tried again soon, and is not fatal', async (t) => {
  const refused = async (status: number, mayCountFormerLinks: () => boolean) => {
    let tries = 0
    const server = makeCarrierServer(nothing, [], () => (++tries <= 2 ? status : 0))
    const seen = watchEvents()
    const carrier = connectSmpp(makeSettings(await listen(t, server)), seen.events, nothing, { mayCountFormerLinks })
    t.after(() => carrier.close())
    await seen.until(() => carrier.state().lastError !== null)
    return { carrier, seen, tries: () => tries }
  }
  const { ESME_RBINDFAIL, ESME_RALYBND } = statuses
  const counted = [ESME_RBINDFAIL, ESME_RALYBND].map(async (status) => {
    const { carrier, seen, tries } = await refused(status, () => true)
    assert.equal(carrier.state().fatal, false)
    await seen.until(() => carrier.state().state === 'up')
    assert.equal(tries(), 3)
  })
  await Promise.all(counted)
  const { carrier } = await refused(ESME_RBINDFAIL, () => false)
  assert.equal(carrier.state().fatal, true)
})

test('a carrier that drops every connection is tried by one bind at a time, with growing delays', async (t) => {
  const times: number[] = []
  const server = createServer((socket) => {
    times.push(performance.now())
    socket.on('error', nothing)
    socket.destroy()
  })
  const carrier = connectSmpp(makeSettings(await listen(t, server), { binds: 5 }), watchEvents().events)
  t.after(() => carrier.close())
  await turnUntil(() => times.length === 3)
  const [first = 0, second = 0, third = 0] = times
  assert.ok(second - first >= 150, `${second - first}`)
  assert.ok(third - second >= 750, `${third - second}`)
})

test('binds that a carrier refuses leave the other binds working', async (t) => {
  let tries = 0
  const server = makeCarrierServer(
    (link, pdu) => acceptSubmit(link, pdu, '1'),
    [],
    () => (++tries > 2 ? statuses.ESME_RALYBND : 0),
  )
  const seen = watchEvents()
  const carrier = await connectAndBind(t, await listen(t, server), seen, { binds: 3 })
  await seen.until(() => carrier.state().links.some(({ lastError }) => lastError === 'bind refused: ESME_RALYBND'))
  assert.equal(carrier.state().state, 'up')
  assert.deepEqual(states(carrier.state().links).sort(), ['down', 'up', 'up'])
  assert.equal(carrier.freeWindow(), 20)
  assert.equal((await carrier.submit(makePart())).outcome, 'accepted')
})

test('parts for one destination in flight stay on one bind, and other parts spread', async (t) => {
  const links: SmppLink[] = []
  const got = new Map<string, SmppLink[]>()
  const held: [SmppLink, Pdu][] = []
  const server = makeCarrierServer((link, pdu) => {
    if (pdu.command !== 'submit_sm') return
    const { address } = pdu.destination
    got.set(address, [...(got.get(address) ?? []), link])
    held.push([link, pdu])
  }, links)
  const seen = watchEvents()
  const carrier = await connectAndBind(t, await listen(t, server), seen, { binds: 3 })
  await seen.until(() => states(carrier.state().links).every((state) => state === 'up'))
  const destinations = ['+33612345678', '+33612345679', '+33612345670']
  const results = destinations.flatMap((destination) =>
    [1, 2, 3, 4].map(() => carrier.submit(makePart({ destination }))),
  )
  await turnUntil(() => held.length === results.length)
  for (const used of got.values()) assert.equal(new Set(used).size, 1)
  assert.equal(new Set([...got.values()].flat()).size, 3)
  assert.deepEqual(
    carrier.state().links.map(({ inFlight }) => inFlight),
    [4, 4, 4],
  )
  for (const [link, pdu] of held) acceptSubmit(link, pdu, '1')
  await Promise.all(results)
  assert.equal(carrier.state().inFlight, 0)
})

test('a carrier that answers no submits is bound again', async (t) => {
  const links: SmppLink[] = []
  const seen = watchEvents()
  const carrier = await connectAndBind(t, await listen(t, makeCarrierServer(nothing, links)), seen, {
    response_seconds: 0.1,
  })
  const results = await Promise.all([1, 2, 3].map(() => carrier.submit(makePart())))
  assert.ok(results.every(({ outcome }) => outcome === 'unknown'))
  await seen.until(() => links.length === 2 && carrier.state().state === 'up')
})

test('a response of the wrong type leaves the outcome unknown', async (t) => {
  const server = makeCarrierServer((link, { sequence }) =>
    link.send({ command: 'enquire_link_resp', sequence, status: 0 }),
  )
  const carrier = await connectAndBind(t, await listen(t, server), watchEvents())
  assert.deepEqual(await carrier.submit(makePart()), {
    outcome: 'unknown',
    reason: 'unanswered',
    detail: 'the answer was a enquire_link_resp',
  })
})

test('a sender above its rate gets a retry time and does not delay other senders', async (t) => {
  const server = makeCarrierServer((link, pdu) => acceptSubmit(link, pdu, '1'))
  const carrier = await connectAndBind(t, await listen(t, server), watchEvents(), { tps_per_sender: 2 })
  assert.equal((await carrier.submit(makePart())).outcome, 'accepted')
  const second = await carrier.submit(makePart())
  assert.ok(second.outcome === 'retry' && second.seconds > 0.3 && second.seconds <= 0.5)
  const third = await carrier.submit(makePart())
  assert.ok(third.outcome === 'retry' && third.seconds > 0.8 && third.seconds <= 1)
  assert.equal((await carrier.submit(makePart({ source: '+447911123457' }))).outcome, 'accepted')
})
