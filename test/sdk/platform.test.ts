import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { energyShare, maxEnergyShare } from '../../src/adapters/media/tone-testing.ts'
import { answer, closedAfter, openCarrier, receivesTone, sdp } from '../../src/adapters/sip-gateway/testing.ts'
import { startVoicePlatform, usersOf } from '../../src/domains/calls/call-testing.ts'
import { makeTelephone } from '../media/telephone.ts'
import { longForm, needs } from '../needs.ts'
import { buyNumber, until } from '../platform.ts'
import { addTrunk, duplicatePackets, openBrowserUser, openTenant } from '../voice/voice-fixture.ts'
import { relayTcp, relayUdp } from './relay.ts'
import { openChromium, openTab, type Tab } from './tab.ts'

// Against the whole program: the example of the SDK, and the promises of the SDK. Sandbox handsets behind a
// trunk are the far end.

const isLong = process.env.TRUNKLINE_TEST_LONG === '1'

describe('the voice SDK and its example', needs('chromium'), () => {
  let platform: Awaited<ReturnType<typeof startVoicePlatform>>
  let browser: Browser
  let page: Page

  before(async () => {
    platform = await startVoicePlatform()
    browser = await openChromium()
    page = await browser.newPage({ viewport: { width: 1100, height: 900 } })
    page.setDefaultTimeout(60_000)
    page.on('pageerror', (error) => assert.fail(error))
  })
  after(async () => {
    await browser?.close()
    await platform?.end()
  })

  const says = (text: string) => page.getByRole('status').getByText(text, { exact: true }).waitFor()
  const click = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const newest = () =>
    until(async () => {
      const [cdr] = (await platform.call('GET', '/open/voip/call-history')).body.cdrs
      return cdr && !cdr.active ? cdr : null
    })

  test('a link with a token opens a telephone that calls a handset, and the call has its cost', async () => {
    await buyNumber(platform)
    const [user = ''] = await usersOf(platform)
    await page.goto(`${platform.url}/sdk/example/telephone.html#token=${await mint(user)}`)
    await page.getByLabel('Number').fill('+447700900123')
    await click('Call')
    await says('In call')
    await until(async () => (await handset('+447700900123')).state === 'answered')
    await click('Hang up')
    const cdr = await newest()
    assert.deepEqual([cdr.status, cdr.to_number, cdr.direction], ['COMPLETED', '+447700900123', 'O'])
    assert.ok(cdr.call_cost.call_price > 0)
  })

  test('a busy handset is reported as busy', async () => {
    await page.getByLabel('Number').fill('+447700900004')
    await click('Call')
    await says('+447700900004 is busy.')
    assert.equal((await newest()).status, 'BUSY')
  })

  test('a call of a handset rings in the page, and can be accepted', async () => {
    const [user = ''] = await usersOf(platform)
    const { numbers } = (await platform.call('GET', '/open/voip/virtual-numbers')).body
    await platform.call('PUT', `/open/voip/virtual-numbers/${numbers[0].uuid}`, { inbound_user_uuid: user })
    await platform.call('POST', '/sandbox/handsets/+447700900123/calls', { to: numbers[0].phone_number })
    await says('Incoming call')
    await click('Accept')
    await says('In call')
    // A caller who hangs up before receiving the answer has not talked.
    await until(async () => (await handset('+447700900123')).state === 'answered')
    await click('Hang up')
    const cdr = await newest()
    assert.deepEqual([cdr.status, cdr.from, cdr.direction], ['COMPLETED', '+447700900123', 'I'])
  })

  /** A customer's page with the SDK as a module. */
  const open = async (t: TestContext, registers: string[] = []): Promise<Tab> => {
    const tab = await openTab(t, browser, `${platform.url}/healthz`, registers)
    await tab.run(`import('/sdk/voice.mjs').then((module) => { window.Trunkline = module })`)
    return tab
  }
  const mint = async (user: string, ttl = 3_600): Promise<string> =>
    (await platform.call('POST', '/open/sdk/access-token', { user_uuid: user, ttl })).body.token
  const start = (tab: Tab, token: string, more = {}) =>
    tab.run<string>(`attempt(start(${JSON.stringify({ token, logLevel: 'silent', ...more })}))`)
  const handset = async (number: string) =>
    (await platform.call('GET', `/sandbox/handsets/${number}`)).body.calls.at(-1)

  test('a call of the SDK carries both tones and the keys, sends a packet every 20 ms, and can be held', async (t) => {
    const [ada = ''] = await usersOf(platform)
    const tab = await open(t)
    assert.equal(await start(tab, 'junk'), 'VoiceError TOKEN_INVALID')
    const forged = (await mint(ada)).replace(/[^.]+$/, 'A'.repeat(86))
    assert.equal(await start(tab, forged), 'VoiceError TOKEN_INVALID')
    assert.equal(await start(tab, await mint(ada)), 'done')
    const asked = performance.now()
    await tab.run(`dial({ to: '+447700900321', headers: { Record: 'true' } })`)
    await tab.run(`call.on('accepted', () => { window.began = performance.now() })`)
    await tab.waitForEvent('call ringing')
    t.diagnostic(`it rang ${Math.round(performance.now() - asked)} ms after it was dialled`)
    await tab.waitForEvent('call accepted')
    await tab.waitForTone(620)
    const heardAt = performance.now()
    await tab.run(`call.sendDigits('0123456789*#ABCD')`)
    await until(async () => (await handset('+447700900321')).digits.length >= 16)
    assert.equal((await handset('+447700900321')).digits, '0123456789*#ABCD')
    type Count = { at: number; sent: number; received: number; lost: number }
    const count = () =>
      tab.run<Count>(`call.session.connection.getStats().then((report) => {
        const all = [...report.values()]
        const { packetsReceived, packetsLost, timestamp } = all.find(({ type }) => type === 'inbound-rtp')
        const { packetsSent } = all.find(({ type }) => type === 'outbound-rtp')
        return { at: timestamp / 1000, sent: packetsSent, received: packetsReceived, lost: packetsLost }
      })`)
    const first = await count()
    const enough = isLong ? 1_000 : 150
    await until(async () => (await count()).received > first.received + enough)
    const last = await count()
    const due = 50 * (last.at - first.at)
    // A busy machine sends late, and then two packets at once.
    const slack = isLong ? 0.02 : 0.2
    for (const way of ['sent', 'received'] as const)
      assert.ok(Math.abs(last[way] - first[way] - due) <= slack * due, `${last[way] - first[way]} ${way}, due ${due}`)
    assert.equal(last.lost, 0)
    await tab.run('call.hold(true)')
    await tab.run('call.hold(false)')
    await tab.waitForTone(620)
    const least = (performance.now() - heardAt) / 1_000
    const talked = (await tab.run<number>('(call.disconnect(), performance.now() - began)')) / 1_000
    await tab.waitForEvent('call disconnect')
    const cdr = await newest()
    const most = (performance.now() - asked) / 1_000
    assert.deepEqual([cdr.status, cdr.to_number], ['COMPLETED', '+447700900321'])
    const heard = await until(async () => {
      const { state, tones } = await handset('+447700900321')
      return state === 'completed' ? (tones as { hertz: number; seconds: number }[]) : null
    })
    assert.ok(
      heard.some(({ hertz, seconds }) => Math.abs(hertz - 1_000) < 20 && seconds > 1),
      JSON.stringify(heard),
    )

    const { recording_url: url } = await newest()
    const wav = Buffer.from(await (await fetch(url)).arrayBuffer())
    const frames = (wav.length - 44) / 4
    // A busy machine learns of both ends late: it then reports at least the certain duration, and at most the whole
    // one.
    const seconds = frames / 8_000
    assert.ok(seconds > least - 0.5 && seconds < most + 0.5, `${seconds} s, ${least} to ${most}`)
    if (isLong) assert.ok(Math.abs(seconds - talked) < 0.5, `${seconds} s of ${talked}`)
    const side = (offset: number) => Int16Array.from({ length: frames }, (_, i) => wav.readInt16LE(44 + i * 4 + offset))
    assert.ok(maxEnergyShare(side(0), 1_000) > 0.9, 'the agent is on the left')
    assert.ok(maxEnergyShare(side(2), 620) > 0.9, 'the far end is on the right')
    const { tenant } = await openTenant(platform)
    assert.equal((await tenant.call('GET', `/open/voip/call-history/${cdr.uuid}`)).status, 404)
    for (const [from, to] of [
      [/signature=../, 'signature=xx'],
      [/until=\d+/, 'until=1'],
      [/account=[^&]+/, `account=${(await tenant.call('GET', '/open/info')).body.account.uuid.slice(3)}`],
    ] as const)
      assert.equal((await fetch(url.replace(from, to))).status, 404, to)
  })

  test('users of the account call each other by Opus, and by G.711 where the call is recorded', async (t) => {
    const [ada = '', grace = ''] = await usersOf(platform)
    const [caller, callee] = [await open(t), await open(t)]
    for (const [tab, user] of [[caller, ada] as const, [callee, grace] as const])
      assert.equal(await start(tab, await mint(user)), 'done')
    for (const [times, codec, headers] of [
      [1, 'audio/opus', {}] as const,
      [2, 'audio/PCMU', { Record: 'true' }] as const,
    ]) {
      await caller.run(`quality = null; dial(${JSON.stringify({ to: grace, headers })})`)
      await callee.waitForEvent('incoming', times)
      await callee.run('quality = null; call.accept()')
      await Promise.all([caller.waitForTone(1_000), callee.waitForTone(1_000)])
      for (const tab of [caller, callee])
        assert.equal((await until(() => tab.run<{ codec: string } | null>('quality'))).codec, codec)
      await callee.run('call.disconnect()')
      await caller.waitForEvent('call disconnect', times)
      const cdr = await newest()
      assert.partialDeepStrictEqual(cdr, { to_number: grace, is_sip_trunk_call: false, call_cost: { call_price: 0 } })
      assert.equal('recording_url' in cdr, codec === 'audio/PCMU')
      if (cdr.recording_url) assert.equal((await fetch(cdr.recording_url)).headers.get('content-type'), 'audio/wav')
    }
  })

  test('a token is replaced in place during a call; a second tab then takes the calls, and the first does not take them back', async (t) => {
    const [, grace = ''] = await usersOf(platform)
    const registers: string[] = []
    const tab = await open(t, registers)
    assert.equal(await start(tab, await mint(grace, 60), { tokenExpiryLeadMs: 58_000 }), 'done')
    await tab.run(`dial({ to: '+447700900321' })`)
    await tab.waitForTone(620)
    const sent = registers.length
    const update = async (user: string) =>
      tab.run(`attempt(device.updateToken(${JSON.stringify(await mint(user, 60))}))`)
    await tab.waitForEvent('tokenWillExpire')
    assert.equal(await update(grace), 'done')
    await tab.waitForEvent('tokenWillExpire', 2)
    const [ada = ''] = await usersOf(platform)
    assert.equal(await update(ada), 'VoiceError AUTH_ERROR')
    assert.equal(registers.length, sent)
    await tab.waitForTone(620)

    const stubborn = await openBrowserUser(t, platform, grace)
    assert.match(await stubborn.register(), /^200/)
    const second = await open(t)
    assert.equal(await start(second, await mint(grace)), 'done')
    assert.equal(await until(async () => stubborn.web.code), 4001)
    for (let attempt = 0; attempt < 5; attempt++) {
      await stubborn.web.connect()
      assert.match(await stubborn.register(), /^403/)
      stubborn.web.cut()
    }
    await tab.run('call.disconnect()')
    assert.deepEqual(await tab.waitForEvent('unregistered'), { reason: 'replaced' })
    const { numbers } = (await platform.call('GET', '/open/voip/virtual-numbers')).body
    await platform.call('PUT', `/open/voip/virtual-numbers/${numbers[0].uuid}`, { inbound_user_uuid: grace })
    await platform.call('POST', '/sandbox/handsets/+447700900321/calls', { to: numbers[0].phone_number })
    assert.equal(await second.waitForEvent('incoming'), '+447700900321')
    await second.run('call.accept()')
    await second.waitForTone(620)
    assert.deepEqual([(await tab.events('incoming')).length, (await tab.events('unregistered')).length], [0, 1])
    assert.equal(registers.length, sent)
    assert.equal(stubborn.web.calls.length, 0)
    await platform.call('PATCH', `/operator/users/${grace}`, { status: 'SUSPENDED' })
    assert.deepEqual(await second.waitForEvent('unregistered'), { reason: 'suspended' })
    await second.waitForEvent('call disconnect')
    assert.equal((await newest()).end_reason, 'suspended')
    assert.equal(await second.run('attempt(device.register())'), 'VoiceError AUTH_ERROR')
    await platform.call('PATCH', `/operator/users/${grace}`, { status: 'ACTIVE' })
  })

  /** A call of a tab's to a telephone behind a trunk of its own. */
  const talk = async (t: TestContext, tab: Tab, prefix: string) => {
    const carrier = await openCarrier(t)
    await addTrunk(platform, { port: carrier.port, prefixes: [prefix] })
    const telephone = await closedAfter(t, makeTelephone())
    telephone.sendTone(620)
    await tab.run(`dial({ to: '+${prefix}12345678' })`)
    const { session, ends } = await answer(await carrier.call(), telephone, {
      offered: async ({ body }) => {
        const own = await telephone.answer(body.toString())
        return { status: 200, body: sdp(own.replace('sendrecv', body.includes('sendonly') ? 'recvonly' : 'sendrecv')) }
      },
    })
    await Promise.all([tab.waitForTone(620), receivesTone(telephone, 1_000)])
    return { telephone, session, ends }
  }
  /** A tab of a user, whose connection to the server goes over a network that can be cut. */
  const openFar = async (t: TestContext, user: string) => {
    const [tab, network] = [await open(t), await relayTcp(t, Number(new URL(platform.url).port))]
    await tab.run(`window.WebSocket = class extends WebSocket {
      constructor(url, protocol) { super(url.replace(/:\\d+/, ':${network.port}'), protocol) }
    }`)
    assert.equal(await start(tab, await mint(user)), 'done')
    return { tab, network }
  }
  const lost = (tab: Tab) =>
    tab.run<number>(`call.session.connection.getStats().then((report) =>
      [...report.values()].find(({ type }) => type === 'inbound-rtp').packetsLost)`)

  /**
   * Simulates a change of network: the page's sound is lost for a while.
   * @param isAway whether its connection to the server breaks, too
   */
  const move = async (t: TestContext, user: string, prefix: string, isAway: boolean) => {
    const { tab, network } = await openFar(t, user)
    const sound = await relayUdp(t)
    await tab.page.exposeFunction('reach', sound.toward)
    await tab.run(`(() => {
      window.detour = ${sound.port}
      const set = RTCPeerConnection.prototype.setRemoteDescription
      RTCPeerConnection.prototype.setRemoteDescription = function ({ type, sdp }) {
        const port = /^m=audio (\\d+)/m.exec(sdp)[1]
        reach(Number(port))
        // The relay must be the only path: the second address of a platform on loopback would be another.
        const alone = sdp.replace(/^a=candidate:2 .*\\r\\n/m, '')
        return set.call(this, { type, sdp: detour ? alone.replaceAll(' ' + port + ' ', ' ' + detour + ' ') : sdp })
      }
    })()`)
    const { telephone, session } = await talk(t, tab, prefix)
    await tab.run(`(() => {
      detour = null
      window.states = []
      const { connection } = call.session
      connection.addEventListener('iceconnectionstatechange', () => states.push(connection.iceConnectionState))
    })()`)
    const states = () => tab.run<string[]>('states')
    sound.cut()
    if (isAway) {
      const said = telephone.sent
      network.cut()
      await until(async () => telephone.sent > said + 20 * 50, 60)
      network.mend()
      await tab.waitForEvent('reconnected')
    }
    await until(() => tab.run('window.quality?.lossPercent === 100 && quality.mos < 1.5'))
    await until(
      async () =>
        (await states()).includes('disconnected') && /^(?:connected|completed)$/.test((await states()).at(-1) ?? ''),
      60,
    )
    await Promise.all([tab.waitForTone(620), receivesTone(telephone, 1_000)])
    assert.equal(duplicatePackets(telephone), 0)
    await session.bye()
    await tab.waitForEvent('call disconnect')
  }

  const away = async (t: TestContext) => {
    const [ada = ''] = await usersOf(platform)
    const { tab, network } = await openFar(t, ada)
    const { ends } = await talk(t, tab, '338')
    network.cut()
    await until(async () => ends.length === 1, 60)
    assert.partialDeepStrictEqual(await newest(), { end_reason: 'interrupted' })
    network.mend()
    await tab.waitForEvent('reconnected')
    assert.partialDeepStrictEqual(await tab.waitForEvent('call disconnect'), { reason: 'lost' })
  }
  test('a browser that is away for more than 30 s has left the call, and learns of it on return', longForm(), away)

  describe('where networks break', { concurrency: true }, () => {
    test('hold, device changes and a connection cut of 5 s work without a gap, and both sides learn of the end', async (t) => {
      const [ada = ''] = await usersOf(platform)
      const { tab, network } = await openFar(t, ada)
      const { telephone, session } = await talk(t, tab, '336')
      await tab.run('call.hold(true)')
      const [heard, said] = [telephone.samples.length, telephone.sent]
      await until(async () => telephone.sent > said + 50)
      const isQuiet =
        telephone.samples.length < heard + 2_000 || energyShare(telephone.samples.slice(-2_000), 1_000) < 0.1
      assert.ok(isQuiet, 'a held call is not heard')
      await tab.run('call.hold(false)')
      await Promise.all([tab.waitForTone(620), receivesTone(telephone, 1_000)])

      await tab.run(`navigator.mediaDevices.enumerateDevices().then(async (all) => {
        const last = (kind) => all.findLast((device) => device.kind === kind).deviceId
        await call.setInputDevice(last('audioinput'))
        await call.setOutputDevice(last('audiooutput'))
      })`)
      await Promise.all([tab.waitForTone(620), receivesTone(telephone, 1_000)])

      const from = telephone.received
      network.cut()
      await tab.waitForEvent('reconnecting')
      await until(async () => telephone.received > from + 5 * 50)
      const [first = 0, ...others] = telephone.sequences.slice(from)
      assert.ok(others.every((sequence, i) => sequence === ((first + i + 1) & 0xffff)))
      network.mend()
      await tab.waitForEvent('reconnected')
      await Promise.all([tab.waitForTone(620), receivesTone(telephone, 1_000)])
      assert.equal(await lost(tab), 0)
      assert.equal(duplicatePackets(telephone), 0)
      await session.bye()
      assert.partialDeepStrictEqual(await tab.waitForEvent('call disconnect'), { reason: 'hangup', by: 'remote' })
      for (const what of ['reconnecting', 'reconnected']) assert.equal((await tab.events(what)).length, 1, what)
    })

    test('a call whose media path breaks finds another one', async (t) => {
      const [, grace = ''] = await usersOf(platform)
      await move(t, grace, '337', false)
    })
  })

  const far = async (t: TestContext) => {
    const [ada = ''] = await usersOf(platform)
    await move(t, ada, '339', true)
  }
  test('a call survives twenty seconds without any network', longForm(), far)
})
