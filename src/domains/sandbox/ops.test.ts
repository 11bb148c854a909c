import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pino from 'pino'
import { until } from '../../../test/platform.ts'
import { temporaryFolder } from '../../../test/servers.ts'
import { makeWorld } from '../../../test/world.ts'
import { giveNumber } from '../sms/sms-testing.ts'
import { numbersPerProvision } from './limits.ts'
import { syncNumbers } from './ops.ts'
import { makeSimulatorClient, type SimulatorClient } from './simulator-client.ts'
import { startSimulator } from './simulator-process.ts'

const world = await makeWorld()
const { db, tenant, parts } = world
const owner = await tenant()
const carrier = await startSimulator(temporaryFolder(), { smpp: 0, sip: 0 }, pino({ level: 'silent' }))
after(carrier.stop)

type Lines = Parameters<SimulatorClient['provision']>[0]
/** What the simulator was sent, a request each. */
const requests: Lines[] = []
let isRefusing = false
const client = makeSimulatorClient(() => ({ port: carrier.controlPort, token: carrier.token }))
const simulator: SimulatorClient = {
  ...client,
  provision: async (lines) => {
    if (isRefusing) throw new Error('refused')
    requests.push(lines)
    await client.provision(lines)
  },
}
const errors: unknown[] = []
const sent = () => requests.splice(0).flat()

/** Makes the rows of a number older than the overlap of two polls. */
const age = () =>
  Promise.all([
    db.run`update virtual_numbers set updated_at = now() - interval '1 hour'`,
    db.run`update sms_channels set updated_at = now() - interval '1 hour'`,
  ])

test('numbers reach the simulator in pages, then only those that changed, whoever changes them', async (t) => {
  const { number: first } = await giveNumber(world, owner)
  await db.run`
    insert into virtual_numbers (account_id, id, number, group_id, iso_country_code, region_name, type, friendly_name,
      monthly_price, ppm, status_text, expires_at)
    select ${owner.id}, uuidv7(), '+4479000' || (10000 + n), 'g', 'GB', '', 'mobile', 'n', 1, 0, 'ACTIVE', 'infinity'
    from generate_series(1, ${2 * numbersPerProvision - 1}::integer) n`
  await age()
  // A poll finds changes too, seconds later: the topics are what makes it quick.
  const topics: string[] = []
  const changes: typeof parts.changes = {
    ...parts.changes,
    on: (topic, effect) => {
      topics.push(topic)
      parts.changes.on(topic, effect)
    },
  }
  const sync = await syncNumbers({ db, changes, clock: parts.clock, simulator }, (error) => errors.push(error))
  assert.deepEqual(topics, ['numbers', 'purchases'])
  t.after(sync.end)
  assert.deepEqual(
    requests.map(({ length }) => length),
    [numbersPerProvision, numbersPerProvision],
    'two full pages, and no empty one',
  )
  const lines = sent()
  assert.equal(new Set(lines.map(({ number }) => number)).size, 2 * numbersPerProvision)
  assert.deepEqual(
    lines.filter(({ texts }) => texts),
    [{ number: first, texts: true, calls: true }],
    'one of them has an SMS channel',
  )

  /** The numbers that changed since: a poll may send them again. */
  const changed = new Set<string>()
  const change = async (topic: 'numbers' | 'purchases'): Promise<string> => {
    const { number } = await giveNumber(world, owner)
    changed.add(number)
    await db.begin((tx) => parts.changes.invalidate(tx, topic))
    return number
  }
  const isSent = async (number: string, what: string) => {
    await until(async () => requests.flat().some((line) => line.number === number))
    for (const { number: one, ...uses } of sent()) {
      assert.ok(changed.has(one), `${what}: ${one} had not changed`)
      assert.deepEqual(uses, { texts: true, calls: true }, one)
    }
  }
  for (const topic of ['numbers', 'purchases'] as const) await isSent(await change(topic), topic)

  isRefusing = true
  const late = await change('numbers')
  await until(async () => errors.length > 0)
  isRefusing = false
  await db.begin((tx) => parts.changes.invalidate(tx, 'numbers'))
  await isSent(late, 'what the simulator refused comes again')
})
