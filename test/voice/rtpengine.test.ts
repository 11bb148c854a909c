import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clearest } from '../../src/connectors/media/testing.ts'
import { dial, hears } from '../../src/connectors/sip/gateway/testing.ts'
import { startRtpengine } from '../media/rtpengine.ts'
import { needs } from '../needs.ts'
import { buyNumber, startPlatform, until } from '../platform.ts'
import { activeUsers, endedCall, openPerson, secondsOf, seenBy, voice } from './scene.ts'

test('with rtpengine for its audio the platform carries and records the same calls', needs('rtpengine'), async (t) => {
  const daemon = await startRtpengine()
  t.after(() => daemon.stop())
  const platform = await startPlatform(undefined, {
    ...voice,
    TRUNKLINE_MEDIA_ENGINE: 'rtpengine',
    TRUNKLINE_RTPENGINE: `127.0.0.1:${daemon.port}`,
    TRUNKLINE_RTPENGINE_DTMF: `127.0.0.1:${daemon.dtmfPort}`,
    TRUNKLINE_RTPENGINE_RECORDINGS: daemon.recordings,
  })
  t.after(() => platform.end())
  const [ada = ''] = await activeUsers(platform)
  await buyNumber(platform)
  const person = await openPerson(t, platform, ada)
  assert.match(await person.register(), /^200/)
  const handset = '+447700901250'
  const softphone = await person.softphone()
  const asked = { ...person.toward(handset), headers: [['X-Record', 'true']] as const }
  const { dialled } = await dial(person.web, asked, softphone)
  const session = await until(async () => dialled.session ?? dialled.refused[0])
  assert.ok(typeof session === 'object', String(session))
  softphone.say(1_000)
  await hears(softphone, 620)
  const seen = async () => (await seenBy(platform, handset))[0]
  await until(async () => secondsOf((await seen()).tones, 1_000) > 1)
  await session.bye()

  const cdr = await endedCall(platform)
  assert.deepEqual([cdr.status, cdr.call_cost.call_price], ['COMPLETED', 0.012])
  const url = await until(async () => (await endedCall(platform)).recording_url)
  const wav = Buffer.from(await (await fetch(url)).arrayBuffer())
  const frames = (wav.length - 44) / 4
  assert.ok(Math.abs(frames / 8_000 - cdr.duration) <= 4, `${frames / 8_000} s of ${cdr.duration}`)
  const side = (offset: number) => Int16Array.from({ length: frames }, (_, i) => wav.readInt16LE(44 + i * 4 + offset))
  assert.ok(clearest(side(0), 1_000) > 0.9, 'left the agent')
  assert.ok(clearest(side(2), 620) > 0.9, 'right the far end')
})
