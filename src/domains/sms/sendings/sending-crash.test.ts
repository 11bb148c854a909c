import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { buyNumber, homeOnDisk, type Platform, startPlatform, until } from '../../../../test/platform.ts'

let platform: Platform
after(() => platform?.end('SIGKILL'))

test('after kill -9, each sending that was answered 202 is whole, and any other is whole or absent', async () => {
  const home = homeOnDisk()
  platform = await startPlatform(home)
  const { account } = (await platform.call('GET', '/open/info')).body
  await platform.call('POST', `/operator/accounts/${account.uuid}/credit`, { amount: '10000' })
  const { number } = await buyNumber(platform)
  const before = Number((await platform.call('GET', '/open/info')).body.balance.amount)
  const size = 400
  const answered: { sending_uuid: string; messages: { message_uuid: string }[] }[] = []
  const requests = Array.from({ length: 8 }, (_, request) =>
    platform
      .call('POST', '/open/sms/send-many', {
        from_number: number,
        text: 'Hello',
        // Handsets that end with 0001 to 0007 behave in their own way.
        to_numbers: Array.from({ length: size }, (_, i) => `+44770090${request}${String(i).padStart(3, '0')}`),
      })
      .then(({ status, body }) => {
        assert.equal(status, 202)
        answered.push(body)
      })
      .catch(() => null),
  )
  await until(async () => answered.length >= 2)
  const paused = answered[0]?.sending_uuid ?? ''
  await platform.call('POST', `/open/sms/sendings/${paused}/pause`).catch(() => null)
  await platform.end('SIGKILL')
  await Promise.all(requests)

  platform = await startPlatform(home)
  const { sendings, total } = (await platform.call('GET', '/open/sms/sendings')).body
  assert.ok(total >= answered.length)
  const uuids = new Set(sendings.map((one: { uuid: string }) => one.uuid))
  for (const { sending_uuid: uuid, messages } of answered) {
    assert.ok(uuids.has(uuid))
    assert.equal(messages.length, size)
  }
  for (const { uuid } of sendings) {
    const { sending } = (await platform.call('GET', `/open/sms/sendings/${uuid}`)).body
    const counted = Object.values(sending.counts as Record<string, number>).reduce((sum, count) => sum + count, 0)
    assert.deepEqual([sending.accepted, counted], [size, size])
  }
  const { sending } = (await platform.call('GET', `/open/sms/sendings/${paused}`)).body
  assert.equal(sending.state, 'paused')
  const canceled = (await platform.call('POST', `/open/sms/sendings/${paused}/cancel`)).body.sending
  await until(async () => {
    const { counts } = (await platform.call('GET', `/open/sms/sendings/${paused}`)).body.sending
    return counts.queued + counts.sending === 0
  })
  assert.equal(canceled.state, 'canceled')
  // The requests charged each message once.
  const ledger = (await platform.call('GET', `/operator/accounts/${account.uuid}/ledger?kind=sms&results_per_page=200`))
    .body
  const charged = ledger.transfers.reduce((sum: number, one: { amount: string }) => sum + Number(one.amount), 0)
  assert.equal(charged.toFixed(2), (total * size * 0.04).toFixed(2))
  assert.ok(before - Number((await platform.call('GET', '/open/info')).body.balance.amount) <= charged)
})
