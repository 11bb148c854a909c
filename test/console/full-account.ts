import { quoteIdentifier } from '../../src/platform/db/identifier.ts'
import { fillLists } from '../list-rows.ts'
import { member } from '../persons.ts'
import type { World } from '../world.ts'

/** An account with 24 rows in every list. Half of them differ in what the walk filters by. */
export const fullAccount = async (world: World) => {
  const tenant = await world.tenant()
  const owner = await member(world, tenant, 'owner')
  const hook = { hook_url: 'http://127.0.0.1:9000/crm', event_names: ['contact.created'] }
  const { webhooks } = (await world.call(tenant, 'POST', '/open/webhooks', hook)).body
  const channel = `00000001${tenant.id.slice(8)}`
  const owners = { account: tenant.id, smsChannel: channel, chatChannel: channel, group: 'GB' }
  await fillLists(world.db, { ...owners, webhook: webhooks[0].uuid.slice(3) }, { from: 0, to: 24 })
  for (const [table, change] of [
    ['virtual_numbers', "status_text = 'SUSPENDED'"],
    ['contacts', 'blocked_at = now()'],
    ['sms_messages', "direction = 'inbound', status = 'received'"],
    ['calls', "direction = 'I'"],
    ['api_requests', "method = 'POST'"],
  ])
    await world.db.raw(
      `update ${quoteIdentifier(table ?? '')} set ${change} where account_id = '${tenant.id}' and get_byte(uuid_send(id), 3) % 2 = 1`,
    )
  return { tenant, owner }
}
