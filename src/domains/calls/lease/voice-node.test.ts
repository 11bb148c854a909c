import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { putPrices } from '../../../../test/prices.ts'
import { makeWorld } from '../../../../test/world.ts'
import type { CallPrograms } from '../orders/call-programs.ts'
import { openVoiceNode } from './voice-node.ts'

const ports = { TRUNKLINE_RTP_PORTS: '0', TRUNKLINE_WEBRTC_PORTS: '0' }
const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true', ...ports })
const { db, call, tenant, parts } = world
await putPrices(world, [{ kind: 'call_out', prefix: '', price: '0.01' }])
const settings = { host: '127.0.0.1', port: 9 }
await call('operator', 'POST', '/operator/connections', { kind: 'sip-trunk', name: 'trunk', settings })
/** As if this process ran the calls. */
await db.run`update voice_lease set holder = 'a test'`

const own = '+447911123456'

test('a hang-up that comes while a call is being placed ends it, and nobody is called', async (t) => {
  const who = await tenant()
  await db.run`
    insert into caller_ids (account_id, id, phone_number, friendly_name, iso_country_code, type, verified)
    values (${who.id}, gen_random_uuid(), ${own}, 'x', 'GB', 'CI', true)`
  const [asked, resolved] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const resolve: CallPrograms['resolve'] = async (...wish) => {
    asked.resolve()
    await resolved.promise
    return await parts.callPrograms.resolve(...wish)
  }
  const node = await openVoiceNode({
    ...{ db, sandboxAccounts: parts.sandboxAccounts, seal: parts.seal, prices: parts.prices, quotas: parts.quotas },
    ...{
      config: parts.config,
      log: parts.log,
      linkOf: () => '',
      urlOfRecording: () => '',
      host: 'localhost',
      epoch: 1,
    },
    ...{ callPrograms: { ...parts.callPrograms, resolve }, isHeld: () => true },
    trunks: () => [{ id: 'trunk', kind: 'sip-trunk', name: 'trunk', settings, revision: '' }],
  })
  t.after(() => node.close(0))
  const wish = { from_number: own, to: '+447911987654', verbs: [{ verb: 'hangup' }] }
  const { uuid: id } = (await call(who, 'POST', '/open/voip/calls', wish)).body.cdr
  await node.placeQueued()
  await asked.promise
  const told = call(who, 'POST', `/open/voip/call/${id}/commands`, { command: 'hangup' })
  await until(async () => (await db.many`select from call_commands where account_id = ${who.id}`).length === 1)
  await node.runCommands()
  resolved.resolve()
  assert.deepEqual((await told).body.outcome, { ok: true })
  const ended = await until(async () => {
    const { cdr } = (await call(who, 'GET', `/open/voip/call/${id}`)).body
    return cdr.active ? null : cdr
  })
  assert.deepEqual([ended.status, ended.end_reason], ['CANCELED', '487'])
})
