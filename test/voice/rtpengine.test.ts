import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { maxEnergyShare } from '../../src/adapters/media/tone-testing.ts'
import { answer, closedAfter, dial, openCarrier, receivesTone, sdp } from '../../src/adapters/sip-gateway/testing.ts'
import { openProgram } from '../../src/domains/calls/programs/program-testing.ts'
import { type Daemon, startRtpengine } from '../media/rtpengine.ts'
import { makeStreamServer } from '../media/stream-server.ts'
import { makeTelephone } from '../media/telephone.ts'
import { needs } from '../needs.ts'
import { buyNumber, type Platform, startPlatform, until } from '../platform.ts'
import { openChromium, openTab } from '../sdk/tab.ts'
import {
  activeUsers,
  addTrunk,
  callsSeenBy,
  endedCall,
  freePortSettings,
  openBrowserUser,
  secondsOf,
} from './voice-fixture.ts'

describe('with rtpengine for its audio', needs('rtpengine'), () => {
  let daemon: Daemon
  let platform: Platform
  let ada = ''
  before(async () => {
    daemon = await startRtpengine()
    platform = await startPlatform(undefined, {
      ...freePortSettings,
      TRUNKLINE_MEDIA_ENGINE: 'rtpengine',
      TRUNKLINE_RTPENGINE: `127.0.0.1:${daemon.port}`,
      TRUNKLINE_RTPENGINE_DTMF: `127.0.0.1:${daemon.dtmfPort}`,
      TRUNKLINE_RTPENGINE_RECORDINGS: daemon.recordings,
    })
    ;[ada = ''] = await activeUsers(platform)
    await buyNumber(platform)
  })
  after(async () => {
    await platform?.end()
    await daemon?.stop()
  })

  test('the platform carries and records the same calls', async (t) => {
    const person = await openBrowserUser(t, platform, ada)
    assert.match(await person.register(), /^200/)
    const handset = '+447700901250'
    const softphone = await person.softphone()
    const asked = { ...person.dialOptions(handset), headers: [['X-Record', 'true']] as const }
    const { dialled } = await dial(person.web, asked, softphone)
    const session = await until(async () => dialled.session ?? dialled.refused[0])
    assert.ok(typeof session === 'object', String(session))
    softphone.sendTone(1_000)
    await receivesTone(softphone, 620)
    const seen = async () => (await callsSeenBy(platform, handset))[0]
    await until(async () => secondsOf((await seen()).tones, 1_000) > 1)
    await session.bye()

    const cdr = await endedCall(platform)
    assert.deepEqual([cdr.status, cdr.call_cost.call_price], ['COMPLETED', 0.012])
    const url = await until(async () => (await endedCall(platform)).recording_url)
    const wav = Buffer.from(await (await fetch(url)).arrayBuffer())
    const frames = (wav.length - 44) / 4
    assert.ok(Math.abs(frames / 8_000 - cdr.duration) <= 4, `${frames / 8_000} s of ${cdr.duration}`)
    const side = (offset: number) => Int16Array.from({ length: frames }, (_, i) => wav.readInt16LE(44 + i * 4 + offset))
    assert.ok(maxEnergyShare(side(0), 1_000) > 0.9, 'the agent is on the left')
    assert.ok(maxEnergyShare(side(2), 620) > 0.9, 'the far end is on the right')
  })

  test('a program plays to a telephone, takes its keys, records what it says, and streams it to an echo', async (t) => {
    const echo = await makeStreamServer(true)
    t.after(() => echo.close())
    const prompt = { verb: 'play', tone: { hertz: [1_000], on_ms: 500 }, loop: 0 }
    const program = await openProgram(t, {
      '/begin': [{ verb: 'gather', num_digits: 1, timeout: 30, prompts: [prompt], action: '/chosen' }],
      '/chosen': [{ verb: 'record', beep: false, timeout: 0, max_seconds: 1, action: '/recorded' }],
      '/recorded': [{ verb: 'stream', url: echo.url, action: '/streamed' }],
      '/streamed': [{ verb: 'hangup' }],
    })
    const [{ uuid, phone_number: to }] = (await platform.call('GET', '/open/voip/virtual-numbers')).body.numbers
    const voice = { kind: 'url', url: `${program.base}/begin` }
    const changed = await platform.call('PUT', `/open/voip/virtual-numbers/${uuid}`, { voice })
    assert.equal(changed.status, 200, JSON.stringify(changed.body))
    const handset = '+447700901252'
    const { call_id } = (await platform.call('POST', `/sandbox/handsets/${handset}/calls`, { to })).body
    const seen = async () => (await callsSeenBy(platform, handset))[0]
    const hears = (hertz: number) => until(async () => secondsOf((await seen()).tones, hertz) > 0.3)
    await hears(1_000)
    await platform.call('POST', `/sandbox/handsets/${handset}/calls/${call_id}/keys`, { digits: '5' })
    // Its own tone.
    await hears(620)
    echo.streams[0]?.socket.close(1_000)
    await until(async () => (await seen()).ended_at)
    const [, chosen, recorded, streamed] = program.received.map(({ body }) => body.result)
    assert.deepEqual([chosen?.digits, recorded?.reason, streamed?.reason], ['5', 'max_seconds', 'closed'])
    const wav = Buffer.from(await (await fetch(String(recorded?.recording_url))).arrayBuffer())
    const channels = wav.readUInt16LE(22)
    const said = Int16Array.from({ length: (wav.length - 44) / 2 / channels }, (_, i) =>
      wav.readInt16LE(44 + i * 2 * channels),
    )
    assert.ok(said.length > 7_000 && maxEnergyShare(said, 620) > 0.9, `${said.length} samples`)
  })

  test('a landline is verified by the code that its owner types in a call', async () => {
    const [path, handset] = ['/open/voip/caller-ids', '+442079460401']
    const { status, body } = await platform.call('POST', path, { phone_number: handset, method: 'call' })
    assert.equal(status, 201, JSON.stringify(body))
    const { call_id } = await until(async () => {
      const [seen] = await callsSeenBy(platform, handset)
      return seen && secondsOf(seen.tones, 440) > 0.4 ? seen : null
    })
    const keys = `/sandbox/handsets/${handset}/calls/${call_id}/keys`
    assert.equal((await platform.call('POST', keys, { digits: body.code })).body.pressed, true)
    await until(async () => {
      const { caller_ids } = (await platform.call('GET', path)).body
      return caller_ids.some((one: typeof body.caller_id) => one.uuid === body.caller_id.uuid && one.verified)
    })
    assert.equal((await platform.call('GET', `/open/voip/call/${body.call_uuid}`)).body.cdr.is_sip_trunk_call, true)
  })

  test(
    'Chromium and a trunk that names no source (a=ssrc) hear each other, also after a hold, an ICE restart and a call to the browser',
    needs('chromium'),
    async (t) => {
      const browser = await openChromium()
      t.after(() => browser.close())
      const tab = await openTab(t, browser, `${platform.url}/healthz`)
      await tab.page.addScriptTag({ url: `${platform.url}/sdk/voice.js` })
      const { token } = (await platform.call('POST', '/open/sdk/access-token', { user_uuid: ada })).body
      await tab.run(`start(${JSON.stringify({ token, logLevel: 'silent' })})`)
      const carrier = await openCarrier(t)
      await addTrunk(platform, { port: carrier.port, prefixes: ['336'] })
      const telephone = await closedAfter(t, makeTelephone())
      telephone.sendTone(620)
      const answered = async (offer: string) => {
        const own = (await telephone.answer(offer)).replace(/a=ssrc.*\r\n/, '')
        return offer.includes('sendonly') ? own.replace('sendrecv', 'recvonly') : own
      }
      const both = () => Promise.all([tab.waitForTone(620), receivesTone(telephone, 1_000)])
      await tab.run(`dial({ to: '+33612345678' })`)
      const { session } = await answer(
        await carrier.call(),
        { ...telephone, answer: answered },
        { offered: async ({ body }) => ({ status: 200, body: sdp(await answered(body.toString())) }) },
      )
      await both()
      await tab.run('call.sendDigits("159#")')
      await until(async () => telephone.digits === '159#')
      await tab.run('call.hold(true)')
      await tab.run('call.hold(false)')
      await both()
      await tab.run(
        `new Promise((done) => call.session.renegotiate({ rtcOfferConstraints: { iceRestart: true } }, done))`,
      )
      await both()
      await session.bye()
      await tab.waitForEvent('call disconnect')

      const { numbers } = (await platform.call('GET', '/open/voip/virtual-numbers')).body
      await platform.call('PUT', `/open/voip/virtual-numbers/${numbers[0].uuid}`, { inbound_user_uuid: ada })
      await platform.call('POST', '/sandbox/handsets/+447700901251/calls', { to: numbers[0].phone_number })
      await tab.waitForEvent('incoming')
      await tab.run('call.accept()')
      await tab.waitForTone(620)
      const handsetHears = async () => secondsOf((await callsSeenBy(platform, '+447700901251'))[0].tones, 1_000) > 1
      await until(handsetHears).catch(async (cause: Error) => {
        throw new Error(`the handset hears nothing: ${await tab.run('describeMedia()')}`, { cause })
      })
    },
  )
})
