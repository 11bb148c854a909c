import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { DigestServer } from '@trunkline/sip/digest/digest-server.ts'
import { header, type SipRequest } from '@trunkline/sip/message.ts'
import type { ResponseOptions } from '@trunkline/sip/response.ts'
import { realTimers, type Timers } from '@trunkline/sip/timers.ts'
import type { Transport } from '@trunkline/sip/transport/flow.ts'
import { openTcp } from '@trunkline/sip/transport/tcp.ts'
import type { RequestOptions } from '@trunkline/sip/user-agent/request.ts'
import { defaultHandlers, noSessionEvents, openAgent, until } from '@trunkline/sip/user-agent/testing.ts'
import { certificate } from '../../../../test/certificate.ts'
import { makeSoftphone } from '../../../../test/media/softphone.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { needs } from '../../../../test/needs.ts'
import {
  answer,
  closedAfter,
  dial,
  fromBrowser,
  mediaFlow,
  openMedia,
  openWorld,
  outcomeText,
  toCarrier,
  trunkOf,
} from '../testing.ts'
import { fromTrunkNumber, toTrunkNumber } from './number-format.ts'

const media = await openMedia()
after(() => media.close())

for (const transport of ['udp', 'tcp'] as const)
  test(`over ${transport}, a trunk that requires a password gets it for registrations and calls`, async (t) => {
    const { gateway, browser, callControl } = await openWorld(t, toCarrier, { media })
    const digest = new DigestServer({ realm: 'carrier.test', secret: 's', now: Date.now })
    const isKnown = (request: SipRequest): boolean => {
      const claim = digest.claim(request)
      return claim?.username === 'acme' && digest.verify(request, claim, 'pass') === 'good'
    }
    const challenge = (): ResponseOptions => ({
      status: 401,
      headers: digest.challenge().map((value) => ['WWW-Authenticate', value] as const),
    })
    const contacts: string[] = []
    const carrier = await openAgent(t, {
      handlers: {
        ...defaultHandlers,
        onRegister: (request) => {
          if (!isKnown(request)) return challenge()
          contacts.push(header(request, 'Contact') ?? '')
          return { status: 200, headers: [['Contact', `${contacts.at(-1)};expires=300`]] }
        },
        onInvite: async (call) => {
          if (!isKnown(call.invite)) call.refuse(challenge())
          else await answer(call, telephone)
        },
      },
    })
    const telephone = await closedAfter(t, makeTelephone())
    const settings = { username: 'acme', password: 'pass', register: true, transport } as const
    await gateway.apply([trunkOf(carrier[transport], settings)])
    await until(() => gateway.trunk('carrier')?.registered)
    assert.equal(contacts.length, 1)
    const caller = await browser('ANN')
    const softphone = await closedAfter(t, makeSoftphone())
    const { dialled } = await dial(caller, fromBrowser(caller), softphone)
    const session = await until(() => dialled.session)
    await mediaFlow(softphone)
    await session.bye()

    await gateway.apply([trunkOf(carrier[transport], { ...settings, password: 'wrong' })])
    await until(() => gateway.trunk('carrier')?.lastError)
    assert.equal(gateway.trunk('carrier')?.registered, false)
    const { dialled: refused } = await dial(caller, fromBrowser(caller), await closedAfter(t, makeSoftphone()))
    // Call control gets the carrier's reason; the caller does not.
    await until(() => refused.refused[0] === '503 Service Unavailable')
    await until(
      () => Object(callControl.of('ended').at(-1)?.about).reason === 'The trunk does not take our credentials',
    )
  })

test('over TLS, a trunk is trusted only with its configured authority and name', needs('openssl'), async (t) => {
  const [ours, theirs] = [certificate(), certificate('DNS:carrier.test')]
  // A busy machine gets longer timeouts: otherwise the test would see a timeout instead of the certificate error.
  const timers: Timers = { ...realTimers, after: (milliseconds, run) => realTimers.after(3 * milliseconds, run) }
  const { gateway } = await openWorld(t, toCarrier, { media, timers, tls: { port: 0, ...ours } })
  const { agent } = await openAgent(t)
  const listening = { address: '127.0.0.1', port: 0, tls: theirs }
  const carrier = agent.transports.add(await openTcp(listening, agent.transports, agent.timers))
  /** The state of the trunk once it is known. */
  const tried = async (authority: string | null, serverName: string | null) => {
    await gateway.apply([trunkOf(carrier.sentBy.port ?? 0, { transport: 'tls', authority, serverName })])
    const { state, lastError } = await until(() => {
      const found = gateway.trunk('carrier')
      return found && found.state !== 'connecting' ? found : null
    })
    return `${state} ${lastError}`
  }
  assert.equal(await tried(theirs.cert, 'carrier.test'), 'up null')
  assert.match(await tried(ours.cert, 'carrier.test'), /^down .*(self-signed|certificate)/)
  assert.match(await tried(null, 'carrier.test'), /^down .*self-signed/)
  assert.match(await tried(theirs.cert, 'another.test'), /^down .*(altnames|does not match)/)
  assert.match(await tried(theirs.cert, null), /^down .*(altnames|does not match)/)
  assert.equal(await tried(theirs.cert, 'carrier.test'), 'up null')

  // Two trunks at one host, each with its own authority.
  const other = agent.transports.add(await openTcp({ ...listening, tls: ours }, agent.transports, agent.timers))
  const trunk = (id: string, { sentBy }: Transport, { cert }: { cert: string }) =>
    trunkOf(sentBy.port ?? 0, { id, transport: 'tls', authority: cert, serverName: 'carrier.test' })
  await gateway.apply([trunk('first', carrier, theirs), trunk('second', other, ours)])
  const states = () => ['first', 'second'].map((id) => gateway.trunk(id)?.state)
  await until(() => !states().includes('connecting'))
  assert.deepEqual(states(), ['up', 'up'])
})

test('an unchanged trunk keeps running, and a removed trunk is an unknown peer', async (t) => {
  const { gateway, carrier } = await openWorld(t, toCarrier, { media })
  const since = gateway.trunk('carrier')?.since
  await gateway.apply([trunkOf(carrier.port)])
  assert.equal(gateway.trunk('carrier')?.since, since)
  assert.equal(gateway.trunk('carrier')?.state, 'up')
  await gateway.apply([])
  assert.equal(gateway.trunk('carrier'), null)
  const ask: RequestOptions = {
    uri: `sip:33187654321@127.0.0.1:${gateway.port}`,
    from: '<sip:1@carrier.test>',
    timeoutMs: 300,
  }
  const outcome = await carrier.agent.request('OPTIONS', ask)
  assert.deepEqual(outcome.outcome === 'failed' && outcome.why, 'timeout')
})

test('among trunks at one address, names and port identify the trunk of a call', async (t) => {
  const { gateway, carrier, callControl } = await openWorld(t, () => ({ refused: { status: 404, reason: 'No' } }), {
    media,
  })
  const other = await openAgent(t)
  await gateway.apply([
    trunkOf(carrier.port, { id: 'first' }),
    trunkOf(other.udp, { id: 'by port' }),
    trunkOf(carrier.port, { id: 'by domain', domain: 'acme.test' }),
    trunkOf(carrier.port, { id: 'by user', username: 'acme', password: 'p' }),
  ])
  await until(() => gateway.trunk('first')?.state === 'up' && gateway.trunk('by port')?.state === 'up')
  const call = async (agent: typeof other.agent, to: string) => {
    const uri = `sip:33187654321@127.0.0.1:${gateway.port}`
    const outcomes: string[] = []
    agent.invite(
      { uri, to, from: '<sip:1@carrier.test>' },
      {
        progress: () => {},
        accepted: () => {},
        refused: (outcome) => outcomes.push(outcomeText(outcome)),
        session: noSessionEvents,
      },
    )
    await until(() => outcomes.length > 0)
    return Object(callControl.of('receive').at(-1)?.about).trunk
  }
  assert.equal(await call(carrier.agent, '<sip:33187654321@us.test>'), 'first')
  assert.equal(await call(other.agent, '<sip:33187654321@us.test>'), 'by port')
  assert.equal(await call(other.agent, '<sip:33187654321@acme.test>'), 'by domain')
  assert.equal(await call(carrier.agent, '<sip:acme@us.test>'), 'by user')
})

test('parameters of numbers reach call control as separate fields', async (t) => {
  const { gateway, carrier, callControl } = await openWorld(t, () => ({ refused: { status: 404, reason: 'No' } }), {
    media,
  })
  const outcomes: string[] = []
  const call = async (from: string, asserted: string) => {
    const known = outcomes.length
    carrier.agent.invite(
      {
        uri: `sip:+442079460000;npdi;rn=+441632960001@127.0.0.1:${gateway.port};user=phone`,
        ...{ from, headers: [['P-Asserted-Identity', asserted]] },
      },
      {
        progress: () => {},
        accepted: () => {},
        refused: (outcome) => outcomes.push(outcomeText(outcome)),
        session: noSessionEvents,
      },
    )
    await until(() => outcomes.length > known)
    const { from: caller, to, verstat, npdi, rn } = Object(callControl.of('receive').at(-1)?.about)
    return [caller, to, verstat, npdi, rn]
  }
  const number = '+33612345678'
  assert.deepEqual(
    await call(
      '<sip:unavailable@unknown.invalid>',
      `<sip:${number};verstat=TN-Validation-Passed@carrier.test;user=phone>`,
    ),
    [number, '+442079460000', 'TN-Validation-Passed', true, '+441632960001'],
  )
  assert.deepEqual(await call(`<sip:${number};verstat=No-TN-Validation@carrier.test>`, `<tel:${number}>`), [
    ...[number, '+442079460000', 'No-TN-Validation', true, '+441632960001'],
  ])
})

test('numbers are converted to the format of the trunk and back to E.164', () => {
  const plus = trunkOf(0, { numbers: 'plus' })
  const bare = trunkOf(0, { numbers: 'e164' })
  const french = trunkOf(0, { numbers: 'national', callingCode: '33' })
  for (const [trunk, number, written] of [
    [plus, '+33612345678', '+33612345678'],
    [bare, '+33612345678', '33612345678'],
    [french, '+33612345678', '0612345678'],
    [french, '+4915112345678', '004915112345678'],
  ] as const) {
    assert.equal(toTrunkNumber(trunk, number), written)
    assert.equal(fromTrunkNumber(trunk, written), number)
  }
  assert.equal(fromTrunkNumber(bare, '+33 6 12 34 56 78'), '+33612345678')
  for (const text of ['anonymous', '112', '']) assert.equal(fromTrunkNumber(bare, text), text)
})
