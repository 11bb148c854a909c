import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { openBrowser, openPage, type PagePeer } from '../../../../test/media/page-peer.ts'
import { makeTelephone, type Telephone } from '../../../../test/media/telephone.ts'
import { needs } from '../../../../test/needs.ts'
import { until } from '../../../../test/platform.ts'
import type { MediaCodec, MediaEngine } from '../../../ports/media.ts'
import { logEvents, unwrap, waitForTone } from '../media.conformance.ts'
import { startEmbedded } from './embedded-engine.ts'
import { loopback } from './embedded-testing.ts'

// Debian's Chromium. Each call covers several checks, as starting a call takes a while.

const telephony = ['audio/pcmu', 'audio/pcma', 'audio/telephone-event']

describe('Chromium', needs('chromium'), () => {
  let browser: Browser
  let engine: MediaEngine
  const telephones: Telephone[] = []
  const faults: string[] = []

  before(async () => {
    browser = await openBrowser()
    engine = await startEmbedded({
      ...loopback,
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
    const telephone = await makeTelephone()
    telephones.push(telephone)
    telephone.sendTone(620)
    return telephone
  }
  const codecs: readonly MediaCodec[] = ['pcmu', 'pcma']

  test('calls a telephone: tones both ways, all sixteen keys, hold and back, an ICE restart, nothing lost', async () => {
    const { log, events } = logEvents()
    const call = unwrap(await engine.openCall(events))
    const [page, telephone] = [await openPage(browser, 1_000, telephony), await phone()]
    const agent = unwrap(await call.addLeg({ id: 'agent', kind: 'webrtc', offer: await page.offer(), codecs }))
    const trunk = unwrap(await call.addLeg({ id: 'trunk', kind: 'rtp', offer: null, codecs }))
    unwrap(await call.bridge(agent, trunk))
    unwrap(await trunk.accept(await telephone.answer(unwrap(await trunk.describe()))))
    await page.accept(unwrap(await agent.describe()))
    await Promise.all([pageHears(page, 620), waitForTone(telephone, 1_000)])

    await page.press('0123456789*#ABCD')
    await until(async () => telephone.digits.length >= 16 && log.digits.length >= 16)
    assert.equal(telephone.digits, '0123456789*#ABCD')
    assert.deepEqual(log.digits.join(''), [...'0123456789*#ABCD'].map((digit) => `agent ${digit}`).join(''))

    const renegotiate = async (options = {}) => page.accept(unwrap(await agent.renegotiate(await page.offer(options))))
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
    await Promise.all([pageHears(page, 620), waitForTone(telephone, 1_000)])
    // A browser restarts its counters after a hold, so both sides are counted from here, in silence.
    const agentLeg = async () => unwrap(await call.stats()).find(({ leg }) => leg === 'agent')
    const ahead = async () => ((await agentLeg())?.sent.packets ?? 0) - (await page.stats()).received
    telephone.sendTone(null)
    const before = await until(async () => {
      const looks = [await ahead()]
      while (looks.length < 10) looks.push(await new Promise((resolve) => setTimeout(() => resolve(ahead()), 25)))
      return new Set(looks).size === 1 && { ahead: looks[0] ?? 0 }
    })
    const said = telephone.sent
    telephone.sendTone(620)
    await until(async () => (await agentLeg())?.roundTripMs !== null && telephone.sent > said + 50)
    telephone.sendTone(null)
    await until(async () => Math.abs((await ahead()) - before.ahead) < 5)
    const stats = await page.stats()
    assert.deepEqual([stats.state, stats.codec, stats.lost], ['connected', 'audio/PCMU', 0])
    assert.equal(telephone.sequences.length, new Set(telephone.sequences).size)
    assert.deepEqual(log.connected.toSorted(), ['agent', 'trunk'])
    await call.close()
    await page.close()
  })

  test('answers a call of a telephone', async () => {
    const call = unwrap(await engine.openCall(logEvents().events))
    const [page, telephone] = [await openPage(browser, 1_000, telephony), await phone()]
    const trunk = unwrap(await call.addLeg({ id: 'trunk', kind: 'rtp', offer: await telephone.offer(), codecs }))
    const agent = unwrap(await call.addLeg({ id: 'agent', kind: 'webrtc', offer: null, codecs }))
    unwrap(await call.bridge(trunk, agent))
    unwrap(await agent.accept(await page.answer(unwrap(await agent.describe()))))
    await telephone.accept(unwrap(await trunk.describe()))
    await Promise.all([pageHears(page, 620), waitForTone(telephone, 1_000)])
    await call.close()
    await page.close()
  })

  test('calls another Chromium with Opus', async () => {
    const call = unwrap(await engine.openCall(logEvents().events))
    const pages = [
      await openPage(browser, 1_000, ['audio/opus']),
      await openPage(browser, 620, ['audio/opus']),
    ] as const
    const legOptions = { kind: 'webrtc', codecs: ['opus', 'pcmu', 'pcma'] } as const
    const caller = unwrap(await call.addLeg({ id: 'caller', offer: await pages[0].offer(), ...legOptions }))
    const callee = unwrap(await call.addLeg({ id: 'callee', offer: null, ...legOptions }))
    unwrap(await call.bridge(caller, callee))
    unwrap(await callee.accept(await pages[1].answer(unwrap(await callee.describe()))))
    await pages[0].accept(unwrap(await caller.describe()))
    await Promise.all([pageHears(pages[0], 620), pageHears(pages[1], 1_000)])
    for (const page of pages) assert.equal((await page.stats()).codec, 'audio/opus')
    assert.deepEqual(
      unwrap(await call.stats()).map(({ codec }) => codec),
      ['opus', 'opus'],
    )
    await call.close()
    for (const page of pages) await page.close()
  })
})
