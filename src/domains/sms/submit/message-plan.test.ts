import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { uuid } from '../../../platform/lib/id.ts'
import type { SmsPart } from '../../../ports/sms.ts'
import type { MessagePlan } from '../accept/quote.ts'
import type { Decision } from '../route/route-table.ts'
import { contact, giveNumber, makeSmsWorld, withSmscs } from '../sms-testing.ts'
import { makePairSequencer } from './pair-sequencer.ts'
import { makeSubmitHandler, type SubmitJob } from './submit-handler.ts'

const world = await makeSmsWorld()
const { connect, inspect, parts, send, tenant, waitForStatus } = world
after(world.stop)

test(
  'a message is routed once between its request and the carrier',
  withSmscs(world, 1, async ([smsc]) => {
    assert.ok(smsc)
    await connect('only', smsc)
    const who = await tenant()
    const { number } = await giveNumber(world, who)
    // Until the connection has reported its capacity, jobs come from the database, without their plan.
    await waitForStatus(who, (await send(who, number, 'comes first')).body.message_uuid, 'sent')
    const { decide } = parts.routing
    let count = 0
    Object.assign(parts.routing, {
      decide: (to: string, isSandbox: boolean) => {
        count++
        return decide(to, isSandbox)
      },
    })
    const printed = (await send(who, number, 'routed once')).body.message_uuid
    await waitForStatus(who, printed, 'sent')
    Object.assign(parts.routing, { decide })
    assert.equal(count, 1)
  }),
)

test(
  'a message that waits in memory takes another connection once its own one is disabled',
  withSmscs(world, 2, async ([slow, other]) => {
    assert.ok(slow && other)
    const id = await connect('slow', slow, { tps: 0.01 })
    const who = await tenant()
    const { number } = await giveNumber(world, who)
    await waitForStatus(who, (await send(who, number, 'takes the pace')).body.message_uuid, 'sent')
    const printed = (await send(who, number, 'waits')).body.message_uuid
    const settings = { host: '127.0.0.1', port: other.port, system_id: 'me', password: 'secret' }
    const spare = { kind: 'smpp', name: 'other', enabled: false, settings }
    const { uuid: second } = (await world.call('operator', 'POST', '/operator/connections', spare)).body.connection
    // At once, as a message without any connection fails.
    await world.db.begin(async (tx) => {
      await tx.run`update connections set enabled = id <> ${id.slice(3)}, updated_at = clock_timestamp()`
      await parts.changes.invalidate(tx, 'connections')
    })
    await waitForStatus(who, printed, 'sent')
    assert.equal((await inspect(printed)).parts[0].connection_uuid, second)
    assert.deepEqual([slow.submits.length, other.submits.map(({ text }) => text)], [1, ['waits']])
  }),
)

const candidate = (connection: string) => ({
  ...{ connection, name: connection, prefix: '', priority: 1, weight: 1 },
  ...{ texts: 'parts', header: 'udh8', policy: 'resubmit', validSeconds: null },
})
const decisionOf = (connection: string) =>
  ({ id: uuid(), candidates: [candidate(connection)], header: 'udh8', languages: [], isSimulated: false }) as Decision

/** Submits a job with the current decision `now`. @returns what reached which connection */
const submitted = async (job: Partial<SubmitJob>, now: Decision): Promise<[string, string][]> => {
  const sent: [string, string][] = []
  const nothing = async () => {}
  const handler = makeSubmitHandler({
    routing: { ...parts.routing, decide: () => now, isCurrent: (decision) => decision === now },
    submitter: {
      submit: async ([first], _, partFor: (one: NonNullable<typeof first>) => SmsPart) => {
        assert.ok(first)
        sent.push([first.connection, partFor(first).text])
        return { outcome: 'accepted', connection: first.connection, carrierId: '1' }
      },
    },
    sequencer: makePairSequencer(async () => false),
    progress: {
      ...{
        recordPart: nothing,
        reservePart: async () => true,
        markDoubtful: nothing,
        deletePart: nothing,
        recordAttempt: nothing,
      },
      ...{ start: async ({ id }) => ({ account_id: '', id, reference: 1, pieces: [] }), isOptedOut: async () => false },
    },
    clock: parts.clock,
    sandboxAccounts: { has: () => true },
    callbackOf: () => ({ url: '', token: '' }),
    linkOf: (_, media) => media,
  })
  const at = new Date(parts.clock.now())
  const payload = { from: '+447700100000', to: contact, text: 'x'.repeat(161) }
  const base: SubmitJob = {
    ...{ id: uuid(), account: uuid(), kind: 'sms.submit', key: null, payload, runAt: at, createdAt: at, attempt: 1 },
    passOn: nothing,
  }
  await handler({ ...base, ...job }, new AbortController().signal)
  return sent
}

test('the parts of the acceptance are sent as they are, over the current route', async () => {
  const [before, now] = [decisionOf('before'), decisionOf('now')]
  const planned: MessagePlan = {
    ...{ decision: before, header: 'udh8' },
    segments: { encoding: 'gsm7', shift: null, parts: ['first', 'second'], forcedBy: null },
  }
  const both = (connection: string) => [
    [connection, 'first'],
    [connection, 'second'],
  ]
  assert.deepEqual(await submitted({ plan: planned }, before), both('before'))
  assert.deepEqual(await submitted({ plan: planned }, now), both('now'))
})

test('a job from the database, as an earlier version stored it, is segmented as it was charged', async () => {
  const now = decisionOf('now')
  assert.deepEqual(await submitted({}, now), [
    ['now', 'x'.repeat(153)],
    ['now', 'x'.repeat(8)],
  ])
  const payload = { from: '+447700100000', to: contact, text: 'x'.repeat(161), long: 'udh16' as const }
  assert.equal((await submitted({ payload }, now))[0]?.[1], 'x'.repeat(152))
})
