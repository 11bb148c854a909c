import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, type TestContext, test } from 'node:test'
import WebSocket from 'ws'
import { openExchange, usersOf } from '../../src/calls/testing.ts'
import { answer, dial, fromBrowser, kept } from '../../src/connectors/sip/gateway/testing.ts'
import { makeRelay, type Relay } from '../chaos/relay.ts'
import { testDatabase } from '../database.ts'
import { makeSoftphone } from '../media/softphone.ts'
import { makeTelephone } from '../media/telephone.ts'
import { buyNumber, type Platform, startPlatform, until } from '../platform.ts'
import { voice } from './scene.ts'

// Several processes with the role voice on one database: one of them runs the calls.

const db = await testDatabase()
const common = { ...voice, DATABASE_URL: db.url, TRUNKLINE_MASTER_KEY: 'a master key for these tests' }
const started: Platform[] = []

const start = async (env: Record<string, string>): Promise<Platform> => {
  const made = await startPlatform(undefined, { ...common, ...env })
  started.push(made)
  return made
}

const standing = async ({ call }: Platform) => (await call('GET', '/readyz')).body.voice
const runs = async ({ call }: Platform) => (await call('GET', '/readyz?role=voice')).status === 200

/** With what a browser's WebSocket is answered. */
const knock = async ({ url }: Platform) => {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/voice`, 'sip')
  const told = await Promise.race([
    once(socket, 'open').then(() => ({ status: 101, later: undefined })),
    once(socket, 'unexpected-response').then(([, { statusCode, headers }]) => ({
      ...{ status: statusCode, later: headers['retry-after'] },
    })),
  ])
  socket.terminate()
  return told
}

/** The database as it is reached over a network that may fail. */
const distant = async (t: TestContext): Promise<{ url: string; relay: Relay }> => {
  const url = new URL(db.url)
  const folder = url.searchParams.get('host')
  const relay = await makeRelay(t, folder ? `${folder}/.s.PGSQL.5432` : Number(url.port || 5432))
  url.searchParams.delete('host')
  url.host = `127.0.0.1:${relay.port}`
  return { url: url.href, relay }
}

/** A call to a telephone that was answered. */
const talk = async (t: TestContext, platform: Platform) => {
  const { carrier, browser, trunk } = await openExchange(t, platform)
  const [user = ''] = await usersOf(platform)
  const phone = await browser(user)
  const { dialled } = await dial(phone, fromBrowser(phone, '+447700900555'), await kept(t, makeSoftphone()))
  const { ends } = await answer(await carrier.call(), await kept(t, makeTelephone()))
  await until(async () => dialled.session)
  /** So that the next call goes to the next carrier. */
  const leave = (by: Platform) => by.call('DELETE', `/operator/connections/${trunk}`)
  return { phone, ends, dialled, leave }
}

const newest = async ({ call }: Platform) => (await call('GET', '/open/voip/call-history')).body.cdrs[0]

/** Until the newest call was closed by whoever has taken over, and the carrier knows. @returns its record */
const closedBy = async (next: Platform, ends: readonly string[]) => {
  const began = Date.now()
  const cdr = await until(async () => {
    const found = await newest(next)
    return found.active === false ? found : null
  }, 60)
  await until(async () => ends.length > 0, 60)
  // Ten seconds are the promise; a busy machine is given more.
  assert.ok(Date.now() - began < 60_000, `${Date.now() - began} ms`)
  assert.deepEqual([cdr.status, cdr.end_reason], ['COMPLETED', 'interrupted'])
  assert.deepEqual(ends, ['remote'])
  await until(() => runs(next))
  return cdr
}

describe('of several processes', () => {
  let first: Platform
  let second: Platform
  before(async () => {
    first = await start({ TRUNKLINE_SANDBOX: 'true' })
    // The very port of the first, which lets nobody else have it before.
    second = await start({ TRUNKLINE_ROLES: 'api,voice', TRUNKLINE_SIP_PORT: String(first.voicePort) })
  })
  after(() => Promise.all(started.map((one) => one.end('SIGKILL'))))

  test('one runs the calls; another one refuses them, says why, and takes over when that one is killed', async (t) => {
    assert.deepEqual(await standing(first), { state: 'running' })
    await until(async () => (await standing(second)).state === 'standby')
    assert.equal((await standing(second)).reason, 'another process runs the calls')
    assert.deepEqual([await runs(first), await runs(second)], [true, false])
    assert.deepEqual(await knock(second), { status: 503, later: '2' })
    assert.equal((await knock(first)).status, 101)
    assert.match(second.output(), /another process runs the calls: this one takes over/)

    await buyNumber(first)
    const { ends, leave } = await talk(t, first)
    await first.end('SIGKILL')
    await closedBy(second, ends)
    await leave(second)
    // And the next one is a call like any other, at the same port.
    const next = await talk(t, second)
    assert.equal((await newest(second)).active, true)
    await next.dialled.session?.bye()
    await until(async () => (await newest(second)).active === false)
  })

  test('one that hung, or lost its database, has lost the calls, and changes nothing of them when it goes on', async (t) => {
    const { url, relay } = await distant(t)
    const third = await start({ TRUNKLINE_ROLES: 'api,voice', DATABASE_URL: url })
    /** Takes the calls from one in the midst of one, and gives it back what it lacked. */
    const takeOver = async (from: Platform, next: Platform, stop: () => void, go: () => void) => {
      const { ends, phone, leave } = await talk(t, from)
      stop()
      const closed = await closedBy(next, ends)
      go()
      // It sends the browsers away, who come back to where the calls are now.
      await until(async () => phone.code === 1001, 60)
      await until(async () => (await standing(from)).state === 'standby', 60)
      assert.deepEqual([await runs(from), await runs(next)], [false, true])
      const { recording_url: _, ...kept } = closed
      assert.partialDeepStrictEqual(await newest(next), kept)
      await leave(next)
    }
    const signal = (name: NodeJS.Signals) => () => process.kill(second.pid, name)
    await takeOver(second, third, signal('SIGSTOP'), signal('SIGCONT'))
    await takeOver(third, second, relay.mute, relay.up)

    // An operator may ask any process for the end of a call.
    const last = await talk(t, second)
    const { uuid, account_uuid } = await newest(third)
    const asking = await third.call('POST', `/operator/accounts/${account_uuid}/calls/${uuid}/hangup`)
    assert.equal(asking.status, 202, JSON.stringify(asking.body))
    await until(async () => last.ends.length > 0 && last.dialled.ends.length > 0, 60)
    const cut = await until(async () => {
      const found = await newest(third)
      return found.active === false ? found : null
    }, 60)
    assert.equal(cut.end_reason, 'operator')
    await last.leave(second)

    // Stopped as it should be, it hands over at once.
    const asked = Date.now()
    await second.end()
    await until(() => runs(third), 60)
    t.diagnostic(`handed over ${Date.now() - asked} ms after it was told to stop`)
  })
})
