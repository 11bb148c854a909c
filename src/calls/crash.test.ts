import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeSoftphone } from '../../test/media/softphone.ts'
import { makeTelephone } from '../../test/media/telephone.ts'
import { buyNumber, startPlatform, until } from '../../test/platform.ts'
import { answer, dial, fromBrowser, hears, kept } from '../connectors/sip/gateway/testing.ts'
import { openExchange, startVoice, usersOf } from './testing.ts'

test('after a kill in the middle of a call its record is closed, the carrier gets its BYE, the recording can be heard, and the browser learns of it', async (t) => {
  const killed = await startVoice()
  t.after(() => killed.end('SIGKILL'))
  const [ada = ''] = await usersOf(killed)
  await buyNumber(killed)
  const { carrier, browser } = await openExchange(t, killed)
  const [softphone, telephone] = [await kept(t, makeSoftphone()), await kept(t, makeTelephone())]
  const phone = await browser(ada)
  const asked = { ...fromBrowser(phone, '+447700900555'), headers: [['X-Record', 'true']] as const }
  const { dialled } = await dial(phone, asked, softphone)
  const { ends } = await answer(await carrier.call(), telephone)
  const answered = Date.now()
  softphone.say(1_000)
  await hears(telephone, 1_000)
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
  // Ten seconds are the promise; a busy machine is given twice as long.
  assert.ok(Date.now() - began < 20_000, `${Date.now() - began} ms`)
  const url = await until(async () => (await newest()).recording_url)
  // The address is that of the process that answers.
  const { pathname, search } = new URL(url)
  const wav = Buffer.from(await (await fetch(next.url + pathname + search)).arrayBuffer())
  assert.equal(wav.readUInt32LE(40), wav.length - 44, 'the header says what there is')
  assert.ok(wav.length > 40_000)

  // The browser cannot know: it asks within the call once it is back, and hears that there is none.
  await phone.connect(next.url.replace('http', 'ws').concat('/voice'))
  const session = await until(async () => dialled.session)
  session.move(phone.flow)
  const outcome = await session.options()
  assert.ok(outcome.outcome === 'answered' && outcome.response.status === 481)
  assert.deepEqual(dialled.ends, ['gone'])
})
