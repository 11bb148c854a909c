import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { OutgoingCall } from '@trunkline/sip/dialog/outgoing-call.ts'
import { DigestServer } from '@trunkline/sip/digest/digest-server.ts'
import { contactsOf } from '@trunkline/sip/fields.ts'
import { defaultHandlers, noSessionEvents, openAgent, until } from '@trunkline/sip/user-agent/testing.ts'
import { needs } from '../needs.ts'
import { freePort, runProgram } from './program.ts'

// SIPp: its own caller and its own carrier, and scenarios of ours (sipp/*.xml) for what those do not do.

const offer = {
  type: 'application/sdp',
  content: 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 6002 RTP/AVP 0\r\n',
}

const sipp = (t: TestContext, scenario: string, ...flags: string[]) => {
  const folder = mkdtempSync(join(tmpdir(), 'sipp-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const builtIn = scenario === 'uac' || scenario === 'uas'
  const which = builtIn ? ['-sn', scenario] : ['-sf', join(import.meta.dirname, 'sipp', `${scenario}.xml`)]
  const fixed = ['-i', '127.0.0.1', '-nostdin', '-timeout', '60', '-timeout_error', '-trace_err']
  return runProgram(t, ['sipp', ...which, ...fixed, ...flags], folder)
}

/**
 * By default SIPp aborts a call when the request is repeated whose responses it lost, and when its repeated response is
 * acknowledged after the BYE.
 */
const patient = ['-default_behaviors', 'all,-abortunexp']

const succeeds = async (program: ReturnType<typeof sipp>) =>
  assert.equal(await program.ended, 0, program.output().slice(-3_000))

/** An agent that accepts every call, and the end of each call. */
const openCallee = async (t: TestContext, sessionSeconds = 1_800) => {
  const ends: string[] = []
  const cancelled: string[] = []
  const callee = await openAgent(t, {
    sessionSeconds,
    handlers: {
      ...defaultHandlers,
      onInvite: (call) => {
        call.events = { cancelled: () => cancelled.push('cancelled') }
        call.ring({ status: 180 })
        call.accept({ body: offer }, { ...noSessionEvents, ended: (why) => ends.push(why) })
      },
    },
  })
  return { ...callee, ends, cancelled }
}

// SIPp's own scenarios linger for seconds after their last call, so they run concurrently.
describe('sipp unmodified', { concurrency: true }, () => {
  for (const [transport, flag] of [
    ['udp', 'u1'],
    ['tcp', 't1'],
  ] as const) {
    test(`50 calls of sipp over ${transport} are answered and ended`, needs('sipp'), async (t) => {
      const callee = await openCallee(t)
      const target = `127.0.0.1:${callee[transport]}`
      await succeeds(sipp(t, 'uac', '-t', flag, '-m', '50', '-r', '50', '-d', '50', target))
      await until(() => callee.ends.length === 50)
      assert.ok(callee.ends.every((why) => why === 'remote'))
      assert.equal(callee.agent.active.dialogs, 0)
    })

    test(`20 calls to sipp over ${transport} are answered and ended`, needs('sipp'), async (t) => {
      const port = await freePort()
      const carrier = sipp(t, 'uas', '-t', flag, '-p', String(port), '-m', '20', ...patient)
      await carrier.listens(port, transport)
      const { agent } = await openAgent(t)
      const ask = { uri: `sip:them@127.0.0.1:${port};transport=${transport}`, from: '<sip:us@127.0.0.1>', body: offer }
      for (let call = 0; call < 20; call++) {
        agent.invite(ask, {
          progress: () => {},
          accepted: (_, session) => void session.bye(),
          refused: (outcome) => assert.fail(JSON.stringify(outcome)),
          session: noSessionEvents,
        })
      }
      await succeeds(carrier)
    })
  }

  test('calls of sipp survive the loss of every tenth message', needs('sipp'), async (t) => {
    const callee = await openCallee(t)
    await succeeds(sipp(t, 'uac', '-m', '20', '-r', '100', '-lost', '10', `127.0.0.1:${callee.udp}`))
  })

  test('calls to sipp survive the loss of every tenth message', needs('sipp'), async (t) => {
    const port = await freePort()
    // Without -m: SIPp counts repeated requests of an ended call as calls, and would exit before the last.
    const carrier = sipp(t, 'lossy', '-p', String(port), '-lost', '10', ...patient)
    const { agent } = await openAgent(t)
    const ended: Promise<boolean>[] = []
    const ask = { uri: `sip:them@127.0.0.1:${port}`, from: '<sip:us@127.0.0.1>', body: offer }
    await carrier.listens(port, 'udp')
    for (let call = 0; call < 20; call++) {
      agent.invite(ask, {
        progress: () => {},
        accepted: (_, session) => ended.push(session.bye()),
        refused: (outcome) => assert.fail(JSON.stringify(outcome)),
        session: noSessionEvents,
      })
    }
    await until(() => ended.length === 20)
    assert.deepEqual(await Promise.all(ended), Array(20).fill(true))
  })
})

test('sipp hangs up while it rings', needs('sipp'), async (t) => {
  const cancelled: string[] = []
  const { udp, agent } = await openAgent(t, {
    handlers: {
      ...defaultHandlers,
      onInvite: (call) => {
        call.events = { cancelled: (request) => cancelled.push(request?.method ?? 'none') }
        call.ring({ status: 180 })
      },
    },
  })
  await succeeds(sipp(t, 'cancel', '-m', '5', '-r', '50', `127.0.0.1:${udp}`))
  assert.deepEqual(cancelled, Array(5).fill('CANCEL'))
  assert.equal(agent.active.dialogs, 0)
})

test('sipp acknowledges our provisional response, because it requires reliable ones', needs('sipp'), async (t) => {
  const { udp } = await openAgent(t, {
    handlers: {
      ...defaultHandlers,
      onInvite: (call) => {
        call.events = { cancelled: () => {}, acknowledged: () => call.accept({}, noSessionEvents) }
        call.ring({ status: 183, body: offer })
      },
    },
  })
  await succeeds(sipp(t, 'prack', '-m', '3', `127.0.0.1:${udp}`))
})

test('sipp answers our authentication challenge', needs('sipp'), async (t) => {
  const digest = new DigestServer({ realm: 'us.test', secret: 's', now: Date.now, algorithms: ['MD5'] })
  const verdicts: string[] = []
  const { udp } = await openAgent(t, {
    handlers: {
      ...defaultHandlers,
      onInvite: (call) => {
        const claim = digest.claim(call.invite)
        if (claim) verdicts.push(digest.verify(call.invite, claim, 'pass'))
        if (verdicts.at(-1) === 'good') call.accept({ body: offer }, noSessionEvents)
        else call.refuse({ status: 401, headers: digest.challenge().map((value) => ['WWW-Authenticate', value]) })
      },
    },
  })
  await succeeds(sipp(t, 'login', '-m', '1', '-auth_uri', `us@127.0.0.1:${udp}`, `127.0.0.1:${udp}`))
  assert.deepEqual(verdicts, ['good'])
})

test('we answer the challenge of sipp, and a rejection is reported as a wrong password', needs('sipp'), async (t) => {
  for (const [password, status] of [
    ['pass', 200],
    ['wrong', 403],
  ] as const) {
    const port = await freePort()
    const carrier = sipp(t, 'challenge', '-p', String(port), '-m', '1')
    await carrier.listens(port, 'udp')
    const { agent } = await openAgent(t)
    const got: number[] = []
    agent.invite(
      {
        ...{ uri: `sip:them@127.0.0.1:${port}`, from: '<sip:us@127.0.0.1>', body: offer },
        credentials: { username: 'ann', password },
      },
      {
        progress: () => {},
        accepted: ({ status: code }, session) => {
          got.push(code)
          void session.bye()
        },
        refused: (outcome) => got.push(outcome.outcome === 'answered' ? outcome.response.status : 0),
        session: noSessionEvents,
      },
    )
    await succeeds(carrier)
    assert.deepEqual(got, [status])
  }
})

test('a redirection of sipp is reported with its target, and not followed', needs('sipp'), async (t) => {
  const port = await freePort()
  const carrier = sipp(t, 'moved', '-p', String(port), '-m', '1')
  await carrier.listens(port, 'udp')
  const { agent } = await openAgent(t)
  const got: unknown[] = []
  const call: OutgoingCall = agent.invite(
    { uri: `sip:them@127.0.0.1:${port}`, from: '<sip:us@127.0.0.1>', body: offer },
    {
      progress: () => {},
      accepted: () => assert.fail('accepted'),
      refused: (outcome) => {
        assert.ok(outcome.outcome === 'answered')
        const contacts = contactsOf(outcome.response)
        got.push(outcome.response.status, contacts === '*' ? '*' : contacts[0]?.uri)
      },
      session: noSessionEvents,
    },
  )
  await succeeds(carrier)
  assert.deepEqual(got, [302, 'sip:elsewhere@192.0.2.1'])
  assert.equal(call.isPending, false)
})
