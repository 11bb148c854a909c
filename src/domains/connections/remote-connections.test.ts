import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { testDatabase } from '../../../test/database.ts'
import { needs } from '../../../test/needs.ts'
import { type Platform, startPlatform, until } from '../../../test/platform.ts'
import { component, secret, startProsody } from '../../../test/prosody.ts'
import { openCarrier } from '../../adapters/sip-gateway/testing.ts'
import { startSmsc } from '../sms/sms-testing.ts'

// Roles split over processes: the process that receives the request runs no connection.

const db = await testDatabase()
const started: Platform[] = []
const start = async (roles: string): Promise<Platform> => {
  const platform = await startPlatform(undefined, {
    ...{ DATABASE_URL: db.url, TRUNKLINE_MASTER_KEY: 'a master key for these tests', TRUNKLINE_ROLES: roles },
    ...{ TRUNKLINE_SANDBOX: 'false', TRUNKLINE_RTP_PORTS: '0', TRUNKLINE_WEBRTC_PORTS: '0' },
  })
  started.push(platform)
  return platform
}
after(() => Promise.all(started.map((one) => one.end('SIGKILL'))))

const smsc = await startSmsc()
after(() => smsc.close())
const api = await start('api,console')

const create = async (kind: string, name: string, settings: object): Promise<string> => {
  const created = await api.call('POST', '/operator/connections', { kind, name, settings })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  return created.body.connection.uuid
}
const tried = async (id: string) => (await api.call('POST', `/operator/connections/${id}/test`)).body
const stateOf = async (id: string) => (await api.call('GET', `/operator/connections/${id}`)).body.connection.state
const listed = async (id: string) =>
  (await api.call('GET', '/operator/connections')).body.connections.find(({ uuid }: { uuid: string }) => uuid === id)
const examined = async (name: string) => (await api.call('POST', `/operator/trunks/${name}/check`)).body

test(
  'an api process shows and tests connections where they run, and reports when no process runs them',
  needs('prosody'),
  async (t) => {
    const prosody = await startProsody(t, ['15550000001'])
    const carrier = await openCarrier(t)
    const login = { host: '127.0.0.1', system_id: 'us', password: 'secret' }
    const smpp = await create('smpp', 'sms', { ...login, port: smsc.port })
    const shut = await create('smpp', 'shut', { ...login, port: 1 })
    const trunk = await create('sip-trunk', 'trunk', { host: '127.0.0.1', port: carrier.port })
    const link = {
      mode: 'component',
      host: '127.0.0.1',
      port: prosody.componentPort,
      domain: 'localhost',
      component,
      secret,
    }
    const chat = await create('xmpp', 'chat', link)

    await t.test('without a worker', async () => {
      assert.deepEqual(await tried(smpp), {
        ...{ success: true, working: false },
        message: 'no process with the role worker is running: start one (TRUNKLINE_ROLES)',
      })
      assert.equal(await stateOf(smpp), undefined)
      const { working, findings } = await examined('trunk')
      assert.equal(working, false)
      assert.deepEqual([findings.length, findings[0].what, findings[0].well], [1, 'reach', false])
      assert.match(findings[0].found, /no process with the role voice is running/)
    })

    const worker = await start('worker,voice')
    await t.test('with a worker', async () => {
      for (const [id, state] of [
        [smpp, 'bound'],
        [chat, 'up'],
        [trunk, 'up'],
      ] as const) {
        assert.deepEqual(await tried(id), { success: true, working: true, message: state })
        await until(async () => (await listed(id)).state?.state === state)
        const { processes } = await stateOf(id)
        assert.equal(processes.length, 1)
        assert.match(processes[0].process, /, process \d+$/)
      }
      const failed = await tried(shut)
      assert.equal(failed.working, false)
      assert.match(failed.message, /ECONNREFUSED/)
      await until(async () => /ECONNREFUSED/.test((await stateOf(shut))?.last_error ?? ''))
      const { working, findings } = await examined('trunk')
      assert.equal(working, true)
      assert.ok(findings.some(({ what, well }: { what: string; well: boolean }) => what === 'options' && well))
      // A connection created a moment ago, of which the worker has not learned yet.
      assert.equal((await tried(await create('smpp', 'young', { ...login, port: smsc.port }))).message, 'bound')
    })

    await t.test('a connection that is not enabled', async () => {
      await api.call('PATCH', `/operator/connections/${trunk}`, { enabled: false })
      assert.match((await examined('trunk')).findings[0].found, /not enabled/)
      await until(async () => (await stateOf(trunk)) === undefined)
    })

    await t.test('once the worker was killed', async () => {
      await worker.end('SIGKILL')
      await until(async () => (await stateOf(smpp)) === undefined)
      assert.match((await tried(smpp)).message, /^no process with the role worker/)
    })
  },
)
