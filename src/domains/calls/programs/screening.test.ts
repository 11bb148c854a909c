import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { until } from '@trunkline/sip/user-agent/testing.ts'
import { answer, receivesTone } from '../../../adapters/sip-gateway/testing.ts'
import type { VoicePlan } from '../../../ports/voice.ts'
import { blip, makeInterpreters, say } from './interpreter-testing.ts'
import type { ProgramCall } from './program.ts'
import { type Answer, programCall } from './program-testing.ts'

// The callee of a dial runs verbs on its own leg before it is connected, through the gateway and with real media.

const interpreters = await makeInterpreters()
type Differences = NonNullable<Parameters<typeof interpreters.open>[2]>

const child: ProgramCall = {
  ...programCall,
  ...{ id: '01900000-0000-7000-8000-000000000009', parent: programCall.id, direction: 'outbound', origin: 'dial' },
  ...{ from: '+33187654321', to: '+442079460123' },
}
const plan: VoicePlan = {
  ...{ call: child.id, account: child.account, callerId: child.from, ringSeconds: 10, record: null, mostSeconds: null },
  targets: [{ trunk: 'carrier', number: child.to }],
}

const dial = (more: object, action = '/after') => ({ verb: 'dial', targets: [{ number: child.to }], action, ...more })

/** A gateway whose calls run a program that dials a telephone. */
const open = async (t: TestContext, answers: Record<string, Answer>, wish: Omit<Differences, 'deps'> = {}) => {
  const deps: Differences['deps'] = { placeChild: async () => ({ plan, call: child }) }
  const world = await interpreters.open(t, answers, { ...wish, deps })
  /** The dialled telephone answers. */
  const answered = async () => {
    const other = await world.telephone()
    return { other, ...(await answer(await world.carrier.call(), other)) }
  }
  const resultAt = async (path: string) => {
    const { status, sip_status, seconds } = (await world.requested(path)).body.result ?? {}
    return { status, sip_status, seconds }
  }
  return { ...world, answered, resultAt }
}

const notConnected = (status: string, sip_status = 200) => ({ status, sip_status, seconds: 0 })

test('a callee is asked, and connected once it presses a key; the party hears ringing until then', async (t) => {
  const confirm = [{ verb: 'gather', num_digits: 1, prompts: [say(880)] }]
  const { receive, answered, resultAt, callControl, over } = await open(t, {
    '/begin': [dial({ confirm })],
    '/after': [],
  })
  const { peer } = await receive()
  const { other, session } = await answered()
  await until(() => peer.samples.slice(-800).some((sample) => Math.abs(sample) > 1_000), 'ringing')
  peer.sendTone(1_000)
  await receivesTone(other, 880)
  const charged = callControl.of('answered').map(({ call }) => call)
  assert.equal(charged.at(-1), child.id)
  await other.press('5')
  other.sendTone(700)
  await Promise.all([receivesTone(peer, 700), receivesTone(other, 1_000)])
  await session.bye()
  assert.equal((await resultAt('/after')).status, 'completed')
  await over()
})

test('a callee that presses nothing, declines or hangs up is not connected, and the program goes on', async (t) => {
  const { receive, answered, resultAt, over } = await open(t, {
    '/begin': [dial({ confirm: [{ verb: 'gather', timeout: 0 }, say(880)] }, '/silent')],
    '/silent': [dial({ confirm: [{ verb: 'hangup' }] }, '/declined')],
    '/declined': [dial({ confirm: [say(880)] }, '/gone')],
    '/gone': [blip(660)],
  })
  const { peer } = await receive()
  for (const path of ['/silent', '/declined']) {
    const { ends } = await answered()
    assert.deepEqual(await resultAt(path), notConnected('no_answer'))
    await until(() => ends.length === 1)
  }
  const { other, session } = await answered()
  await receivesTone(other, 880)
  await session.bye()
  assert.deepEqual(await resultAt('/gone'), notConnected('no_answer'))
  await until(() => peer.samples.slice(-800).some((sample) => Math.abs(sample) > 1_000))
  await over()
})

test('a party that hangs up while the callee is asked ends the call of the callee', async (t) => {
  const { receive, answered, resultAt, over, callControl } = await open(t, {
    '/begin': [dial({ confirm: [say(880)] })],
    '/after': [],
  })
  const { dialled } = await receive()
  const { other, ends } = await answered()
  await receivesTone(other, 880)
  await (await until(() => dialled.session)).bye()
  assert.deepEqual(await resultAt('/after'), notConnected('canceled'))
  await until(() => ends.length === 1)
  await over()
  assert.equal(callControl.of('ended').length, 2)
})

test('a document for the callee that cannot be had, or dials, ends its call alone, without the fallback', async (t) => {
  const { receive, answered, resultAt, failures, paths, over } = await open(
    t,
    {
      '/begin': [dial({ confirm: [{ verb: 'redirect', url: '/dead' }] }, '/first')],
      '/dead': (response) => void response.writeHead(500).end(),
      '/first': [dial({ confirm: [{ verb: 'redirect', url: '/dials' }] }, '/second')],
      '/dials': [dial({})],
      '/second': [blip(660)],
      '/fallback': [],
    },
    { program: (base) => ({ fallback: { url: `${base}/fallback`, method: 'POST' } }) },
  )
  await receive()
  for (const path of ['/first', '/second']) {
    const { other, ends } = await answered()
    assert.deepEqual(await resultAt(path), notConnected('failed', 0))
    await until(() => ends.length === 1)
    // Three tones.
    assert.ok(other.samples.some((sample) => Math.abs(sample) > 1_000))
  }
  await over()
  assert.deepEqual(
    failures.map(({ code }) => code),
    ['status', 'verb'],
  )
  assert.deepEqual(paths(), ['/begin', '/dead', '/first', '/dials', '/second'])
})

test('digits are sent after the answer, then a document by URL runs; the party is answered at the connection', async (t) => {
  const { receive, answered, requested, over } = await open(t, {
    '/begin': [
      dial({
        targets: [{ number: child.to, send_digits: '12' }],
        confirm: [{ verb: 'redirect', url: '/ask' }],
        answer_on_bridge: true,
      }),
    ],
    '/ask': [
      { verb: 'gather', timeout: 0, on_empty: 'next' },
      { verb: 'gather', timeout: 0, on_empty: 'action', action: '/again' },
    ],
    '/again': [{ verb: 'gather', num_digits: 1, action: '/key' }],
    '/key': [],
    '/after': [],
  })
  const { peer, dialled } = await receive()
  const { other, session } = await answered()
  const { body } = await requested('/ask')
  assert.equal(other.digits, '12')
  assert.deepEqual(
    [body.call.uuid, body.call.parent_uuid, body.call.direction, body.call.status],
    [`CDR${child.id}`, `CDR${child.parent}`, 'outbound', 'ANSWERED'],
  )
  await until(() => dialled.progress.includes(180))
  assert.equal(dialled.session, null)
  await requested('/again')
  await other.press('1')
  assert.equal((await requested('/key')).body.result?.digits, '1')
  await until(() => dialled.session)
  other.sendTone(700)
  await receivesTone(peer, 700)
  await session.bye()
  await over()
})
