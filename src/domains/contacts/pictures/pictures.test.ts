import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { makeWorld, type Tenant } from '../../../../test/world.ts'
import { maxPictureBytes } from '../limits.ts'
import { imageFormatOf } from './image-format.ts'

const { app, call, tenant } = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })

/** A PNG of a size, as far as its header goes. */
const png = (width: number, height: number): Buffer => {
  const bytes = Buffer.alloc(40)
  Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').copy(bytes)
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}
const jpeg = Buffer.from('ffd8ffe000104a46494600010100000100010000ffc0001108012c01900301220002110103110100', 'hex')
const gif = Buffer.from('474946383961200140010000', 'hex')
const webp = {
  lossy: Buffer.from('524946462400000057454250565038201800000030010 09d012a20014001000000'.replace(/\s/g, ''), 'hex'),
  lossless: Buffer.from('5249464600000000574542505650384c000000002f1f4141000000000000000000', 'hex'),
  extended: Buffer.from('52494646000000005745425056503858000000000000000 03f01001f0100'.replace(/\s/g, ''), 'hex'),
}

let requestCount = 0
const files = new Map<string, Buffer>([
  ['/ada.png', png(512, 300)],
  ['/ada.jpg', jpeg],
  ['/large.png', png(513, 300)],
  ['/page.html', Buffer.from('<html><script>alert(1)</script>')],
  ['/picture.svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
  ['/long.png', Buffer.concat([png(10, 10), Buffer.alloc(maxPictureBytes)])],
])
const server = createServer(({ url = '' }, response) => {
  requestCount++
  const file = files.get(url)
  if (url === '/cut.png') response.destroy()
  else if (file) response.end(file)
  else response.writeHead(404).end()
}).listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => server.close())
const { port } = server.address() as AddressInfo // it listens on TCP

const pictureOf = async (who: Tenant, profile_pic_url: string | null) => {
  const body = { first_name: 'Ada', contact_details: [{ type: 'A', value: 'x' }], profile_pic_url }
  const { contact } = (await call(who, 'POST', '/open/contacts', body)).body
  const url = `/open/contacts/${contact.uuid}/picture`
  return app.inject({ url, headers: { 'x-user-api-key': who.key } })
}

test('a picture is passed on with its type, and downloaded once for many requests', async () => {
  const who = await tenant()
  const url = `http://127.0.0.1:${port}/ada.png`
  const answers = await Promise.all([1, 2, 3].map(() => pictureOf(who, url)))
  for (const { statusCode, headers, rawPayload } of [...answers, await pictureOf(who, url)]) {
    assert.equal(statusCode, 200)
    assert.equal(headers['content-type'], 'image/png')
    assert.match(String(headers['cache-control']), /^private, max-age=86400/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.deepEqual(rawPayload, png(512, 300))
  }
  assert.equal(requestCount, 1)
  assert.equal((await pictureOf(who, `http://127.0.0.1:${port}/ada.jpg`)).headers['content-type'], 'image/jpeg')
})

test('a picture that is absent, too large, or no picture is 404, and the message says why', async () => {
  const who = await tenant()
  for (const [path, why] of [
    [null, 'none is set'],
    ['/large.png', 'it has 513 pixels a side, and may have 512'],
    ['/long.png', `it has over ${maxPictureBytes} bytes`],
    ['/page.html', 'its address leads to no JPEG, PNG, GIF or WebP'],
    ['/picture.svg', 'its address leads to no JPEG, PNG, GIF or WebP'],
    ['/none.png', 'its address answered 404'],
    ['/cut.png', 'its address'],
  ] as const) {
    const answer = await pictureOf(who, path && `http://127.0.0.1:${port}${path}`)
    assert.deepEqual([answer.statusCode, answer.json().error_code], [404, 'no_picture'], answer.body)
    assert.ok(answer.json().error_message.includes(why), answer.body)
  }
})

test('addresses of our own network are never fetched', async () => {
  const real = await makeWorld({ TRUNKLINE_ALLOW_PRIVATE_HOOKS: 'false' })
  const who = await real.tenant()
  const before = requestCount
  const body = { first_name: 'Ada', contact_details: [{ type: 'A', value: 'x' }] }
  const profile_pic_url = `http://127.0.0.1:${port}/ada.png`
  const { contact } = (await real.call(who, 'POST', '/open/contacts', { ...body, profile_pic_url })).body
  const answer = await real.call(who, 'GET', `/open/contacts/${contact.uuid}/picture`)
  assert.deepEqual([answer.status, answer.body.error_code, requestCount], [404, 'no_picture', before])
})

test('type and size are read from the first bytes of every kind of picture, and from no other file', () => {
  assert.deepEqual(imageFormatOf(png(3, 4)), { type: 'image/png', width: 3, height: 4 })
  assert.deepEqual(imageFormatOf(jpeg), { type: 'image/jpeg', width: 400, height: 300 })
  assert.deepEqual(imageFormatOf(gif), { type: 'image/gif', width: 288, height: 320 })
  assert.deepEqual(imageFormatOf(webp.lossy), { type: 'image/webp', width: 288, height: 320 })
  assert.deepEqual(imageFormatOf(webp.lossless), { type: 'image/webp', width: 288, height: 262 })
  assert.deepEqual(imageFormatOf(webp.extended), { type: 'image/webp', width: 320, height: 288 })
  for (const whole of [png(3, 4), jpeg, gif, webp.lossy, webp.lossless, webp.extended])
    for (let length = 0; length < whole.length; length++) imageFormatOf(whole.subarray(0, length))
  assert.equal(imageFormatOf(Buffer.from('ffd8ffe00000', 'hex')), null)
})
