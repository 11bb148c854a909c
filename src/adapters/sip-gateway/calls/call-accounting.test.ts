import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ManualTimers, until } from '@trunkline/sip/user-agent/testing.ts'
import type { MediaCall, MediaResult } from '../../../ports/media.ts'
import type { VoicePlan } from '../../../ports/voice.ts'
import type { GatewayDeps } from '../gateway-deps.ts'
import { maxMissedHeartbeats } from '../limits.ts'
import { makeCallControl } from '../testing.ts'
import { CallAccounting } from './call-accounting.ts'
import type { CallLeg } from './call-leg.ts'
import { type HangupCause, hungUp } from './hangup-cause.ts'

const plan: VoicePlan = {
  ...{ call: 'one', account: 'one', callerId: '+33187654321', targets: [], ringSeconds: 30 },
  ...{ record: { id: 'recording', path: '/recording' }, mostSeconds: null },
}

/** An accounting whose media and call control answer in later turns, and write what they finished. */
const open = (own: Partial<VoicePlan> = {}) => {
  const timers = new ManualTimers()
  const order: string[] = []
  const later = async <T>(name: string, value: T): Promise<T> => {
    for (let turn = 0; turn < 3; turn++) await nextTurn()
    order.push(name)
    return value
  }
  const done = <T>(value: T): MediaResult<T> => ({ outcome: 'done', value })
  const media: Partial<MediaCall> = {
    startRecording: (_, left, right) => later(`left ${left.id}, right ${right.id}`, done(null)),
    stats: () => later('stats', done([])),
    stopRecording: () => later('recording stopped', done({ seconds: 1, bytes: 2, sha256: 'x', channels: 2 })),
  }
  const control = makeCallControl(() => assert.fail('no call is placed'))
  const failures: unknown[] = []
  let faults = 0
  const refuseOnce = async <T>(name: string, value: T) => {
    if (faults > 0) {
      faults--
      order.push(`${name} failed`)
      throw new Error('no database')
    }
    return await later(name, value)
  }
  const gateway: Partial<GatewayDeps> = {
    agent: { timers } as unknown as GatewayDeps['agent'], // only its timers are used
    onError: (error) => void failures.push(error),
    callControl: {
      ...control.callControl,
      heartbeat: () => refuseOnce('heartbeat', { value: null }),
      ended: (_, end) => refuseOnce(`ended ${end.agoMs} ms ago, ${JSON.stringify(end.recordings)}`, undefined),
    },
  }
  const ends: HangupCause[] = []
  const accounting = new CallAccounting(gateway as GatewayDeps, { ...plan, ...own }, (ending) => void ends.push(ending))
  accounting.media = media as MediaCall
  const leg = { media: { id: 'caller' }, trunk: null, name: 'caller' } as unknown as CallLeg
  const fail = (count: number) => {
    faults = count
  }
  const closeMedia = () => later('media closed', undefined)
  return { timers, order, ends, failures, accounting, leg, fail, closeMedia }
}

test('the end of a call is reported after its recording and media are closed, until it is persisted', async () => {
  const { timers, order, accounting, leg, fail, failures, closeMedia } = open()
  assert.equal(await accounting.record(leg, leg), null)
  accounting.start()
  order.length = 0
  accounting.stop()
  fail(2)
  let isOver = false
  const concluded = accounting.conclude(hungUp('caller'), closeMedia).then(() => {
    isOver = true
  })
  const closed = ['stats', 'recording stopped', 'media closed']
  await until(() => failures.length === 1)
  assert.deepEqual(
    order.filter((what) => !what.startsWith('ended')),
    closed,
  )
  timers.advance(1_000)
  await until(() => failures.length === 2)
  for (let turn = 0; turn < 5; turn++) await nextTurn()
  assert.equal(isOver, false, 'the end is not persisted')
  timers.advance(2_000)
  await concluded
  const recordings = JSON.stringify([{ id: 'recording', content: { seconds: 1, bytes: 2, sha256: 'x', channels: 2 } }])
  assert.deepEqual(order.slice(0, 3), closed)
  assert.equal(order.at(-1), `ended 3000 ms ago, ${recordings}`)
  assert.equal(timers.waiting, 0, 'no heartbeat follows')
})

test('our user is left in a recording: the caller at a browser, else the callee, whether a trunk or we ourselves call', async () => {
  const { accounting, order, leg } = open()
  const legOf = (id: string, trunk: string | null, person: object | null) =>
    ({ ...leg, media: { id }, trunk, person }) as unknown as CallLeg
  const callers = [legOf('browser', null, {}), legOf('trunk', 'one', null), legOf('own', null, null)]
  for (const caller of callers) await accounting.record(caller, legOf('callee', null, null))
  assert.deepEqual(order, ['left browser, right callee', 'left callee, right trunk', 'left callee, right own'])
})

test('failed heartbeats end a call only if they follow each other', async () => {
  const { timers, ends, failures, accounting, fail, order } = open()
  accounting.start()
  const beat = async (isFailed: boolean) => {
    const before = order.length + failures.length
    fail(isFailed ? 1 : 0)
    timers.advance(5_000)
    await until(() => timers.waiting > 0 && order.length + failures.length > before)
  }
  for (let i = 1; i < maxMissedHeartbeats; i++) await beat(true)
  await beat(false)
  for (let i = 1; i < maxMissedHeartbeats; i++) await beat(true)
  assert.deepEqual(ends, [])
  await beat(true)
  assert.equal(ends.length, 1)
  accounting.stop()
  assert.equal(timers.waiting, 0)
})

test('a call ends within its longest time since the answer was reported, so that no further minute is charged', async () => {
  const { timers, ends, accounting } = open({ mostSeconds: 60 })
  accounting.answeredAt = timers.now()
  timers.advance(2_000)
  accounting.start()
  timers.advance(57_700)
  assert.deepEqual(ends, [])
  timers.advance(200)
  assert.deepEqual(
    ends.map(({ how }) => how),
    ['time_limit'],
  )
  accounting.stop()
})
