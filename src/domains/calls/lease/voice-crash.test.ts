import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { buyNumber, homeOnDisk, startPlatform, until } from '../../../../test/platform.ts'
import { answer, closedAfter, dial, fromBrowser, receivesTone } from '../../../adapters/sip-gateway/testing.ts'
import { openVoicePlatform, startVoicePlatform, usersOf } from '../call-testing.ts'

test('after a kill during a call, its record is closed, the carrier gets a BYE, the recording is available, and the browser learns of the end', async (t) => {
  const killed = await startVoicePlatform({}, homeOnDisk())
  t.after(() => killed.end('SIGKILL'))
  const [ada = ''] = await usersOf(killed)
  await buyNumber(killed)
  const { carrier, browser } = await openVoicePlatform(t, killed)
  const [softphone, telephone] = [await closedAfter(t, makeSoftphone()), await closedAfter(t, makeTelephone())]
  const phone = await browser(ada)
  const callRequest = { ...fromBrowser(phone, '+447700900555'), headers: [['X-Record', 'true']] as const }
  const { dialled } = await dial(phone, callRequest, softphone)
  const { ends } = await answer(await carrier.call(), telephone)
  const answered = Date.now()
  softphone.sendTone(1_000)
  await receivesTone(telephone, 1_000)
  const folder = join(killed.home, 'recordings')
  const written = () =>
    readdirSync(folder, { recursive: true }).map((name) => statSync(join(folder, String(name))).size)
  await until(async () => Math.max(...written()) > 40_000)
  await killed.end('SIGKILL')
  const talked = (Date.now() - answered) / 1_000
  assert.deepEqual(ends, [])

  const next = await startPlatform(killed.home, { TRUNKLINE_RTP_PORTS: '0', TRUNKLINE_WEBRTC_PORTS: '0' })
  t.after(() => next.end())
  const began = Date.now()
  const newest = async () => (await next.call('GET', '/open/voip/call-history')).body.cdrs[0]
  const cdr = await newest()
  assert.deepEqual([cdr.active, cdr.status, cdr.end_reason], [false, 'COMPLETED', 'interrupted'])
  assert.deepEqual([cdr.call_cost.duration, cdr.call_cost.call_price], [60, 0.012])
  assert.ok(cdr.duration <= talked + 1, `${cdr.duration} s of ${talked}`)
  await until(async () => ends.length > 0)
  assert.deepEqual(ends, ['remote'])
  // The promise is ten seconds; a busy machine gets twice that.
  assert.ok(Date.now() - began < 20_000, `${Date.now() - began} ms`)
  const url = await until(async () => (await newest()).recording_url)
  // The link has the address of the process that answers.
  const { pathname, search } = new URL(url)
  const wav = Buffer.from(await (await fetch(next.url + pathname + search)).arrayBuffer())
  assert.equal(wav.readUInt32LE(40), wav.length - 44, 'the header states the length of the samples')
  assert.ok(wav.length > 40_000)

  // The browser cannot know. It sends OPTIONS within the dialog after its reconnect and gets 481.
  await phone.connect(next.url.replace('http', 'ws').concat('/voice'))
  const session = await until(async () => dialled.session)
  session.setFlow(phone.flow)
  const outcome = await session.options()
  assert.ok(outcome.outcome === 'answered' && outcome.response.status === 481)
  assert.deepEqual(dialled.ends, ['gone'])
})
