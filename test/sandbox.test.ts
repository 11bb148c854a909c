import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { buyNumber, type Platform, startPlatform, until } from './platform.ts'

let platform: Platform
after(() => platform?.end('SIGKILL'))

test('in the sandbox one number of the platform can write to another, and to a handset once it was released', async () => {
  platform = await startPlatform()
  const { call } = platform
  const [from, to] = [await buyNumber(platform), await buyNumber(platform)]
  const send = (text: string) =>
    call('POST', '/open/sms/send', { from_number: from.number, to_number: to.number, text })
  const handset = async () =>
    (await call('GET', `/sandbox/handsets/${to.number}`)).body.sms.map((item: { text: string }) => item.text)
  const path = `/open/sms/messages/${to.channel}/${from.number}`
  assert.equal((await send('from me to me')).status, 202)
  await until(async () => {
    const { messages } = (await call('GET', path)).body
    return messages.some(({ text }: { text: string }) => text === 'from me to me')
  })
  assert.deepEqual(await handset(), [])

  const { numbers } = (await call('GET', '/open/voip/virtual-numbers')).body
  const { uuid } = numbers.find((one: { phone_number: string }) => one.phone_number === to.number)
  assert.equal((await call('DELETE', `/open/voip/virtual-numbers/${uuid}`)).status, 200)
  await until(async () => {
    await send('to whoever has it now')
    return (await handset()).includes('to whoever has it now')
  })
})

/** What a text ends as on a handset of that manner: parts without a receipt of their own stay `sent`. */
const manners = {
  ...{ throttled: 'delivered', queue_full: 'delivered', system_error: 'delivered', slow: 'delivered' },
  ...{ disconnect: 'delivered', half_pdu: 'delivered', hex_ids: 'delivered', receipt_first: 'delivered' },
  ...{ duplicate_receipts: 'delivered', receipts_reversed: 'delivered', empty_id: 'sent', first_receipt_only: 'sent' },
}

test('texts reach handsets whose carrier refuses, breaks, answers late, and reports in every way that carriers have', async () => {
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
