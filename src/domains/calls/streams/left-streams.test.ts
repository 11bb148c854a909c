import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { reportStreams } from '../jobs.ts'
import { beginCall, callAnswered, callEnded, closeEarlierEpochs } from '../ops.ts'
import type { ProgramCall } from '../programs/program.ts'
import { programCall } from '../programs/program-testing.ts'
import { makeReportStream, type StreamPayload, type StreamReport } from './stream-status.ts'

const { db, tenant } = await makeWorld()
const report = makeReportStream({ db, clock: Date, onError: (error) => assert.fail(String(error)) })

/** A call that runs, of an earlier epoch. */
const openCall = async ({ id: account }: Tenant): Promise<ProgramCall> => {
  const id = uuid()
  await db.begin(async (tx) => {
    await beginCall(tx, {
      ...{ account_id: account, id, callid: id, direction: 'I', user_id: null, from_number: '+33612345678' },
      ...{ to_number: '+447911123456', iso_country_code: 'GB', is_msgapp: false, is_trunk: true, caller_id: null },
      ...{ caller_id_used: '', virtual_number_id: null, toll_free: false, rate: '0', tenure: 1 },
    })
    await callAnswered(tx, account, id, null)
  })
  return { ...programCall, id, account }
}

type Shape = 'native' | 'twilio'

const send = (call: ProgramCall, stream: string, change: StreamReport['change'], shape: Shape = 'native') =>
  report(
    call,
    { url: `https://example.com/${shape}`, method: 'POST', shape, application: null },
    { stream, name: null, change, error: null, end: null },
  )

/** Reports a change of a stream, and waits until it is stored. */
const tell = async (...[call, ...change]: Parameters<typeof send>) => {
  const known = (await stored(call)).length
  send(call, ...change)
  await until(async () => (await stored(call)).length > known)
}

/** The reports of a call, in order: kind, stream, change and reason. */
const stored = async ({ id }: ProgramCall) => {
  const rows = await db.many<{ kind: string; payload: StreamPayload }>`
    select kind, payload from jobs where key = ${id} and payload ->> 'event' = 'stream' order by id`
  return rows.map(({ kind, payload: { stream, change, end, url } }) => [kind, url, stream, change, end?.reason])
}

const close = () => db.begin((tx) => closeEarlierEpochs(tx, 2, 100))

test('the end of the streams of a call whose process died is reported with the end of the call, once, in order, in both shapes', async () => {
  const call = await openCall(await tenant())
  const other = await openCall(await tenant())
  const [first, second, over] = [uuid(), uuid(), uuid()]
  await tell(call, over, 'started')
  await tell(call, first, 'started')
  await tell(call, second, 'started', 'twilio')
  await tell(call, over, 'stopped')
  assert.equal(await close(), 2)
  await close()
  const [native, twilio] = [
    ['call.status', 'https://example.com/native'],
    ['twilio.stream_status', 'https://example.com/twilio'],
  ]
  assert.deepEqual(await stored(call), [
    [...native, over, 'started', undefined],
    [...native, first, 'started', undefined],
    [...twilio, second, 'started', undefined],
    [...native, over, 'stopped', undefined],
    [...native, first, 'stopped', 'interrupted'],
    [...twilio, second, 'stopped', 'interrupted'],
  ])
  assert.deepEqual(await stored(other), [])
  // The process was not dead: it was slow, and ends its calls now.
  send(call, second, 'error', 'twilio')
  send(call, first, 'stopped')
  await tell(call, uuid(), 'error')
  assert.equal((await stored(call)).length, 7)
})

test('the end of a stream whose process ended right after its call is reported a minute later', async () => {
  const call = await openCall(await tenant())
  const stream = uuid()
  await tell(call, stream, 'started')
  await db.begin((tx) => callEnded(tx, call.account, call.id, { status: 'COMPLETED', reason: '200' }))
  const { now } = await db.one<{ now: Date }>`select app_now() as now`
  const run = () => db.begin((tx) => reportStreams.run(tx, now))
  await run()
  assert.equal((await stored(call)).length, 1)
  await db.run`update clock set offset_seconds = offset_seconds + 61`
  await run()
  await run()
  assert.deepEqual((await stored(call)).at(-1), [
    'call.status',
    'https://example.com/native',
    stream,
    'stopped',
    'interrupted',
  ])
  assert.equal((await stored(call)).length, 2)
})
