import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { IncomingCall } from '../../src/connectors/sip/codec/dialog/incoming.ts'
import type { Session } from '../../src/connectors/sip/codec/dialog/session.ts'
import { DigestServer } from '../../src/connectors/sip/codec/digest/server.ts'
import { contactsOf } from '../../src/connectors/sip/codec/fields.ts'
import { nothing, openAgent, quiet, until } from '../../src/connectors/sip/testing.ts'
import { readAudio, writeAudio } from '../../src/lib/sdp.ts'
import { needs } from '../needs.ts'
import { freePort, runProgram } from './program.ts'

// baresip: a whole user agent that we did not write, as a telephone that registers, and answers and dials when it is told to.

const audio = {
  ...{ id: '7', address: '127.0.0.1', port: 6_002, rtcpPort: 6_003, isMuxed: false, protocol: 'RTP/AVP' },
  formats: [{ type: 0, name: 'pcmu', clock: 8_000, parameters: '' }],
  ...{ ssrc: 1, name: 'us', security: null, offer: null },
}
const sdp = (version: number, direction: 'sendrecv' | 'sendonly' = 'sendrecv') => ({
  type: 'application/sdp',
  content: writeAudio({ ...audio, version, direction }),
})

const openTelephone = async (t: TestContext, registrar: number) => {
  const folder = mkdtempSync(join(tmpdir(), 'baresip-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [port, control] = [await freePort(), await freePort()]
  const modules = ['g711.so', 'aubridge.so']
  const config = [
    `sip_listen 127.0.0.1:${port}`,
    ...['net_interface 127.0.0.1', 'module_path /usr/lib/baresip/modules', 'audio_source aubridge,none'],
    ...['audio_player aubridge,none', 'audio_alert aubridge,none', `ctrl_tcp_listen 127.0.0.1:${control}`],
    ...modules.map((name) => `module ${name}`),
    ...['module_tmp account.so', 'module_app menu.so', 'module_app ctrl_tcp.so'],
  ]
  writeFileSync(join(folder, 'config'), `${config.join('\n')}\n`)
  const account = `<sip:bob@127.0.0.1:${registrar}>;auth_user=bob;auth_pass=pass;regint=60\n`
  writeFileSync(join(folder, 'accounts'), account)
  writeFileSync(join(folder, 'contacts'), '')
  let line: Socket | null = null
  t.after(() => line?.destroy())
  const program = runProgram(t, ['baresip', '-f', folder], folder)
  return {
    program,
    /** A command of its menu, over ctrl_tcp: one connection at a time, and commands as netstrings. */
    tell: (command: string, params = '') => {
      line ??= connect(control, '127.0.0.1').on('error', () => {})
      const text = JSON.stringify({ command, params })
      line.write(`${text.length}:${text},`)
    },
  }
}

test('baresip registers, is called, put on hold and hung up, and calls us', needs('baresip'), async (t) => {
  const digest = new DigestServer({ realm: 'us.test', secret: 's', now: Date.now, algorithms: ['MD5'] })
  const contacts: string[] = []
  const calls: IncomingCall[] = []
  const { agent, udp } = await openAgent(t, {
    handlers: {
      ...nothing,
      onInvite: (call) => void calls.push(call),
      onRegister: (request) => {
        const claim = digest.claim(request)
        const isKnown = claim?.username === 'bob' && digest.verify(request, claim, 'pass') === 'good'
        if (!isKnown)
          return { status: 401, headers: digest.challenge().map((value) => ['WWW-Authenticate', value] as const) }
        const asked = contactsOf(request)
        if (asked !== '*') contacts.push(...asked.map(({ uri }) => uri))
        return { status: 200, headers: [['Contact', `<${contacts.at(-1)}>;expires=60`]] }
      },
    },
  })
  const telephone = await openTelephone(t, udp)
  const contact = await until(() => contacts[0], `registration of baresip: ${telephone.program.output()}`)

  const sessions: Session[] = []
  const ended: string[] = []
  agent.invite(
    { uri: contact, from: `<sip:us@127.0.0.1:${udp}>`, body: sdp(1) },
    {
      progress: () => telephone.tell('accept'),
      accepted: ({ body }, session) => {
        const answer = readAudio(body.toString())
        assert.ok(typeof answer !== 'string' && answer.formats.some(({ type, name }) => type === 0 && name === 'pcmu'))
        sessions.push(session)
      },
      refused: (outcome) => assert.fail(JSON.stringify(outcome)),
      session: { ...quiet, ended: (why) => ended.push(why) },
    },
  )
  const session = await until(() => sessions[0], `an answer of baresip: ${telephone.program.output()}`)
  const held = await session.reinvite({ body: sdp(2, 'sendonly') })
  assert.ok(held?.outcome === 'answered' && held.response.status === 200)
  const answer = readAudio(held.response.body.toString())
  assert.ok(typeof answer !== 'string')
  assert.equal(answer.direction, 'recvonly')
  await session.bye()
  assert.deepEqual(ended, ['local'])

  telephone.tell('dial', `sip:us@127.0.0.1:${udp}`)
  const call = await until(() => calls[0], `a call of baresip: ${telephone.program.output()}`)
  call.ring({ status: 180 })
  let acknowledged = false
  call.accept(
    { body: sdp(1) },
    {
      ...quiet,
      acknowledged: () => {
        acknowledged = true
      },
      ended: (why) => ended.push(why),
    },
  )
  await until(() => acknowledged)
  telephone.tell('hangup')
  await until(() => ended.length === 2, `hanging up of baresip: ${telephone.program.output()}`)
  assert.deepEqual(ended, ['local', 'remote'])
})
