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
