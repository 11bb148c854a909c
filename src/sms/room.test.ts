import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { SmsPart } from '../connectors/port.ts'
import { uuid } from '../lib/id.ts'
import { makeCourier } from './courier.ts'
import { makeHealth } from './health.ts'
import { inOrder } from './route.ts'
import { contact, makeSmsWorld, withSmscs } from './testing.ts'

const world = await makeSmsWorld()
const { parts, connect } = world
after(world.stop)

const part = (): SmsPart => ({
  message: uuid(),
  part: 1,
  parts: 1,
  source: '+447700100000',
  destination: contact,
  text: 'x',
  encoding: 'gsm7',
  reference: 0,
})
const { signal } = new AbortController()

test(
  'a place that comes free wakes one of those who wait for it, the first',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    smsc.answer = () => 'mute'
    const id = (await connect('only', smsc, { window: 1, response_seconds: 1 })).slice(3)
    const unanswered = parts.carriers.bound(id)?.submit(part())
    const waiting = Array.from({ length: 5 }, () => parts.carriers.whenRoom(id, 2_000, signal))
    assert.equal((await unanswered)?.outcome, 'unknown')
    assert.deepEqual(await Promise.all(waiting), [true, false, false, false, false])
  }),
)

test(
  'our own full window does not send a text over a connection of lower priority',
  withSmscs(world, 2, async ([a, b]) => {
    assert.ok(a && b)
    a.answer = () => 'mute'
    const first = (await connect('first', a, { binds: 2, window: 1, response_seconds: 300 })).slice(3)
    await connect('spare', b, { priority: 200 })
    // The texts of one destination keep to one bind: its window is full, the other's is not.
    const unanswered = parts.carriers.bound(first)?.submit(part())
    const untold = async () => assert.fail('nothing was submitted')
    const diary = { before: untold, untaken: untold, after: untold }
    const carried = makeCourier(parts.carriers, makeHealth()).carry(
      inOrder(parts.routing.decide(contact, true).candidates),
      part,
      diary,
      signal,
    )
    await assert.rejects(carried, /the window is full/)
    assert.deepEqual(b.submits, [])
    a.cut()
    await unanswered
  }),
)
