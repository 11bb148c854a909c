import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { until } from '../../../test/platform.ts'
import type { Tenant } from '../../../test/world.ts'
import { callerIdOf } from '../callers/ops.ts'
import { giveNumber, makeSmsWorld, startSmsc } from '../sms/sms-testing.ts'

const world = await makeSmsWorld()
const smsc = await startSmsc()
const { call, tenant, connect, db } = world
after(async () => {
  await world.stop()
  smsc.close()
})
await connect('of the sandbox', smsc, { sandbox: true })

const path = '/open/voip/caller-ids'

/** Proves a number by the code that a sandbox handset received. @returns the caller ID */
const prove = async (who: Tenant, phone_number: string): Promise<string> => {
  const before = smsc.submits.length
  const { status, body } = await call(who, 'POST', path, { phone_number })
  assert.equal(status, 201, JSON.stringify(body))
  const sent = await until(async () => smsc.submits[before])
  const url = `${path}/${body.caller_id.uuid}/verify`
  const proved = await call(who, 'POST', url, { code: sent.text.slice(0, 6) })
  assert.deepEqual([proved.status, proved.body.caller_id?.verified], [200, true], JSON.stringify(proved.body))
  return body.caller_id.uuid
}

test('a code that a sandbox carrier carried proves a number only within the sandbox', async () => {
  const who = await tenant()
  await giveNumber(world, who)
  const number = '+447911400001'
  const id = await prove(who, number)
  assert.equal((await call(who, 'POST', path, { phone_number: number })).body.error_code, 'caller_id_exists')

  const settings = {
    mode: 'component',
    host: '127.0.0.1',
    port: 9,
    domain: 'example.net',
    component: 'numbers.example.net',
  }
  const network = { kind: 'xmpp', name: 'xmpp', settings: { ...settings, secret: 'x' }, enabled: false, shared: true }
  const created = await call('operator', 'POST', '/operator/connections', network)
  assert.equal(created.status, 201, JSON.stringify(created.body))
  const claim = { phone_number: number, connection: created.body.connection.uuid }
  const claimed = await call(who, 'POST', '/open/msgapp/channel/create', claim)
  assert.deepEqual([claimed.status, claimed.body.error_code], [403, 'number_unproved'])

  assert.equal(await callerIdOf(db, who.id, number, 'GB'), null, 'a call to a real trunk does not present it')
  assert.equal(
    (await callerIdOf(db, who.id, number, 'GB', { simulated: true, isSandbox: true }))?.number,
    number,
    'a call within the sandbox presents it',
  )

  await call('operator', 'PATCH', `/operator/accounts/${who.uuid}`, { sandbox: false })
  const { caller_ids } = (await call(who, 'GET', path)).body
  assert.equal(
    caller_ids.find(({ uuid }: { uuid: string }) => uuid === id)?.verified,
    false,
    'the proof ends with the sandbox mark',
  )

  await call('operator', 'POST', `/operator/accounts/${who.uuid}/number-grants`, { phone_number: number })
  assert.equal((await callerIdOf(db, who.id, number, 'GB'))?.number, number, 'another proof counts in addition')
})
