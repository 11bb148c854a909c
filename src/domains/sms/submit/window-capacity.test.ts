import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { statuses } from '@trunkline/smpp/pdu.ts'
import { until } from '../../../../test/platform.ts'
import { Snooze } from '../../../platform/jobs/job-kind.ts'
import { uuid } from '../../../platform/lib/id.ts'
import type { SmsPart } from '../../../ports/sms.ts'
import { maxConnectionFailures } from '../limits.ts'
import { drawOrder } from '../route/route-table.ts'
import { contact, makeSmsWorld, withSmscs } from '../sms-testing.ts'
import { makeConnectionHealth } from './connection-health.ts'
import { makeFailoverSubmitter, type SubmitLog } from './failover-submitter.ts'

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

const untold = async () => assert.fail('nothing was submitted')
/** Submit log of a message that must not be submitted. */
const diary: SubmitLog = { beforeSubmit: untold, notAccepted: untold, afterFailure: untold }

test(
  'freed window capacity wakes one waiter, the first',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    smsc.react = () => 'mute'
    const id = (await connect('only', smsc, { window: 1, response_seconds: 1 })).slice(3)
    const unanswered = parts.carriers.up(id)?.submit(part())
    const waiting = Array.from({ length: 5 }, () => parts.carriers.whenAvailable(id, 2_000, signal))
    assert.equal((await unanswered)?.outcome, 'unknown')
    assert.deepEqual(await Promise.all(waiting), [true, false, false, false, false])
  }),
)

test(
  'our own full window does not move a message to a connection of lower priority',
  withSmscs(world, 2, async ([a, b]) => {
    assert.ok(a && b)
    a.react = () => 'mute'
    const first = (await connect('first', a, { binds: 2, window: 1, response_seconds: 300 })).slice(3)
    await connect('spare', b, { priority: 200 })
    // Messages of one destination use one bind: its window is full, the window of the other is not.
    const unanswered = parts.carriers.up(first)?.submit(part())
    const carried = makeFailoverSubmitter(parts.carriers, makeConnectionHealth()).submit(
      drawOrder(parts.routing.decide(contact, true).candidates),
      { pair: contact, wasPassed: false },
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

test(
  'messages that waited in vain for capacity free their waiting slots for others',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    smsc.react = () => 'mute'
    const id = (await connect('only', smsc, { window: 1, response_seconds: 300 })).slice(3)
    const unanswered = parts.carriers.up(id)?.submit(part())
    const courier = makeFailoverSubmitter(parts.carriers, makeConnectionHealth())
    const { candidates } = parts.routing.decide(contact, true)
    for (const round of [1, 2]) {
      const control = new AbortController()
      // At most 64 messages wait for one connection.
      const carried = Array.from({ length: 64 }, () =>
        courier
          .submit(drawOrder(candidates), { pair: contact, wasPassed: false }, part, diary, control.signal)
          .catch(String),
      )
      control.abort()
      for (const error of await Promise.all(carried))
        assert.match(String(error), /the worker is stopping/, `round ${round}`)
    }
    smsc.cut()
    await unanswered
  }),
)

test(
  'a message for a connection that just went down is retried after a second, not after ten',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    const id = await connect('only', smsc)
    await world.change(id, { settings: { port: 1 } })
    await until(async () => parts.carriers.state(id.slice(3))?.state === 'down')
    const carried = makeFailoverSubmitter(parts.carriers, makeConnectionHealth()).submit(
      drawOrder(parts.routing.decide(contact, true).candidates),
      { pair: contact, wasPassed: false },
      part,
      diary,
      signal,
    )
    await assert.rejects(carried, (error) => error instanceof Snooze && error.seconds >= 1 && error.seconds < 5)
  }),
)

test(
  'a message that one carrier refused is passed on for another without it, and is not passed back for an unhealthy one',
  withSmscs(world, 2, async ([a, b]) => {
    assert.ok(a && b)
    const first = (await connect('first', a)).slice(3)
    await connect('elsewhere', b, { priority: 200 })
    const { leases } = parts.carriers
    const placeOf = (connection: string) => (connection === first ? 'here' : { kind: 'sms.submit:elsewhere:1' })
    const health = makeConnectionHealth()
    const submitter = makeFailoverSubmitter({ ...parts.carriers, leases: { ...leases, placeOf } }, health)
    const told: SubmitLog = { ...diary, afterFailure: async () => {} }
    const submit = (wasPassed: boolean) =>
      submitter.submit(
        drawOrder(parts.routing.decide(contact, true).candidates),
        { pair: contact, wasPassed },
        part,
        told,
        signal,
      )
    a.react = () => statuses.ESME_RINVDSTADR
    assert.deepEqual(await submit(false), { outcome: 'elsewhere', kind: 'sms.submit:elsewhere:1', tried: [first] })
    a.react = () => 'take'
    for (let failure = 0; failure < maxConnectionFailures; failure++) health.record(first, false)
    assert.equal((await submit(false)).outcome, 'elsewhere')
    assert.equal((await submit(true)).outcome, 'accepted')
  }),
)
