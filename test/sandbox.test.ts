import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type Answer, buyNumber, type Platform, startPlatform, stockNumbers, until } from './platform.ts'

let platform: Platform
after(() => platform?.end('SIGKILL'))

test('in the sandbox one number of the platform can write to another, and to a handset once that number is released', async () => {
  platform = await startPlatform()
  const { call } = platform
  const [from, to] = [await buyNumber(platform), await buyNumber(platform)]
  const send = (text: string) =>
    call('POST', '/open/sms/send', { from_number: from.number, to_number: to.number, text })
  const handset = async () =>
    (await call('GET', `/sandbox/handsets/${to.number}`)).body.sms.map((item: { text: string }) => item.text)
  const path = `/open/sms/messages/${to.channel}/${from.number}`
  // The network learns of a purchase a moment later, and treats the number as a handset until then.
  let attempts = 0
  const arrived = await until(async () => {
    assert.equal((await send(`from me to me ${++attempts}`)).status, 202)
    const { messages } = (await call('GET', path)).body
    return messages.find(({ text }: { text: string }) => text.startsWith('from me to me'))
  })
  assert.ok(!(await handset()).includes(arrived.text))

  const { numbers } = (await call('GET', '/open/voip/virtual-numbers')).body
  const { uuid } = numbers.find((one: { phone_number: string }) => one.phone_number === to.number)
  assert.equal((await call('DELETE', `/open/voip/virtual-numbers/${uuid}`)).status, 200)
  await until(async () => {
    await send('to whoever has it now')
    return (await handset()).includes('to whoever has it now')
  })
})

/** Final states by the behaviour of a handset: parts without a receipt of their own stay `sent`. */
const manners = {
  ...{ throttled: 'delivered', queue_full: 'delivered', system_error: 'delivered', slow: 'delivered' },
  ...{ disconnect: 'delivered', half_pdu: 'delivered', hex_ids: 'delivered', receipt_first: 'delivered' },
  ...{ duplicate_receipts: 'delivered', receipts_reversed: 'delivered', empty_id: 'sent', first_receipt_only: 'sent' },
}

test('messages reach handsets although carriers refuse, break or answer late, and receipts of every form are understood', async () => {
  const { call } = platform
  const { number } = await buyNumber(platform)
  const text = 'x'.repeat(200)
  const sent: { uuid: string; handset: string; status: string }[] = []
  for (const [i, [carrier, status]] of Object.entries(manners).entries()) {
    const handset = `+336123457${10 + i}`
    assert.equal((await call('PUT', `/sandbox/handsets/${handset}`, { carrier })).status, 200)
    const answer = await call('POST', '/open/sms/send', { from_number: number, to_number: handset, text })
    sent.push({ uuid: answer.body.message_uuid, handset, status })
  }
  for (const { uuid, handset, status } of sent) {
    const message = async () => (await call('GET', `/open/sms/message/${uuid}`)).body.message
    await until(async () => (await message()).status === status)
    const { sms } = (await call('GET', `/sandbox/handsets/${handset}`)).body
    assert.ok(sms.length >= 1 && sms.every((item: { text: string }) => item.text === text))
  }
})

test('an account that is not marked as a sandbox account reaches no handset, and no handset reaches it', async () => {
  const { url, call } = platform
  const asReal = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const headers = { 'x-user-api-key': key, 'content-type': 'application/json' }
    const answer = await fetch(url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
    return { status: answer.status, body: await answer.json() }
  }
  const made = await call('POST', '/operator/accounts', { name: 'Real Ltd', sandbox: false })
  const account = `/operator/accounts/${made.body.account.uuid}`
  const { key } = (await call('POST', `${account}/keys`, { label: 'x' })).body
  await call('POST', `${account}/credit`, { amount: '100' })
  await stockNumbers(platform, 'number,country,type,features,monthly_price\n+447700900900,GB,mobile,sms_in|sms_out,1\n')
  const real = await buyNumber({ call: asReal })
  const handset = '+447700900777'
  const sent = await asReal('POST', '/open/sms/send', { from_number: real.number, to_number: handset, text: 'real' })
  const message = async () => (await asReal('GET', `/open/sms/message/${sent.body.message_uuid}`)).body.message
  const ended = await until(async () => {
    const one = await message()
    return one.status !== 'queued' && one.status !== 'accepted' && one
  })
  assert.equal(ended.status, 'failed', JSON.stringify(ended))

  // The real number is not a sandbox line: a handset receives the messages that a sandbox account sends to it.
  const own = await buyNumber(platform)
  await call('POST', '/open/sms/send', { from_number: own.number, to_number: real.number, text: 'from the sandbox' })
  await until(async () => (await call('GET', `/sandbox/handsets/${real.number}`)).body.sms.length === 1)
  const { messages } = (await asReal('GET', `/open/sms/messages/${real.channel}/${own.number}`)).body
  assert.deepEqual(messages, [])
})

test('a platform that is set up behind a TLS proxy as documented has no sandbox, and one that asks for it warns', async () => {
  await platform.end()
  const behindProxy = {
    TRUNKLINE_HOST: '127.0.0.1',
    TRUNKLINE_TRUST_PROXY: '127.0.0.1',
    TRUNKLINE_PUBLIC_URL: 'https://voice.example.com',
  }
  const manual = readFileSync(join(import.meta.dirname, '../docs/operating/running.md'), 'utf8')
  for (const [name, value] of Object.entries(behindProxy)) assert.ok(manual.includes(`\n${name}=${value}\n`), name)
  platform = await startPlatform(platform.home, behindProxy)
  const forwarded = { 'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'https' }
  for (const [method, path, body] of [
    ['POST', '/sandbox/clock', { advance_seconds: 3_600 }],
    ['GET', '/sandbox/handsets/+447700900123', undefined],
    ['POST', '/sandbox/events/contact.created', undefined],
  ] as const)
    for (const headers of [{}, forwarded])
      assert.equal((await platform.call(method, path, body, headers)).status, 404, path)
  for (const hook_url of ['http://127.0.0.1:8080/', 'https://127.0.0.1/', 'https://10.0.0.1/', 'https://intranet/']) {
    const hook = await platform.call('POST', '/open/webhooks/subscribe/contact.created', { hook_url })
    assert.deepEqual([hook.status, hook.body.error_code], [400, 'hook_url_refused'], hook_url)
  }
  assert.doesNotMatch(platform.output(), /WARNING|with sandbox carriers/)
  await platform.end()
  platform = await startPlatform(platform.home, { ...behindProxy, TRUNKLINE_SANDBOX: 'true' })
  // Two streams, each of which may come first.
  for (const warning of [/WARNING: the sandbox is on.*TRUNKLINE_PUBLIC_URL/, /sandbox: reachable from other machines/])
    await until(async () => warning.test(platform.output()))
})
