import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { giveNumber } from '../../src/domains/sms/sms-testing.ts'
import { testDatabase } from '../database.ts'
import { atEnd } from '../endings.ts'
import { longForm } from '../needs.ts'
import { type Platform, startPlatform, until } from '../platform.ts'
import { type StrictSmsc, startStrictSmsc } from './strict-smsc.ts'

/**
 * Several workers on one database and one carrier: pace, order and binds hold over all of them, also when the owner of the
 * connection is killed or stalls. The full form has one kill; `npm run chaos` has both refusals, 200 messages, stops, stalls,
 * shared connections, and a carrier that one worker cannot reach.
 */
const long = process.env.TRUNKLINE_TEST_LONG === '1'
const messages = long ? 200 : 20
/** Submits that may be in flight when a process is killed: the window of a bind. */
const window = 10
const takeoverMs = 20_000
/** The carrier counts a lost bind for longer than a lease lasts: the new owner is refused. */
const lingerMs = 13_000
const pace = 5

const db = await testDatabase()
const workers: Platform[] = []
const smscs: StrictSmsc[] = []
after(() => {
  for (const smsc of smscs) smsc.close()
})

const startOne = async (): Promise<void> => {
  const worker = await startPlatform(undefined, {
    ...{ DATABASE_URL: db.url, TRUNKLINE_MASTER_KEY: 'a master key for these tests', TRUNKLINE_ROLES: 'api,worker' },
    TRUNKLINE_SANDBOX: 'false',
  })
  atEnd(async () => void (await worker.end('SIGKILL')))
  workers.push(worker)
}
const any = (): Platform => workers[0] ?? assert.fail('no worker runs')

await startOne()
const account: string = (await any().call('GET', '/open/info')).body.account.uuid.slice(3)
await any().call('POST', `/operator/accounts/ACC${account}/credit`, { amount: '1000' })
await any().call('PUT', '/operator/prices', { prices: [{ kind: 'sms_out', prefix: '', price: '0.01' }] })

const makeSmsc = async (settings: Partial<StrictSmsc>): Promise<StrictSmsc> => {
  const smsc = Object.assign(await startStrictSmsc(), settings)
  smscs.push(smsc)
  return smsc
}

type Settings = { readonly tps: number; readonly binds?: number }

/** Connects the carrier alone, and waits for its binds. */
const connect = async (smsc: StrictSmsc, settings: Settings): Promise<string> => {
  const { connections } = (await any().call('GET', '/operator/connections')).body
  for (const { uuid } of connections) await any().call('DELETE', `/operator/connections/${uuid}`)
  const { body } = await any().call('POST', '/operator/connections', {
    kind: 'smpp',
    name: `carrier ${smscs.length}`,
    settings: { host: '127.0.0.1', port: smsc.port, system_id: 'me', password: 'secret', ...settings },
  })
  const { binds = 1 } = settings
  await until(async () => smsc.bound().length === binds)
  return body.connection.uuid
}

type Holder = { readonly process: string; readonly slots?: number; readonly state: string }

/** The workers that run a connection, by what any process shows. */
const holders = async (connection: string): Promise<{ worker: Platform; slots: number }[]> => {
  const { state } = (await any().call('GET', `/operator/connections/${connection}`)).body.connection
  const processes: Holder[] = state?.processes ?? []
  return processes.flatMap(({ process, slots = 1, state: link }) => {
    const worker = workers.find(({ pid }) => process.endsWith(`process ${pid}`))
    return worker && link === 'bound' ? [{ worker, slots }] : []
  })
}

const ownerOf = async (connection: string): Promise<Platform> =>
  await until(async () => {
    const [owner, ...others] = await holders(connection)
    return others.length === 0 && owner?.worker
  })

const kill = async (worker: Platform): Promise<void> => {
  workers.splice(workers.indexOf(worker), 1)
  await worker.end('SIGKILL')
}

let sent = 0
/** Sends messages of one account one after the other, each by the next process. */
const send = async (from: string, contacts: readonly string[], count: number): Promise<void> => {
  for (let i = 0; i < count; i++, sent++) {
    const body = { from_number: from, to_number: contacts[sent % contacts.length], text: String(sent) }
    const answer = await (workers[sent % workers.length] ?? any()).call('POST', '/open/sms/send', body)
    assert.equal(answer.status, 202, JSON.stringify(answer.body))
  }
}

/** First arrivals of the messages to one contact, as numbers. */
const firsts = ({ submits }: StrictSmsc, contact: string): number[] => [
  ...new Set(submits.flatMap(({ destination, text }) => (destination === contact ? [Number(text)] : []))),
]

const assertOrder = (smsc: StrictSmsc, contacts: readonly string[], from: number): void => {
  for (const contact of contacts) {
    const expected = Array.from({ length: sent - from }, (_, i) => from + i).filter(
      (n) => contacts[n % contacts.length] === contact,
    )
    assert.deepEqual(firsts(smsc, contact), expected, `messages to ${contact}: none lost, in order`)
  }
}

/** At most so many submits begin in any ten seconds. */
const assertPace = ({ submits }: StrictSmsc, tps: number): void => {
  for (const [i, { at }] of submits.entries()) {
    const within = submits.slice(i).filter((other) => other.at - at < 10_000).length
    assert.ok(within <= tps * 10 + 1, `${within} submits in 10 s`)
  }
}

const isDone = (smsc: StrictSmsc, from: number) => async () =>
  new Set(smsc.submits.map(({ text }) => text)).size === sent - from

const { number } = await giveNumber({ db }, { id: account })
const contact = '+447911123456'
const several = Array.from({ length: 8 }, (_, i) => `+4479111234${60 + i}`)

test('a second and a third worker connect to no carrier that one has: state names the owner', async () => {
  await startOne()
  await startOne()
  const smsc = await makeSmsc({})
  const connection = await connect(smsc, { tps: pace })
  const owner = await ownerOf(connection)
  for (const worker of workers) {
    const { body } = await worker.call('POST', `/operator/connections/${connection}/test`)
    assert.deepEqual([body.working, body.message], [true, 'bound'])
    const { state } = (await worker.call('GET', `/operator/connections/${connection}`)).body.connection
    assert.deepEqual(
      state.processes.map((one: Holder) => one.process.endsWith(`process ${owner.pid}`)),
      [true],
    )
  }
  assert.deepEqual([smsc.bound().length, smsc.refused], [1, 0])
})

for (const refusal of long ? (['ESME_RBINDFAIL', 'ESME_RALYBND'] as const) : (['ESME_RBINDFAIL'] as const))
  test(`three workers keep pace and order while the owner is killed, and the carrier answers ${refusal} for a while`, async (t) => {
    while (workers.length < 3) await startOne()
    const smsc = await makeSmsc({ refusal, lingerMs })
    const connection = await connect(smsc, { tps: pace })
    const from = sent
    const owner = await ownerOf(connection)
    await send(number, [contact], messages / 2)
    await until(async () => smsc.submits.length >= messages / 4)
    await kill(owner)
    const killedAt = performance.now()
    const before = smsc.submits.length
    await send(number, [contact], messages / 2)
    await until(async () => smsc.submits.length > before)
    const tookMs = (smsc.submits[before]?.at ?? Number.NaN) - killedAt
    await until(isDone(smsc, from), 120)
    t.diagnostic(`takeover after ${(tookMs / 1_000).toFixed(1)} s, ${smsc.refused} binds were refused`)
    assert.ok(smsc.refused > 0, 'the carrier refused a bind')
    assert.ok(tookMs <= takeoverMs, `took over after ${tookMs} ms`)
    assertOrder(smsc, [contact], from)
    assertPace(smsc, pace)
    assert.ok(smsc.submits.length - (sent - from) <= window, 'at most a window of messages arrives twice')
  })

test(
  'two workers share the binds, the pace and the window of a connection, and each pair keeps its order',
  longForm(),
  async () => {
    while (workers.length > 2) await workers.pop()?.end()
    const smsc = await makeSmsc({ maxBinds: 2 })
    const tps = 10
    const connection = await connect(smsc, { tps, binds: 2 })
    const from = sent
    await until(async () => (await holders(connection)).filter(({ slots }) => slots === 1).length === 2)
    const rebound = smsc.bound()
    assert.equal(rebound.length, 2)
    await send(number, several, messages)
    await until(isDone(smsc, from), 120)
    assertOrder(smsc, several, from)
    assertPace(smsc, tps)
    const shares = rebound.map((bind) => smsc.submits.filter((one) => one.bind === bind))
    for (const share of shares) {
      assert.ok(share.length > 0, 'both workers submit')
      // A tenth is for the first part, and for the times of arrival.
      const seconds = ((share.at(-1)?.at ?? 0) - (share[0]?.at ?? 0)) / 1_000
      assert.ok(
        share.length <= 1.1 * (1 + (seconds * tps) / 2),
        `${share.length} submits of one worker in ${seconds} s`,
      )
    }
  },
)

test('a worker that stalls beyond its lease submits nothing when it goes on', longForm(), async () => {
  while (workers.length < 2) await startOne()
  const smsc = await makeSmsc({ maxBinds: 2 })
  const connection = await connect(smsc, { tps: pace })
  const from = sent
  const owner = await ownerOf(connection)
  const [stalled = 0] = smsc.bound()
  await send(number, [contact], messages)
  await until(async () => smsc.submits.length >= 5)
  process.kill(owner.pid, 'SIGSTOP')
  await until(async () => smsc.submits.some(({ bind }) => bind !== stalled))
  const before = smsc.submits.filter(({ bind }) => bind === stalled).length
  process.kill(owner.pid, 'SIGCONT')
  await until(async () => !smsc.bound().includes(stalled))
  await until(isDone(smsc, from), 120)
  assert.equal(smsc.submits.filter(({ bind }) => bind === stalled).length, before)
  assertOrder(smsc, [contact], from)
})

test(
  'a worker that stops releases its connections: another has them at once, and nothing is lost or out of order',
  longForm(),
  async (t) => {
    while (workers.length < 2) await startOne()
    const smsc = await makeSmsc({})
    const connection = await connect(smsc, { tps: pace })
    const from = sent
    const owner = await ownerOf(connection)
    await send(number, [contact], messages / 2)
    await until(async () => smsc.submits.length >= 5)
    workers.splice(workers.indexOf(owner), 1)
    const [former = assert.fail('no bind')] = smsc.bound()
    const stoppedAt = performance.now()
    const ended = owner.end()
    await until(async () => smsc.bound().some((bind) => bind !== former), 15)
    const tookMs = performance.now() - stoppedAt
    t.diagnostic(`bound again ${(tookMs / 1_000).toFixed(2)} s after the signal`)
    // Sooner than a lease could have ended by itself.
    assert.ok(tookMs < 5_000, `took over after ${tookMs} ms`)
    assert.equal(await ended, 0)
    await send(number, [contact], messages / 2)
    await until(isDone(smsc, from), 120)
    assertOrder(smsc, [contact], from)
    assertPace(smsc, pace)
  },
)

/** The owners of the first slot of a connection, and of the queue. */
const owners = async (connection: string) =>
  await db.one<{ slot: string; queue: string }>`
    select (select owner from carrier_leases where name = ${`${connection.slice(3)}/0`} and leased_until > clock_timestamp()) as slot,
      (select owner from carrier_leases where name = 'queue') as queue`

test(
  'a worker that cannot reach a carrier gives it up after 30 s, and has it again when the other stops',
  longForm(),
  async (t) => {
    while (workers.length < 2) await startOne()
    const smsc = await makeSmsc({})
    const connection = await connect(smsc, { tps: pace })
    const from = sent
    const before = await owners(connection)
    const reader = await ownerOf(connection)
    await send(number, [contact], messages / 4)
    await until(async () => smsc.submits.length >= 5)
    smsc.cut()
    const cutAt = performance.now()
    await send(number, [contact], messages / 4)
    await until(async () => ![null, before.slot].includes((await owners(connection)).slot), 60)
    t.diagnostic(`given up after ${((performance.now() - cutAt) / 1_000).toFixed(1)} s`)
    smsc.isReachable = true
    const substitute = await ownerOf(connection)
    assert.notEqual(substitute.pid, reader.pid)
    assert.equal((await owners(connection)).queue, before.queue, 'the queue stays where it is')
    await send(number, [contact], messages / 4)
    await until(async () => smsc.submits.length > messages / 2)
    workers.splice(workers.indexOf(substitute), 1)
    const ended = substitute.end()
    await send(number, [contact], messages / 4)
    assert.equal(await ended, 0)
    await until(isDone(smsc, from), 120)
    assertOrder(smsc, [contact], from)
    assertPace(smsc, pace)
  },
)
