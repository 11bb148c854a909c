import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { connectSmpp } from './carrier.ts'
import type { Link } from './codec/link.ts'
import { type Pdu, statuses } from './codec/pdu.ts'
import { accept, carrierSide, connect, listen, part, settings, turn, watch } from './testing.ts'

const nothing = () => {}
const states = (binds: readonly { state: string }[]) => binds.map(({ state }) => state)

test('ten binds with a wrong password are one wrong password', async (t) => {
  let tries = 0
  const server = carrierSide(nothing, [], () => {
    tries++
    return statuses.ESME_RINVPASWD
  })
  const seen = watch()
  const carrier = connectSmpp(settings(await listen(t, server), { binds: 10 }), seen.events)
  t.after(() => carrier.close())
  await seen.until(() => carrier.state().fatal)
  const { state, lastError, binds } = carrier.state()
  assert.deepEqual([state, lastError], ['down', 'bind refused: ESME_RINVPASWD'])
  assert.deepEqual(states(binds), Array(10).fill('down'))
  assert.equal(binds.filter(({ fatal }) => fatal).length, 1)
  assert.equal(tries, 1)
})

test('a bind that fails after it worked is not taken for a wrong account', async (t) => {
  let tries = 0
  const links: Link[] = []
  const server = carrierSide(nothing, links, () => (++tries === 2 ? statuses.ESME_RBINDFAIL : 0))
  const seen = watch()
  const carrier = await connect(t, await listen(t, server), seen)
  links[0]?.destroy('dropped')
  await seen.until(() => carrier.state().lastError === 'bind refused: ESME_RBINDFAIL')
  assert.equal(carrier.state().fatal, false)
  await seen.until(() => links.length === 2)
})

test('a carrier that drops every connection is tried by one of the binds at a time, and ever more slowly', async (t) => {
  const times: number[] = []
  const server = createServer((socket) => {
    times.push(performance.now())
    socket.on('error', nothing)
    socket.destroy()
  })
  const carrier = connectSmpp(settings(await listen(t, server), { binds: 5 }), watch().events)
  t.after(() => carrier.close())
  await turn(() => times.length === 3)
  const [first = 0, second = 0, third = 0] = times
  assert.ok(second - first >= 150, `${second - first}`)
  assert.ok(third - second >= 750, `${third - second}`)
})

test('binds that a carrier does not grant leave the others at work', async (t) => {
  let tries = 0
  const server = carrierSide(
    (link, pdu) => accept(link, pdu, '1'),
    [],
    () => (++tries > 2 ? statuses.ESME_RALYBND : 0),
  )
  const seen = watch()
  const carrier = await connect(t, await listen(t, server), seen, { binds: 3 })
  await seen.until(() => carrier.state().binds.some(({ lastError }) => lastError === 'bind refused: ESME_RALYBND'))
  assert.equal(carrier.state().state, 'bound')
  assert.deepEqual(states(carrier.state().binds).sort(), ['bound', 'bound', 'down'])
  assert.equal(carrier.room(), 20)
  assert.equal((await carrier.submit(part())).outcome, 'accepted')
})

test('parts for one destination that are under way keep to one bind, others spread', async (t) => {
  const links: Link[] = []
  const got = new Map<string, Link[]>()
  const held: [Link, Pdu][] = []
  const server = carrierSide((link, pdu) => {
    if (pdu.command !== 'submit_sm') return
    const { address } = pdu.destination
    got.set(address, [...(got.get(address) ?? []), link])
    held.push([link, pdu])
  }, links)
  const seen = watch()
  const carrier = await connect(t, await listen(t, server), seen, { binds: 3 })
  await seen.until(() => states(carrier.state().binds).every((state) => state === 'bound'))
  const destinations = ['+33612345678', '+33612345679', '+33612345670']
  const results = destinations.flatMap((destination) => [1, 2, 3, 4].map(() => carrier.submit(part({ destination }))))
  await turn(() => held.length === results.length)
  for (const used of got.values()) assert.equal(new Set(used).size, 1)
  assert.equal(new Set([...got.values()].flat()).size, 3)
  assert.deepEqual(
    carrier.state().binds.map(({ inFlight }) => inFlight),
    [4, 4, 4],
  )
  for (const [link, pdu] of held) accept(link, pdu, '1')
  await Promise.all(results)
  assert.equal(carrier.state().inFlight, 0)
})

test('a carrier that answers no submits is bound anew', async (t) => {
  const links: Link[] = []
  const seen = watch()
  const carrier = await connect(t, await listen(t, carrierSide(nothing, links)), seen, { response_seconds: 0.1 })
  const results = await Promise.all([1, 2, 3].map(() => carrier.submit(part())))
  assert.ok(results.every(({ outcome }) => outcome === 'unknown'))
  await seen.until(() => links.length === 2 && carrier.state().state === 'bound')
})

test('an answer of another kind than the request leaves the outcome unknown', async (t) => {
  const server = carrierSide((link, { sequence }) => link.send({ command: 'enquire_link_resp', sequence, status: 0 }))
  const carrier = await connect(t, await listen(t, server), watch())
  assert.deepEqual(await carrier.submit(part()), {
    outcome: 'unknown',
    reason: 'the answer was a enquire_link_resp',
  })
})

test('a sender beyond its share is told when to come back, and holds nobody else up', async (t) => {
  const server = carrierSide((link, pdu) => accept(link, pdu, '1'))
  const carrier = await connect(t, await listen(t, server), watch(), { tps_per_sender: 2 })
  assert.equal((await carrier.submit(part())).outcome, 'accepted')
  const second = await carrier.submit(part())
  assert.ok(second.outcome === 'retry' && second.seconds > 0.3 && second.seconds <= 0.5)
  const third = await carrier.submit(part())
  assert.ok(third.outcome === 'retry' && third.seconds > 0.8 && third.seconds <= 1)
  assert.equal((await carrier.submit(part({ source: '+447911123457' }))).outcome, 'accepted')
})
