import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { until } from '../../../test/platform.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { makeWorld } from '../../../test/world.ts'
import { startWorker } from '../../jobs/worker.ts'
import { inbound, makeChat } from '../messages/testing.ts'
import { discarding } from './discarding.ts'

const home = temporaryFolder()
const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true', TRUNKLINE_HOME: home })
const { call, db, parts } = world
const worker = startWorker({ db, kinds: [discarding(parts.chat.media)], log: parts.log })
after(() => worker.stop())

type Shown = { uuid: string; session_key: string; message: { media: { url?: string; error?: string; size?: number } } }

/** A number to which pictures come; `hold` stops their fetching until its promise ends. */
const furnish = async () => {
  const tenant = await world.tenant()
  const chat = await makeChat(world, tenant.id)
  const bytes = randomBytes(1_000)
  const digest = createHash('sha256').update(bytes).digest('hex')
  const path = join(home, 'media', tenant.id, digest.slice(0, 2), digest)
  const given = { hold: Promise.resolve(), asked: 0 }
  chat.network.media = async () => {
    given.asked++
    await given.hold
    return { outcome: 'done', value: { mimeType: null, body: Readable.from([bytes]) } }
  }
  const come = (number: string) =>
    chat.intake.inbound(
      chat.line,
      inbound({ number, media: { ref: { id: 'f' }, type: 'image', mimeType: 'image/png', name: null, size: null } }),
    )
  const list = async (): Promise<Shown[]> =>
    (await call(tenant, 'GET', `/open/msgapp/messages/${chat.line.number}`)).body.messages
  const remove = async ({ session_key, uuid }: Shown) => {
    const done = await call(tenant, 'DELETE', `/open/msgapp/message/${encodeURIComponent(session_key)}/${uuid}`)
    assert.equal(done.status, 200, JSON.stringify(done.body))
  }
  /** Waits until nothing is to be taken away any more. */
  const settled = () =>
    until(async () => !(await db.maybe`select 1 from jobs where kind = 'msgapp.media.discard' limit 1`))
  const kept = (n: number) =>
    until(
      async () => (await list()).filter(({ message }) => message.media.size === bytes.length).length === n && list(),
    )
  return { tenant, chat, path, given, come, list, remove, settled, kept }
}

test('the bytes of a file leave the store with the last message that has them', async () => {
  const { path, come, remove, settled, kept } = await furnish()
  await come('+447700900123')
  await come('+447700900124')
  const [newer, older] = await kept(2)
  assert.ok(newer && older && existsSync(path))
  await remove(newer)
  await settled()
  assert.ok(existsSync(path), 'the other message has them')
  await remove(older)
  await until(async () => !existsSync(path))
  await come('+447700900125')
  await kept(1)
  assert.ok(existsSync(path), 'what comes again is kept again')
})

test('another account’s bytes are its own, though they are the same', async () => {
  const { path, come, remove, settled, kept, tenant } = await furnish()
  await come('+447700900123')
  const [one] = await kept(1)
  assert.ok(one)
  const other = await world.tenant()
  assert.notEqual(other.id, tenant.id)
  await parts.chat.media.discard(other.id, Buffer.from(path.slice(-64), 'hex'))
  assert.ok(existsSync(path))
  await remove(one)
  await settled()
  assert.ok(!existsSync(path))
})

test('what was deleted while it was fetched is not left in the store', async () => {
  const { path, come, remove, settled, list, given, tenant } = await furnish()
  const { promise, resolve } = Promise.withResolvers<void>()
  given.hold = promise
  await come('+447700900123')
  await until(async () => given.asked === 1)
  const [one] = await list()
  assert.ok(one)
  await remove(one)
  resolve()
  // The fetch ends, one way or the other.
  await until(async () => !(await db.maybe`select 1 from jobs where account_id = ${tenant.id} limit 1`))
  await settled()
  assert.ok(!existsSync(path))
})

test('a file that comes while the same one is taken away is there in the end', async () => {
  const { path, come, remove, settled, kept, list } = await furnish()
  await come('+447700900100')
  for (let n = 1; n <= 25; n++) {
    const [last] = await kept(1)
    assert.ok(last && existsSync(path), `round ${n}`)
    await Promise.all([come(`+4477009001${String(n).padStart(2, '0')}`), remove(last)])
  }
  await kept(1)
  await settled()
  assert.ok(existsSync(path))
  const [last] = await list()
  assert.equal(
    (await world.app.inject({ url: last?.message.media.url?.replace(/^http:\/\/[^/]+/, '') ?? '' })).statusCode,
    200,
  )
})
