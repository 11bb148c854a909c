import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startProsodyPlatform } from '../../../test/counterparts/prosody-platform.ts'
import { needs } from '../../../test/needs.ts'
import { until } from '../../../test/platform.ts'

test(
  'a number that the sandbox sold leaves an XMPP network when its account loses the sandbox mark',
  needs('prosody'),
  async () => {
    const network = await startProsodyPlatform('component')
    after(network.end)
    const { call } = network
    const { uuid } = (await call('GET', '/open/info')).body.account
    const { groups } = (await call('GET', '/open/numbers/groups?country=GB&did_type=mobile')).body.data
    const bought = await call('POST', '/open/numbers/purchase', { group_id: groups[0].id })
    assert.equal(bought.status, 201, JSON.stringify(bought.body))
    const [phone_number] = bought.body.purchased
    const { connections } = (await call('GET', '/operator/connections')).body
    const { uuid: connection } = connections.find(({ kind }: { kind: string }) => kind === 'xmpp')
    const created = await call('POST', '/open/msgapp/channel/create', { phone_number, connection })
    assert.equal(created.status, 201, JSON.stringify(created.body))
    const status = async (channel: string) =>
      (await call('GET', `/open/msgapp/channel/${channel}/status`)).body.connection_status
    const stands = (channel: string, expected: string) => until(async () => (await status(channel)) === expected, 40)
    const channel = created.body.channel.uuid
    await stands(channel, 'C')

    const mark = async (sandbox: boolean) =>
      assert.equal((await call('PATCH', `/operator/accounts/${uuid}`, { sandbox })).status, 200)
    await mark(false)
    await stands(channel, 'D')
    const said = (await call('GET', `/open/msgapp/channel/${channel}/status`)).body
    assert.match(JSON.stringify(said), /the sandbox sold the number/)
    assert.equal(await status(network.channel.uuid), 'C', 'a number with a grant stays')
    await mark(true)
    await stands(channel, 'C')
  },
)
