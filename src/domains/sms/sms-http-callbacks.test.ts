import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { connectProvider, disconnectProvider, post, startProvider } from './sms-http-testing.ts'
import { contact, giveNumber, makeSmsWorld } from './sms-testing.ts'
import { submitKind } from './submit/message-slots.ts'

// Callbacks of carriers over HTTP, and answers that never come.

let ours = ''
const world = await makeSmsWorld({ publicUrl: () => ours })
ours = await world.app.listen({ port: 0, host: '127.0.0.1' })
after(world.stop)
const provider = await startProvider(ours)
const { advance, call, db, inspect, send, tenant, waitForStatus } = world

const sender = async () => {
  const who = await tenant()
  return { who, ...(await giveNumber(world, who)) }
}

const connected = async (more: object, run: (connection: string) => Promise<void>) => {
  const connection = await connectProvider(world, provider, { ...more })
  try {
    await run(connection)
  } finally {
    await disconnectProvider(world, connection)
  }
}

/** Moves the clock until no receipt waits for its part. */
const retryReceipts = () =>
  until(async () => {
    const { n } = await db.one<{ n: number }>`select count(*)::integer as n from jobs where kind = 'sms.receipt'`
    if (n === 0) return true
    await advance(1)
    return false
  })

/** Waits until a message waits a minute for its receipt. */
const untilHeld = () =>
  until(async () => {
    const { n } = await db.one<{ n: number }>`
      select count(*)::integer as n from jobs
      where kind = ${submitKind} and leased_until is null and run_at > app_now() + interval '30 seconds'`
    return n === 1
  })

/** Waits until no message waits for its submit. */
const untilNoJob = () =>
  until(async () => {
    const { n } = await db.one<{ n: number }>`select count(*)::integer as n from jobs where kind = ${submitKind}`
    return n === 0
  })

const lastSubmit = () => {
  const submit = provider.submits.at(-1)
  assert.ok(submit)
  return submit
}

test('a receipt that comes before the answer to the submit counts', () =>
  connected({}, async () => {
    const { who, number } = await sender()
    const early = Promise.withResolvers<number>()
    provider.answers.push(async (submit, response) => {
      early.resolve(await provider.report(submit, 'delivered'))
      response.end(JSON.stringify({ id: submit.id }))
    })
    const printed = (await send(who, number, 'early')).body.message_uuid
    assert.equal(await early.promise, 200)
    await retryReceipts()
    await waitForStatus(who, printed, 'delivered')
  }))

test('a message whose answer was lost is not sent again once its receipt came', () =>
  connected({}, async () => {
    const { who, number } = await sender()
    provider.answers.push((_, response) => response.destroy())
    const before = provider.submits.length
    const printed = (await send(who, number, 'lost answer')).body.message_uuid
    await untilHeld()
    assert.equal(await provider.report(lastSubmit(), 'delivered'), 200)
    await waitForStatus(who, printed, 'delivered')
    await advance(61)
    await untilNoJob()
    assert.equal(provider.submits.length - before, 1)
    const { parts } = await inspect(printed)
    assert.equal(parts[0].carrier_id, lastSubmit().id)
  }))

test('by default a message without answer and receipt is sent again after a minute, with at_most_once never', () =>
  connected({}, async (connection) => {
    const { who, number } = await sender()
    const before = provider.submits.length
    provider.answers.push((_, response) => response.destroy())
    const printed = (await send(who, number, 'again')).body.message_uuid
    await untilHeld()
    assert.equal(provider.submits.length - before, 1)
    await advance(61)
    await waitForStatus(who, printed, 'sent')
    assert.equal(provider.submits.length - before, 2)

    await world.change(`CNX${connection}`, { settings: { policy: 'at_most_once' } })
    await until(async () => world.parts.carriers.state(connection)?.submitted === 0)
    await world.parts.routing.ready()
    provider.answers.push((_, response) => response.destroy())
    const once = (await send(who, number, 'once')).body.message_uuid
    const { error_code } = await waitForStatus(who, once, 'unknown')
    assert.equal(error_code, 'outcome_unknown')
    assert.equal(provider.submits.length - before, 3)
  }))

test('a message whose answer is lost until its validity ends is unknown, and its receipt still counts', () =>
  connected({ validity_seconds: 60 }, async () => {
    const { who, number } = await sender()
    const before = provider.submits.length
    provider.answers.push((_, response) => response.destroy())
    const printed = (await send(who, number, 'short')).body.message_uuid
    await untilHeld()
    await advance(61)
    const { error_code } = await waitForStatus(who, printed, 'unknown')
    assert.equal(error_code, 'outcome_unknown')
    assert.equal(provider.submits.length - before, 1)
    assert.equal(await provider.report(lastSubmit(), 'delivered'), 200)
    await waitForStatus(who, printed, 'delivered')
  }))

test('a forged token, and one of another connection, are refused like an unknown connection', () =>
  connected({}, async (connection) => {
    const { who, number } = await sender()
    const printed = (await send(who, number, 'forged')).body.message_uuid
    await waitForStatus(who, printed, 'sent')
    const submit = lastSubmit()
    const token = new URL(submit.callback).searchParams.get('m') ?? ''
    const other = submit.callback.replace(`CNX${connection}`, 'CNX019ac000-0000-7000-8000-000000000001')
    const forged = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
    assert.deepEqual(
      [
        await provider.report(submit, 'delivered', forged),
        await provider.report(submit, 'delivered', ''),
        await provider.report({ ...submit, callback: other }, 'delivered'),
        await provider.write(connection, { from: contact, to: number, text: 'x', secret: 'wrong' }),
      ],
      [401, 401, 401, 401],
    )
    assert.equal((await world.messageOf(who, printed)).status, 'sent')
    assert.equal(await provider.report(submit, 'delivered'), 200)
    await waitForStatus(who, printed, 'delivered')
  }))

/** Text that a compressed row cannot hold in an index. */
const noise = (length: number) => randomBytes(length).toString('base64url')

test('a receipt counts, and a message arrives, whatever the provider writes in their other fields', () =>
  connected(
    {
      ...{ receipt_error: '/error', inbound_id: '/id' },
      ...{ inbound_reference: '/ref', inbound_part: '/part', inbound_parts: '/parts' },
    },
    async (connection) => {
      const { who, number } = await sender()
      for (const id of [noise(9_000), 'a\0b']) {
        provider.answers.push((_, response) => response.destroy())
        const printed = (await send(who, number, 'odd receipt')).body.message_uuid
        await untilHeld()
        const { callback } = lastSubmit()
        assert.equal(await post(callback, { id, state: 'failed', error: `\0${noise(9_000)}` }), 200)
        const { error_code } = await waitForStatus(who, printed, 'undelivered')
        assert.equal(error_code.length, 60)
        await advance(61)
        await untilNoJob()
      }
      const inbound = `${ours}/callbacks/sms/CNX${connection}?secret=known`
      assert.equal(await post(inbound, { from: contact, to: `${number}\0`, text: 'stray' }), 200)
      const long = { from: noise(3_000), to: number, parts: 2, ref: 9_000_000_000 }
      for (const part of [1, 2]) assert.equal(await post(inbound, { ...long, part, text: `piece ${part} ` }), 200)
      const texts = await db.many`
        select text from sms_messages where account_id = ${who.id} and direction = 'inbound'`
      assert.deepEqual(texts, [{ text: 'piece 1 piece 2 ' }])
    },
  ))

test('the words of a refusal are shown to the operator, and its code to the account', () =>
  connected({}, async () => {
    const { who, number } = await sender()
    provider.answers.push((_, response) => response.writeHead(400).end('{"code":"E17","why":"no such number"}'))
    const printed = (await send(who, number, 'refused')).body.message_uuid
    assert.equal((await waitForStatus(who, printed, 'failed')).error_code, 'generic_e17')
    const { attempts } = await inspect(printed)
    assert.match(attempts[0].reason, /^generic_e17: .*no such number/)
  }))

test('messages wait while the provider refuses the credentials, and go out once they are right', () =>
  connected({ headers: { authorization: 'Bearer {token}' }, token: 'wrong' }, async (connection) => {
    const { who, number } = await sender()
    provider.answers.push((_, response) => response.writeHead(401).end('{"words":"wrong key"}'))
    const before = provider.submits.length
    const printed = (await send(who, number, 'held')).body.message_uuid
    const { state } = await until(async () => {
      const { body } = await call('operator', 'GET', `/operator/connections/CNX${connection}`)
      return body.connection.state.state === 'down' ? body.connection : null
    })
    assert.equal(state.fatal, true)
    assert.match(state.last_error, /^the provider refused the credentials \(401\): .*wrong key/)
    assert.equal((await world.messageOf(who, printed)).status, 'sending')
    assert.equal(provider.submits.length - before, 1)
    await world.change(`CNX${connection}`, { settings: { token: 'right' } })
    await until(async () => world.parts.carriers.state(connection)?.state === 'up')
    await advance(10)
    await waitForStatus(who, printed, 'sent')
  }))

test('settings are checked by their provider, and secrets are not shown', async () => {
  const create = (settings: object) =>
    call('operator', 'POST', '/operator/connections', { kind: 'sms-http', name: 'checked', settings, enabled: false })
  const cases: [settings: object, message: RegExp][] = [
    [{ provider: 'twilio', account_sid: 'AC1' }, /^settings.auth_token is required where settings.provider is twilio/],
    [{ provider: 'kannel', username: 'u', password: 'p' }, /^settings.base_url is required/],
    [{ provider: 'generic', url: 'https://x.example/', api_key: 'k' }, /^settings.api_key is not for the provider/],
    [{ provider: 'generic', url: 'https://x.example/', id_pattern: '(a' }, /^settings.id_pattern is not a supported/],
    [
      { provider: 'generic', url: 'https://x.example/', callback_addresses: ['10.0.0.0/99'] },
      /^settings.callback_addresses: 10.0.0.0\/99/,
    ],
  ]
  const templates: [url: string, message: RegExp][] = [
    ['https://x.example/?to={to}&text={txt}', /must have \{text\}$/],
    ['https://x.example/?text={text}', /must have \{to\}$/],
    ['https://{text}/?to={to}', /^settings.url must have its host as it is/],
  ]
  cases.push(...templates.map(([url, message]): (typeof cases)[0] => [{ provider: 'generic', url }, message]))
  for (const [settings, message] of cases) {
    const { status, body } = await create(settings)
    assert.equal(status, 400)
    assert.match(body.error_message, message)
  }
  const { body } = await create({ provider: 'twilio', account_sid: 'AC1', auth_token: 'hidden' })
  assert.deepEqual(body.connection.settings, { provider: 'twilio', account_sid: 'AC1' })
})
