import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { makeWorld } from '../../../test/world.ts'
import { makeChat } from '../messages/testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { call } = world

let asked = 0
const server = createServer((_, response) => {
  asked++
  response.writeHead(503).end()
}).listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => server.close())
const { port } = server.address() as AddressInfo // it listens on TCP
const url = `http://127.0.0.1:${port}/us.png`

test('a picture whose address answers only later holds up neither the status nor groups', async () => {
  const tenant = await world.tenant()
  const { line, network } = await makeChat(world, tenant.id)
  const statuses: string[] = []
  network.setPicture = async () => ({ outcome: 'done', value: null })
  network.setStatus = async (_channel, text) => {
    statuses.push(text)
    return { outcome: 'done', value: null }
  }
  network.createGroup = async () => ({ outcome: 'done', value: { id: '120363025246125486@g.us', participants: [] } })
  network.changeGroup = async () => ({ outcome: 'done', value: [] })
  const must = async (path: string, body: object) => {
    const answer = await call(tenant, 'POST', path, body)
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body
  }
  await must(`/open/msgapp/set-profile-picture/${line.number}`, { url })
  await until(async () => asked > 0)
  await must(`/open/msgapp/set-status/${line.number}`, { status: 'Open until six' })
  const participants = ['+447400123456']
  const { group } = await must('/open/msgapp/group/create', {
    from_number: line.number,
    group: { name: 'Chess', participants },
  })
  await must(`/open/msgapp/group/${group.uuid}/set-picture`, { url })
  await until(async () => asked > 1)
  await must(`/open/msgapp/group/${group.uuid}/set-description`, { description: 'On Mondays' })
  await until(async () => statuses.length > 0)
  assert.deepEqual(statuses, ['Open until six'])
})
