import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { usersOf } from '../../src/domains/calls/call-testing.ts'
import { makeEphemeral } from '../../src/domains/devices/ops.ts'
import { wholeChromium } from '../chromium.ts'
import { freePort, type ProgramOwner, runProgram } from '../counterparts/program.ts'
import { needs } from '../needs.ts'
import { buyNumber, type Platform, startPlatform, until } from '../platform.ts'
import { openChromium, openTab } from '../sdk/tab.ts'
import { temporaryFolder } from '../servers.ts'
import { callsSeenBy, endedCall, freePortSettings, secondsOf } from './voice-fixture.ts'

// A browser whose network reaches only a TURN server: coturn, configured as docs/operating/calls.md says.

const secret = 'a secret that coturn and we share'

/** Starts coturn on the loopback. @returns its port */
const startCoturn = async (t: ProgramOwner): Promise<number> => {
  const [port, folder] = [await freePort(), temporaryFolder()]
  const options = [
    ...['--use-auth-secret', `--static-auth-secret=${secret}`, '--realm=turn.test', '--fingerprint', '--no-cli'],
    // Relays only to the platform, as the manual recommends.
    ...['--denied-peer-ip=0.0.0.0-255.255.255.255', '--allowed-peer-ip=127.0.0.1', '--allow-loopback-peers'],
    ...[`--listening-port=${port}`, '--listening-ip=127.0.0.1', '--relay-ip=127.0.0.1', '--relay-threads=1'],
    ...['-n', '--no-tls', '--no-dtls', '--log-file=stdout', `--userdb=${folder}/users`, `--pidfile=${folder}/pid`],
  ]
  await runProgram(t, ['turnserver', ...options], folder).listens(port)
  return port
}

/** Restricts a page to relay candidates. */
const relayOnly = `
  window.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(configuration) { super({ ...configuration, iceTransportPolicy: 'relay' }) }
  }
`

/** Requests a relay as a call would. @returns the candidate's type, or the server's refusal code */
const gather = (servers: object[]) => `(async () => {
  const connection = new RTCPeerConnection({ iceServers: ${JSON.stringify(servers)} })
  connection.addTransceiver('audio')
  const found = new Promise((resolve) => {
    connection.onicecandidate = ({ candidate }) => { if (candidate?.type) resolve(candidate.type) }
    // 701 means unreachable from one of the interfaces; another interface may succeed.
    connection.onicecandidateerror = ({ errorCode }) => { if (errorCode !== 701) resolve(errorCode) }
    connection.onicegatheringstatechange = () => { if (connection.iceGatheringState === 'complete') resolve(701) }
  })
  await connection.setLocalDescription()
  const told = await found
  connection.close()
  return told
})()`

const skip = needs('chromium').skip || needs('turnserver').skip

describe('a browser that reaches only a TURN server', { skip }, () => {
  const endings: (() => Promise<void>)[] = []
  let platform: Platform
  let browser: Browser
  before(async () => {
    const port = await startCoturn({ after: (end) => void endings.push(end) })
    const urls = ['udp', 'tcp'].map((transport) => `turn:127.0.0.1:${port}?transport=${transport}`)
    const turn = { TRUNKLINE_TURN_URLS: urls.join(','), TRUNKLINE_TURN_SECRET: secret }
    platform = await startPlatform(undefined, { ...freePortSettings, ...turn })
    browser = await openChromium(wholeChromium)
  })
  after(async () => {
    await browser?.close()
    await platform?.end()
    for (const end of endings) await end()
  })

  test('calls through the relay with its issued credentials, and both sides hear each other', async (t) => {
    const { url, call } = platform
    await buyNumber(platform)
    const [user] = await usersOf(platform)
    const { token } = (await call('POST', '/open/sdk/access-token', { user_uuid: user })).body
    const tab = await openTab(t, browser, `${url}/healthz`)
    await tab.run(relayOnly)
    await tab.page.addScriptTag({ url: `${url}/sdk/voice.js` })
    await tab.run(`start(${JSON.stringify({ token, logLevel: 'silent' })})`)
    await tab.run(`dial({ to: '+447700900321' })`)
    await tab.waitForTone(620)
    const pair = await tab.run<{ type: string; way: string; received: number }>(`
      call.session.connection.getStats().then((report) => {
        const { selectedCandidatePairId } = [...report.values()].find(({ type }) => type === 'transport')
        const { localCandidateId, packetsReceived } = report.get(selectedCandidatePairId)
        const { candidateType, relayProtocol } = report.get(localCandidateId)
        return { type: candidateType, way: relayProtocol, received: packetsReceived }
      })`)
    assert.deepEqual([pair.type, pair.way], ['relay', 'udp'])
    assert.ok(pair.received > 0)
    await until(async () => (await callsSeenBy(platform, '+447700900321')).length === 1)
    // Long enough for the far end to receive a second of sound.
    await until(() =>
      tab.run<boolean>(`call.session.connection.getStats().then((report) =>
      [...report.values()].find(({ type }) => type === 'outbound-rtp').packetsSent > 150)`),
    )
    await tab.run('call.disconnect()')
    await endedCall(platform)
    const heard = await until(async () => {
      const { state, tones } = (await callsSeenBy(platform, '+447700900321')).at(-1)
      return state === 'completed' ? tones : null
    })
    assert.ok(secondsOf(heard, 1_000) > 1, JSON.stringify(heard))
  })

  test('gets a relay over TCP too, and none with expired or forged credentials', async (t) => {
    const { url, call } = platform
    const [user = ''] = await usersOf(platform)
    const { token } = (await call('POST', '/open/sdk/access-token', { user_uuid: user })).body
    const given = await call('POST', '/open/sdk/credentials', {}, { authorization: `Bearer ${token}` })
    const [server] = given.body.ice_servers
    assert.deepEqual(Object.keys(server), ['urls', 'username', 'credential'])
    const tab = await openTab(t, browser, `${url}/healthz`)
    await tab.run(relayOnly)
    const [udp, tcp] = server.urls
    const ask = (urls: string, { username, password }: { username: string; password: string }) =>
      tab.run<string | number>(gather([{ urls, username, credential: password }]))
    const { username, credential: password } = server
    for (const urls of [udp, tcp]) assert.equal(await ask(urls, { username, password }), 'relay')
    const ended = makeEphemeral(secret, user, new Date(Date.now() - 60_000))
    assert.equal(await ask(udp, ended), 401)
    assert.equal(await ask(udp, makeEphemeral('another secret', user, new Date(Date.now() + 60_000))), 401)
    // Another user's name, and a longer lifetime, under this user's password.
    assert.equal(await ask(udp, { username: username.replace(/^\d+/, '9999999999'), password }), 401)
  })
})
