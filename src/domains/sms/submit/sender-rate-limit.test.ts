import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { giveNumber, makeSmsWorld, startSmsc } from '../sms-testing.ts'

test('senders stay within their rate limit of a connection, without delaying others or marking the carrier unhealthy', async (t) => {
  const world = await makeSmsWorld()
  after(world.stop)
  const smsc = await startSmsc()
  after(() => smsc.close())
  const connection = await world.connect('shared', smsc, { tps_per_sender: 5 })
  const who = await world.tenant()
  const [busy, quiet] = [await giveNumber(world, who), await giveNumber(world, who)]
  const times: number[] = []
  let quietAt = 0
  smsc.react = ({ source }) => {
    if (source === busy.number) times.push(performance.now())
    else quietAt = performance.now()
    return 'take'
  }
  const began = performance.now()
  for (let i = 0; i < 15; i++)
    assert.equal((await world.send(who, busy.number, `text ${i}`, { to: `+4479111234${10 + i}` })).status, 202)
  assert.equal((await world.send(who, quiet.number, 'hello')).status, 202)
  await until(async () => times.length === 15 && quietAt > 0)
  t.diagnostic(`${times.map((at) => Math.round(at - began)).join(' ')}; the other after ${Math.round(quietAt - began)}`)
  assert.ok(quietAt < (times[10] ?? 0), 'the other sender waited')
  // 15 messages at 5 a second, the first at once.
  const lasted = (times.at(-1) ?? 0) - (times[0] ?? 0)
  assert.ok(lasted >= 14 * 200 * 0.9, `${lasted} ms`)
  for (let i = 5; i < 15; i++) assert.ok((times[i] ?? 0) - (times[i - 5] ?? 0) > 900, 'more than five within a second')
  const { body } = await world.call('operator', 'GET', `/operator/connections/${connection}`)
  assert.equal(body.connection.state.submitted, 16)
})
