import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { openBrowser, openPage, type PagePeer } from '../../../../test/media/page.ts'
import { makeTelephone, type Telephone } from '../../../../test/media/telephone.ts'
import { needs } from '../../../../test/needs.ts'
import { until } from '../../../../test/platform.ts'
import type { MediaCodec, MediaEngine } from '../../port.ts'
import { done, hears, listen } from '../media.conformance.ts'
import { startEmbedded } from './engine.ts'

// A real browser as it comes from Debian. Each call is made once and asked about many things: to start one takes a while.

const telephony = ['audio/pcmu', 'audio/pcma', 'audio/telephone-event']

describe('Chromium', needs('chromium'), () => {
  let browser: Browser
  let engine: MediaEngine
  const telephones: Telephone[] = []
  const faults: string[] = []

  before(async () => {
    browser = await openBrowser()
    engine = await startEmbedded({
      bind: '127.0.0.1',
      advertised: '127.0.0.1',
      rtpPorts: [0, 0],
      webrtcPorts: [0, 0],
      workers: 1,
      fault: (reason) => faults.push(reason),
    })
  })
  after(async () => {
    await browser?.close()
    await Promise.all(telephones.map((telephone) => telephone.close()))
    await engine?.close()
    assert.deepEqual(faults, [])
  })

  const pageHears = (page: PagePeer, hertz: number) =>
    until(async () => {
      const { hertz: heard, level } = await page.peak()
      return Math.abs(heard - hertz) < 12 && level > -45
    }, 60)
  const phone = async () => {
    const made = await makeTelephone()
    telephones.push(made)
    made.say(620)
    return made
  }
  const codecs: readonly MediaCodec[] = ['pcmu', 'pcma']

  test('calls a telephone: tones both ways, all sixteen keys, hold and back, an ICE restart, nothing lost', async () => {
    const { told, events } = listen()
    const call = done(await engine.openCall(events))
    const [page, telephone] = [await openPage(browser, 1_000, telephony), await phone()]
    const agent = done(await call.addLeg({ id: 'agent', kind: 'webrtc', offer: await page.offer(), codecs }))
    const trunk = done(await call.addLeg({ id: 'trunk', kind: 'rtp', offer: null, codecs }))
    done(await call.bridge(agent, trunk))
    done(await trunk.accept(await telephone.answer(done(await trunk.describe()))))
    await page.accept(done(await agent.describe()))
    await Promise.all([pageHears(page, 620), hears(telephone, 1_000)])

    await page.press('0123456789*#ABCD')
    await until(async () => telephone.digits.length >= 16 && told.digits.length >= 16)
    assert.equal(telephone.digits, '0123456789*#ABCD')
    assert.deepEqual(told.digits.join(''), [...'0123456789*#ABCD'].map((digit) => `agent ${digit}`).join(''))

    const renegotiate = async (options = {}) => page.accept(done(await agent.renegotiate(await page.offer(options))))
    await page.direct('sendonly')
    await renegotiate()
    await until(async () => {
      const [heard, spoken] = [(await page.stats()).received, telephone.sent]
      await until(async () => telephone.sent > spoken + 25)
      return (await page.stats()).received === heard
    })
    await page.direct('sendrecv')
    await renegotiate()
    await pageHears(page, 620)

    await renegotiate({ iceRestart: true })
    await Promise.all([pageHears(page, 620), hears(telephone, 1_000)])
    // A browser counts anew after a hold: so both are counted from here. They are asked one after the other, so nothing is said meanwhile.
    const agentLeg = async () => done(await call.stats()).find(({ leg }) => leg === 'agent')
    const ahead = async () => ((await agentLeg())?.sent.packets ?? 0) - (await page.stats()).received
    telephone.say(null)
    const before = await until(async () => {
      const looks = [await ahead()]
      while (looks.length < 10) looks.push(await new Promise((resolve) => setTimeout(() => resolve(ahead()), 25)))
      return new Set(looks).size === 1 && { ahead: looks[0] ?? 0 }
    })
    const said = telephone.sent
    telephone.say(620)
    await until(async () => (await agentLeg())?.roundTripMs !== null && telephone.sent > said + 50)
    telephone.say(null)
    await until(async () => Math.abs((await ahead()) - before.ahead) < 5)
    const stats = await page.stats()
    assert.deepEqual([stats.state, stats.codec, stats.lost], ['connected', 'audio/PCMU', 0])
    assert.equal(telephone.sequences.length, new Set(telephone.sequences).size)
    assert.deepEqual(told.connected.toSorted(), ['agent', 'trunk'])
    await call.close()
    await page.close()
  })

  test('is called by a telephone', async () => {
    const call = done(await engine.openCall(listen().events))
    const [page, telephone] = [await openPage(browser, 1_000, telephony), await phone()]
    const trunk = done(await call.addLeg({ id: 'trunk', kind: 'rtp', offer: await telephone.offer(), codecs }))
    const agent = done(await call.addLeg({ id: 'agent', kind: 'webrtc', offer: null, codecs }))
    done(await call.bridge(trunk, agent))
    done(await agent.accept(await page.answer(done(await agent.describe()))))
    await telephone.accept(done(await trunk.describe()))
    await Promise.all([pageHears(page, 620), hears(telephone, 1_000)])
    await call.close()
    await page.close()
  })

  test('calls another one by Opus', async () => {
    const call = done(await engine.openCall(listen().events))
    const pages = [
      await openPage(browser, 1_000, ['audio/opus']),
      await openPage(browser, 620, ['audio/opus']),
    ] as const
    const wish = { kind: 'webrtc', codecs: ['opus', 'pcmu', 'pcma'] } as const
    const caller = done(await call.addLeg({ id: 'caller', offer: await pages[0].offer(), ...wish }))
    const callee = done(await call.addLeg({ id: 'callee', offer: null, ...wish }))
    done(await call.bridge(caller, callee))
    done(await callee.accept(await pages[1].answer(done(await callee.describe()))))
    await pages[0].accept(done(await caller.describe()))
    await Promise.all([pageHears(pages[0], 620), pageHears(pages[1], 1_000)])
    for (const page of pages) assert.equal((await page.stats()).codec, 'audio/opus')
    assert.deepEqual(
      done(await call.stats()).map(({ codec }) => codec),
      ['opus', 'opus'],
    )
    await call.close()
    for (const page of pages) await page.close()
  })
})
