import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { maxEnergyShare } from '../../src/adapters/media/tone-testing.ts'
import { dial, receivesTone, sdp } from '../../src/adapters/sip-gateway/testing.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import {
  activeUsers,
  callsSeenBy,
  duplicatePackets,
  endedCall,
  freePortSettings,
  openBrowserUser,
  secondsOf,
} from './voice-fixture.ts'

// Calls from a browser, through a whole platform, to the sandbox's trunk.

const platform = await startPlatform(undefined, freePortSettings)
after(() => platform.end())
const [ada = ''] = await activeUsers(platform)
const { number: shown } = await buyNumber(platform)

test('a browser calls a handset: both hear each other, hold and keys pass, and the record is exact', async (t) => {
  const handset = '+447700901230'
  const person = await openBrowserUser(t, platform, ada)
  assert.match(await person.register(), /^200/)
  const softphone = await person.softphone()
  const { dialled } = await dial(person.web, person.dialOptions(handset, shown), softphone)
  const session = await until(async () => dialled.session)
  const answered = Date.now()
  assert.ok(dialled.progress.includes(180))
  softphone.sendTone(1_000)
  await receivesTone(softphone, 620)
  const seen = async () => (await callsSeenBy(platform, handset))[0]
  await until(async () => secondsOf((await seen()).tones, 1_000) > 1)

  softphone.direct('sendonly')
  const held = await session.reinvite({ body: sdp(await softphone.offer()) })
  assert.ok(held?.outcome === 'answered' && held.response.status === 200)
  await softphone.accept(held.response.body.toString())
  softphone.sendTone(null)
  for (const key of '0123456789*#ABCD') {
    const body = { type: 'application/dtmf-relay', content: `Signal=${key}\r\nDuration=100` }
    const info = await session.info({ body })
    assert.ok(info.outcome === 'answered' && info.response.status === 200)
  }
  await until(async () => (await seen()).digits === '0123456789*#ABCD')
  softphone.direct('sendrecv')
  const back = await session.reinvite({ body: sdp(await softphone.offer()) })
  assert.ok(back?.outcome === 'answered' && back.response.status === 200)
  await softphone.accept(back.response.body.toString())
  const before = secondsOf((await seen()).tones, 1_000)
  softphone.sendTone(1_000)
  await until(async () => secondsOf((await seen()).tones, 1_000) > before + 1)
  await receivesTone(softphone, 620)
  assert.equal(duplicatePackets(softphone), 0)
  await session.bye()
  const hungUp = Date.now()

  const cdr = await endedCall(platform)
  // Exact to the second, except that this process may see both ends late on a busy machine.
  const talked = (hungUp - answered) / 1_000
  assert.deepEqual(
    [cdr.direction, cdr.from, cdr.to_number, cdr.status, cdr.is_sip_trunk_call, cdr.caller_id_used, cdr.agent_id],
    ['O', ada, handset, 'COMPLETED', true, shown, ada],
  )
  assert.ok(Math.abs(cdr.duration - talked) <= 4, `${cdr.duration} s of ${talked}`)
  assert.ok(Math.abs(Date.parse(cdr.start_time) - answered) <= 4_000)
  assert.ok(Math.abs(Date.parse(cdr.end_time) - hungUp) <= 4_000)
  // The sandbox's price of +44, for each started minute.
  assert.deepEqual([cdr.call_cost.call_price, cdr.call_cost.duration], [0.012, 60])
  const call = await seen()
  assert.deepEqual([call.uuid, call.peer, call.state], [cdr.uuid, shown, 'completed'])
  const file = readFileSync(join(platform.home, 'simulator', 'heard', `${call.call_id}.wav`))
  const samples = new Int16Array(file.buffer, file.byteOffset + 44, (file.length - 44) / 2)
  assert.ok(maxEnergyShare(samples, 1_000) > 0.9)
})

test('a call that is unanswered, refused or cancelled has one record and costs nothing', async (t) => {
  const person = await openBrowserUser(t, platform, ada)
  assert.match(await person.register(), /^200/)
  const balance = async () => (await platform.call('GET', '/open/info')).body.balance.amount
  const before = await balance()
  const records = async () => (await platform.call('GET', '/open/voip/call-history')).body.cdrs
  const known = (await records()).length
  await platform.call('PUT', '/sandbox/handsets/+447700901231', { answers: 'reject' })
  const calls: Awaited<ReturnType<typeof dial>>[] = []
  for (const handset of ['+447700900004', '+447700901231', '+447700900005'])
    calls.push(await dial(person.web, person.dialOptions(handset), await person.softphone()))
  const [busy, rejected, ringing] = calls
  assert.ok(busy && rejected && ringing)
  await until(async () => ringing.dialled.progress.includes(180))
  ringing.call.cancel()
  await until(async () => calls.every(({ dialled }) => dialled.refused.length === 1))
  assert.match(busy.dialled.refused[0] ?? '', /^486/)
  assert.match(rejected.dialled.refused[0] ?? '', /^603/)
  const made = await until(async () => {
    const all = await records()
    return all.length === known + 3 && all.every(({ active }: { active: boolean }) => !active) && all.slice(0, 3)
  })
  const told = made.map(
    (one: { to_number: string; status: string; duration: number; call_cost: { call_price: number } }) => [
      ...[one.to_number, one.status, one.duration, one.call_cost.call_price],
    ],
  )
  assert.deepEqual(told.sort(), [
    ['+447700900004', 'BUSY', 0, 0],
    ['+447700900005', 'CANCELED', 0, 0],
    ['+447700901231', 'FAILED', 0, 0],
  ])
  assert.equal(await balance(), before)
})
