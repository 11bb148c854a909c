import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { answer, dial, openCarrier, receivesTone } from '../../src/adapters/sip-gateway/testing.ts'
import { freePort, runProgram } from '../counterparts/program.ts'
import { needs } from '../needs.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { activeUsers, addTrunk, endedCall, freePortSettings, openBrowserUser } from './voice-fixture.ts'

// A carrier that we did not write: unmodified SIPp, with its RTP echo.

const platform = await startPlatform(undefined, freePortSettings)
after(() => platform.end())
const [ada = ''] = await activeUsers(platform)
const { number } = await buyNumber(platform)

const sipp = async (t: TestContext, scenario: 'uas' | 'uac', ...flags: string[]) => {
  const folder = mkdtempSync(join(tmpdir(), 'sipp-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const media = ['-rtp_echo', '-mi', '127.0.0.1', '-mp', String(await freePort())]
  const fixed = ['-i', '127.0.0.1', '-nostdin', '-timeout', '60', '-timeout_error', '-m', '1']
  return runProgram(t, ['sipp', '-sn', scenario, ...fixed, ...media, ...flags], folder)
}

test('a browser hears itself through the echo of SIPp, and both end the call', needs('sipp'), async (t) => {
  // SIPp would treat a ping as its only call and exit, so another responder answers the ping.
  const port = await freePort()
  const { agent } = await openCarrier(t, '127.0.0.1', port)
  await addTrunk(platform, { port, prefixes: ['336'] })
  await agent.close()
  const carrier = await sipp(t, 'uas', '-p', String(port))
  await carrier.listens(port, 'udp')
  const person = await openBrowserUser(t, platform, ada)
  assert.match(await person.register(), /^200/)
  const softphone = await person.softphone()
  const { dialled } = await dial(person.web, person.dialOptions('+33612345678'), softphone)
  const session = await until(async () => dialled.session ?? dialled.refused[0])
  assert.ok(typeof session === 'object', String(session))
  softphone.sendTone(1_000)
  await receivesTone(softphone, 1_000)
  await session.bye()
  assert.equal(await carrier.ended, 0, carrier.output().slice(-3_000))
  assert.equal((await endedCall(platform)).status, 'COMPLETED')
})

test('SIPp calls a number of the platform, and hangs up itself', needs('sipp'), async (t) => {
  const { numbers } = (await platform.call('GET', '/open/voip/virtual-numbers')).body
  await platform.call('PUT', `/open/voip/virtual-numbers/${numbers[0].uuid}`, { inbound_user_uuid: ada })
  const person = await openBrowserUser(t, platform, ada)
  assert.match(await person.register(), /^200/)
  const target = `127.0.0.1:${platform.voicePort}`
  const caller = await sipp(t, 'uac', '-p', String(await freePort()), '-s', number, '-d', '2000', target)
  const call = await until(async () => person.web.calls.shift())
  call.ring({ status: 180 })
  const softphone = await person.softphone()
  const { ends } = await answer(call, softphone)
  softphone.sendTone(1_000)
  await receivesTone(softphone, 1_000)
  assert.equal(await caller.ended, 0, caller.output().slice(-3_000))
  await until(async () => ends.length === 1)
  const cdr = await endedCall(platform, 2)
  assert.deepEqual([cdr.status, cdr.direction, cdr.to_number], ['COMPLETED', 'I', number])
})
