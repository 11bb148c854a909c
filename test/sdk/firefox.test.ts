import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { startVoicePlatform, usersOf } from '../../src/domains/calls/call-testing.ts'
import { type FirefoxPage, openFirefox } from '../firefox.ts'
import { longForm, needs } from '../needs.ts'
import { buyNumber, until } from '../platform.ts'

// Debian's Firefox with the example of the voice SDK, on the quick start: a platform bound to loopback. Firefox pairs no loopback
// address with its own candidates. Every call there was silent until the platform offered a second address of the
// machine.

/**
 * The frequency, in hertz, of the tone that the page's call receives: zero crossings of a recording of half a second.
 * Firefox runs no AudioContext on a machine without a loudspeaker, but records and decodes there.
 */
const listening = `() => {
  let call = null
  const Connection = RTCPeerConnection
  window.RTCPeerConnection = class extends Connection {
    constructor(...settings) {
      super(...settings)
      call = this
    }
  }
  window.hertz = async () => {
    const recorder = new MediaRecorder(new MediaStream(call.getReceivers().map(({ track }) => track)))
    const recorded = new Promise((resolve) => { recorder.ondataavailable = ({ data }) => resolve(data) })
    recorder.start(500)
    const data = await recorded
    recorder.stop()
    const context = new OfflineAudioContext(1, 48_000, 48_000)
    const samples = (await context.decodeAudioData(await data.arrayBuffer())).getChannelData(0).slice(-12_000)
    const crossings = samples.filter((sample, i) => i > 0 && samples[i - 1] < -0.001 && sample >= -0.001).length
    return (crossings * 48_000) / samples.length
  }
}`

describe('Firefox with the example of the voice SDK', needs('firefox-esr'), async () => {
  const platform = await startVoicePlatform()
  after(() => platform.end())
  const { number } = await buyNumber(platform)
  const [user = ''] = await usersOf(platform)
  const firefox = await openFirefox({ after })

  const address = async (): Promise<string> => {
    const { token } = (await platform.call('POST', '/open/sdk/access-token', { user_uuid: user })).body
    return `${platform.url}/sdk/example/telephone.html#token=${token}`
  }
  const click = (id: string) => `document.querySelector('#${id}').click()`
  const is = (state: string) => `document.body.dataset.state === '${state}'`
  const handset = async () => (await platform.call('GET', '/sandbox/handsets/+447700900123')).body.calls.at(-1)

  // A busy browser may have recorded nothing yet, which cannot be decoded.
  const hearsTone = 'await hertz().then((heard) => Math.abs(heard - 620) < 12, () => false)'

  let page: FirefoxPage
  test('a call from Firefox receives the tone of 620 Hz and sends the tone of its microphone', async () => {
    page = await firefox.open(await address(), { before: listening })
    await page.sees(is('ready'))
    await page.run(`document.querySelector('#number').value = '+447700900123'; ${click('connect')}`)
    await page.sees(is('talking'))
    await page.sees(hearsTone)
    await page.run(click('hang-up'))
    await page.sees(is('ready'))
    const tones: { hertz: number; seconds: number }[] = await until(async () => {
      const call = await handset()
      return call.state === 'completed' && call.tones
    })
    assert.ok(
      tones.some(({ hertz, seconds }) => Math.abs(hertz - 1_000) < 20 && seconds > 0.5),
      JSON.stringify(tones),
    )
  })

  test('a call to Firefox receives the tone, too', async () => {
    const { numbers } = (await platform.call('GET', '/open/voip/virtual-numbers')).body
    await platform.call('PUT', `/open/voip/virtual-numbers/${numbers[0].uuid}`, { inbound_user_uuid: user })
    await platform.call('POST', '/sandbox/handsets/+447700900123/calls', { to: number })
    await page.sees(is('incoming'))
    await page.run(click('accept'))
    await page.sees(is('talking'))
    await page.sees(hearsTone)
    await page.run(click('hang-up'))
    await page.sees(is('ready'))
  })

  // A second Firefox. In Chromium each run tries it: test/console/phone.test.ts.
  test('a Firefox that offers no network address says so before the call', longForm(), async () => {
    const closed = await openFirefox({ after }, { 'media.peerconnection.ice.proxy_only': true })
    const silent = await closed.open(await address())
    await silent.sees(
      `document.querySelector('#problem').textContent.startsWith('Calls have no sound in this browser')`,
    )
  })
})
