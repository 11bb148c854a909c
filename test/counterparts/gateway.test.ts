import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { openAgent, until } from '@trunkline/sip/user-agent/testing.ts'
import {
  answer,
  closedAfter,
  dial,
  fromBrowser,
  openMedia,
  openWorld,
  receivesTone,
  toBrowsers,
  toCarrier,
  trunkOf,
} from '../../src/adapters/sip-gateway/testing.ts'
import { makeSoftphone } from '../media/softphone.ts'
import { needs } from '../needs.ts'
import { freePort, runProgram } from './program.ts'

// The whole gateway between a browser endpoint and unmodified SIPp: its caller, its carrier and its echo.

const media = await openMedia()
after(() => media.close())

const sipp = (t: TestContext, scenario: 'uac' | 'uas', ...flags: string[]) => {
  const folder = mkdtempSync(join(tmpdir(), 'sipp-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const fixed = ['-i', '127.0.0.1', '-nostdin', '-timeout', '60', '-timeout_error', '-trace_err', '-m', '1']
  return runProgram(t, ['sipp', '-sn', scenario, ...fixed, ...flags], folder)
}

test('a browser calls sipp, hears its own voice come back, and hangs up', needs('sipp'), async (t) => {
  const { gateway, browser, ended } = await openWorld(t, toCarrier, { media })
  // A carrier answers the OPTIONS ping before SIPp takes its place: SIPp would treat the ping as its call.
  const port = await freePort()
  const { agent } = await openAgent(t, { port })
  await gateway.apply([trunkOf(port)])
  await until(() => gateway.trunk('carrier')?.state === 'up')
  await agent.close()
  const carrier = sipp(t, 'uas', '-p', String(port), '-rtp_echo', '-mp', String(await freePort()))
  await carrier.listens(port, 'udp')
  const ann = await browser('ANN')
  const softphone = await closedAfter(t, makeSoftphone())
  const { dialled } = await dial(ann, fromBrowser(ann), softphone)
  const session = await until(() => dialled.session, `an answer of sipp: ${carrier.output()}`)
  softphone.sendTone(1_000)
  await receivesTone(softphone, 1_000)
  await session.bye()
  assert.equal((await ended()).how, 'completed')
  assert.equal(await carrier.ended, 0, carrier.output().slice(-3_000))
})

test('sipp calls a browser, which answers, and sipp hangs up', needs('sipp'), async (t) => {
  const { gateway, browser, ended, callControl } = await openWorld(t, toBrowsers('ANN'), { media })
  const ann = await browser('ANN')
  const softphone = await closedAfter(t, makeSoftphone())
  const flags = ['-s', '33187654321', '-d', '1500', '-p', String(await freePort()), '-rtp_echo']
  const caller = sipp(t, 'uac', ...flags, `127.0.0.1:${gateway.port}`)
  const call = await until(() => ann.calls[0], `a call of sipp: ${caller.output()}`)
  await answer(call, softphone)
  softphone.sendTone(0)
  await until(() => softphone.sent > 0, 'media of the browser')
  const end = await ended()
  assert.deepEqual([end.how, end.by], ['completed', 'caller'])
  assert.equal(Object(callControl.of('receive')[0]?.about).to, '+33187654321')
  assert.equal(await caller.ended, 0, caller.output().slice(-3_000))
})
