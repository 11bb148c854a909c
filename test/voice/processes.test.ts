import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, describe, type TestContext, test } from 'node:test'
import WebSocket from 'ws'
import { answer, closedAfter, dial, fromBrowser } from '../../src/adapters/sip-gateway/testing.ts'
import { openVoicePlatform, usersOf } from '../../src/domains/calls/call-testing.ts'
import { makeRelay, type Relay } from '../chaos/relay.ts'
import { testDatabase } from '../database.ts'
import { makeSoftphone } from '../media/softphone.ts'
import { makeTelephone } from '../media/telephone.ts'
import { buyNumber, type Platform, startPlatform, until } from '../platform.ts'
import { freePortSettings } from './voice-fixture.ts'

// Several processes with the role voice on one database: one of them runs the calls.

const db = await testDatabase()
const common = { ...freePortSettings, DATABASE_URL: db.url, TRUNKLINE_MASTER_KEY: 'a master key for these tests' }
const started: Platform[] = []

const start = async (env: Record<string, string>): Promise<Platform> => {
  const made = await startPlatform(undefined, { ...common, ...env })
  started.push(made)
  return made
}

const voiceState = async ({ call }: Platform) => (await call('GET', '/readyz')).body.voice
const runsCalls = async ({ call }: Platform) => (await call('GET', '/readyz?role=voice')).status === 200

/** The status and Retry-After that answer a browser's WebSocket. */
const openingAnswer = async ({ url }: Platform) => {
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

/** The database behind a network that may fail. */
const databaseBehindRelay = async (t: TestContext): Promise<{ url: string; relay: Relay }> => {
  const url = new URL(db.url)
  const folder = url.searchParams.get('host')
  const relay = await makeRelay(t, folder ? `${folder}/.s.PGSQL.5432` : Number(url.port || 5432))
  url.searchParams.delete('host')
  url.host = `127.0.0.1:${relay.port}`
  return { url: url.href, relay }
}

/** An answered call to a telephone. */
const talk = async (t: TestContext, platform: Platform) => {
  const { carrier, browser, trunk } = await openVoicePlatform(t, platform)
  const [user = ''] = await usersOf(platform)
  const phone = await browser(user)
  const { dialled } = await dial(phone, fromBrowser(phone, '+447700900555'), await closedAfter(t, makeSoftphone()))
  const { ends } = await answer(await carrier.call(), await closedAfter(t, makeTelephone()))
  await until(async () => dialled.session)
  /** Removes the trunk, so that the next call uses the next carrier. */
  const leave = (by: Platform) => by.call('DELETE', `/operator/connections/${trunk}`)
  return { phone, ends, dialled, leave }
}

const newest = async ({ call }: Platform) => (await call('GET', '/open/voip/call-history')).body.cdrs[0]

/**
 * Waits until the process that took over has closed the newest call and the carrier knows.
 * @returns the call's record
 */
const closedBy = async (next: Platform, ends: readonly string[]) => {
  const began = Date.now()
  const cdr = await until(async () => {
    const found = await newest(next)
    return found.active === false ? found : null
  }, 60)
  await until(async () => ends.length > 0, 60)
  // The promise is ten seconds; a busy machine is given more.
  assert.ok(Date.now() - began < 60_000, `${Date.now() - began} ms`)
  assert.deepEqual([cdr.status, cdr.end_reason], ['COMPLETED', 'interrupted'])
  assert.deepEqual(ends, ['remote'])
  await until(() => runsCalls(next))
  return cdr
}

describe('of several processes', () => {
  let first: Platform
  let second: Platform
  before(async () => {
    first = await start({ TRUNKLINE_SANDBOX: 'true' })
    // Processes without the sandbox show no number that the sandbox sold.
    await db.run`
      insert into caller_ids (account_id, id, phone_number, friendly_name, iso_country_code, type, verified)
      select id, gen_random_uuid(), '+442079460599', 'Proved', 'GB', 'CI', true from accounts limit 1`
    // All processes use one port, which the first holds exclusively.
    second = await start({ TRUNKLINE_ROLES: 'api,voice', TRUNKLINE_SIP_PORT: String(first.voicePort) })
  })
  after(() => Promise.all(started.map((one) => one.end('SIGKILL'))))

  test('one process runs the calls; another one refuses them, says why, and takes over when the first is killed', async (t) => {
    assert.deepEqual(await voiceState(first), { state: 'running' })
    await until(async () => (await voiceState(second)).state === 'standby')
    assert.equal((await voiceState(second)).reason, 'another process runs the calls')
    assert.deepEqual([await runsCalls(first), await runsCalls(second)], [true, false])
    assert.deepEqual(await openingAnswer(second), { status: 503, later: '2' })
    assert.equal((await openingAnswer(first)).status, 101)
    assert.match(second.output(), /another process runs the calls: this one takes over/)

    await buyNumber(first)
    const { ends, leave } = await talk(t, first)
    await first.end('SIGKILL')
    await closedBy(second, ends)
    await leave(second)
    // The next call works as any other, at the same port.
    const next = await talk(t, second)
    assert.equal((await newest(second)).active, true)
    await next.dialled.session?.bye()
    await until(async () => (await newest(second)).active === false)
  })

  test('a code by call can be requested from any process, and the one that runs the calls places it', async (t) => {
    const runner = (await runsCalls(first).catch(() => false)) ? first : second
    const asked = await start({ TRUNKLINE_ROLES: 'api' })
    const { carrier } = await openVoicePlatform(t, runner, { prefixes: ['4420794605'] })
    const path = '/open/voip/caller-ids'
    const body = { phone_number: '+442079460501', method: 'call', from_number: '+442079460599' }
    const made = await asked.call('POST', path, body)
    assert.equal(made.status, 201, JSON.stringify(made.body))
    const telephone = await closedAfter(t, makeTelephone())
    const { ends } = await answer(await carrier.call(), telephone)
    await until(async () => telephone.received > 20)
    await telephone.press(made.body.code)
    await until(async () => ends.length > 0)
    await until(async () => {
      const { caller_ids } = (await asked.call('GET', path)).body
      return caller_ids.some((one: typeof made.body) => one.phone_number === body.phone_number && one.verified)
    })
  })

  test('a process that hung or lost its database loses the calls, and does not change them when it resumes', async (t) => {
    const { url, relay } = await databaseBehindRelay(t)
    const third = await start({ TRUNKLINE_ROLES: 'api,voice', DATABASE_URL: url })
    /** Makes one process lose the calls during a call, then restores what it lacked. */
    const takeOver = async (from: Platform, next: Platform, stop: () => void, go: () => void) => {
      const { ends, phone, leave } = await talk(t, from)
      stop()
      const closed = await closedBy(next, ends)
      go()
      // The process disconnects the browsers, which reconnect to the new owner of the calls.
      await until(async () => phone.code === 1001, 60)
      await until(async () => (await voiceState(from)).state === 'standby', 60)
      assert.deepEqual([await runsCalls(from), await runsCalls(next)], [false, true])
      const { recording_url: _, ...kept } = closed
      assert.partialDeepStrictEqual(await newest(next), kept)
      await leave(next)
    }
    const signal = (name: NodeJS.Signals) => () => process.kill(second.pid, name)
    await takeOver(second, third, signal('SIGSTOP'), signal('SIGCONT'))
    await takeOver(third, second, relay.mute, relay.up)

    // An operator may ask any process to end a call.
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

    // A process that is stopped cleanly hands over at once.
    const asked = Date.now()
    await second.end()
    await until(() => runsCalls(third), 60)
    t.diagnostic(`handed over ${Date.now() - asked} ms after the stop request`)
  })
})
