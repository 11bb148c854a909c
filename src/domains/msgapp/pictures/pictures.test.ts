import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { until } from '../../../../test/platform.ts'
import { makeWorld } from '../../../../test/world.ts'
import { makeChatHarness } from '../messages/testing.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { call } = world

let requestCount = 0
const png = Buffer.from('89504e470d0a1a0a', 'hex')
const mostBytes = 5 * 1024 * 1024
const files = new Map([
  ['/whole.png', Buffer.concat([png, Buffer.alloc(mostBytes - png.length)])],
  ['/larger.png', Buffer.concat([png, Buffer.alloc(mostBytes - png.length + 1)])],
  ['/page.png', Buffer.from('<html>')],
])
const server = createServer(({ url: path = '' }, response) => {
  const file = files.get(path)
  if (file) return response.end(file)
  requestCount++
  response.writeHead(503).end()
}).listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => server.close())
const { port } = server.address() as AddressInfo // it listens on TCP
const url = `http://127.0.0.1:${port}/us.png`

test('a picture whose server answers late delays neither the status nor groups', async () => {
  const tenant = await world.tenant()
  const { line, network } = await makeChatHarness(world, tenant.id)
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
  await until(async () => requestCount > 0)
  await must(`/open/msgapp/set-status/${line.number}`, { status: 'Open until six' })
  const participants = ['+447400123456']
  const { group } = await must('/open/msgapp/group/create', {
    from_number: line.number,
    group: { name: 'Chess', participants },
  })
  await must(`/open/msgapp/group/${group.uuid}/set-picture`, { url })
  await until(async () => requestCount > 1)
  await must(`/open/msgapp/group/${group.uuid}/set-description`, { description: 'On Mondays' })
  await until(async () => statuses.length > 0)
  assert.deepEqual(statuses, ['Open until six'])
})

test('a picture of 5 MiB is set; a larger one, or a file that is not a picture, is rejected with the reason', async () => {
  const tenant = await world.tenant()
  const { line, network } = await makeChatHarness(world, tenant.id)
  const sizes: (number | undefined)[] = []
  network.setPicture = async (_channel, image) => {
    sizes.push(image?.length)
    return { outcome: 'done', value: null }
  }
  for (const [path, name, detail] of [
    ['/whole.png', 'picture-set', ''],
    ['/larger.png', 'picture-failed', 'the picture is over 5 MB'],
    ['/page.png', 'picture-failed', 'it is neither a JPEG nor a PNG'],
  ] as const) {
    const body = { url: `http://127.0.0.1:${port}${path}` }
    assert.equal((await call(tenant, 'POST', `/open/msgapp/set-profile-picture/${line.number}`, body)).status, 200)
    await until(
      () => world.db.maybe`
        select 1 from msgapp_link_events
        where channel_id = ${line.channel} and name = ${name} and right(detail, length(${detail})) = ${detail}`,
    )
  }
  assert.deepEqual(sizes, [mostBytes])
})
