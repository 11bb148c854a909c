import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { before, test } from 'node:test'
import { type TestDatabase, testDatabase } from '../../../test/database.ts'
import { makeOutageMonitor } from './outage-monitor.ts'
import { connect, isUnavailable } from './sql.ts'
import { asDatabaseError, DatabaseUnavailable, unavailabilityOf } from './unavailability.ts'

let db: TestDatabase
before(async () => {
  db = await testDatabase()
})

const caught = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  )

/** An error of the real server with a SQLSTATE. */
const raised = (state: string) => caught(db.raw(`do $$ begin raise exception sqlstate '${state}'; end $$`))

test('one table decides what a SQLSTATE means: an outage, an outage of writes, a late statement, or no fault of the server', async () => {
  const means = async (state: string) => unavailabilityOf(await raised(state))
  for (const state of ['08006', '28P01', '3D000', '53200', '53300', '57P01', '57P03'])
    assert.equal(await means(state), 'down', state)
  for (const state of ['25006', '53100', '58030', '58P01']) assert.equal(await means(state), 'no-writes', state)
  for (const state of ['55P03', '57014', '57P05', '40P01']) assert.equal(await means(state), 'late', state)
  for (const state of ['22P02', '23505', '40001', '42P01', '54000', 'XX001'])
    assert.equal(await means(state), null, state)
})

test('a missing file, or another server that refuses, is no fault of the database', async () => {
  const file = await caught(readFile('/nowhere/file'))
  assert.match(String(file), /ENOENT/)
  const free = createServer()
  await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve))
  const address = free.address()
  const port = address && typeof address === 'object' ? address.port : 0
  await new Promise((resolve) => free.close(resolve))
  const other = await caught(fetch(`http://127.0.0.1:${port}/`))
  for (const error of [file, other, other instanceof Error ? other.cause : null])
    assert.equal(isUnavailable(error), false, String(error))
  // The same codes of a connection to the database.
  const gone = connect({ url: `postgres://one@127.0.0.1:${port}/none`, connections: 1 })
  assert.equal(unavailabilityOf(await caught(gone.one`select 1`)), 'down')
  assert.equal(unavailabilityOf(await caught(gone.begin(async () => {}))), 'down')
  await gone.end()
  const noSocket = connect({ url: 'postgres://one@localhost/none?host=/nowhere', connections: 1 })
  assert.equal(unavailabilityOf(await caught(noSocket.one`select 1`)), 'down')
  await noSocket.end()
})

test('a missing file inside a transaction is no fault of the database', async () => {
  assert.equal(isUnavailable(await caught(db.begin(() => readFile('/nowhere/file')))), false)
})

/** A monitor with a clock that the test moves, and what it reported. */
const watched = () => {
  const reported: string[] = []
  let at = 0
  const monitor = makeOutageMonitor(
    {
      began: () => reported.push('began'),
      ended: (seconds, errors) => reported.push(`ended ${seconds} s ${errors}`),
      late: (_error, count) => reported.push(`late ${count}`),
    },
    () => at,
  )
  const move = (milliseconds: number) => {
    at += milliseconds
  }
  return { monitor, reported, move }
}

test('an outage of writes ends with a proof of a write, and not with the answer to a read', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { monitor, reported, move } = watched()
  const settled = () => new Promise(setImmediate)
  let isFull = true
  monitor.proveWritesBy(async () => {
    if (isFull) throw new DatabaseUnavailable('full', 'no-writes')
  })
  monitor.failed(new DatabaseUnavailable('full', 'no-writes', '53100'))
  move(5_000)
  monitor.answered()
  t.mock.timers.tick(1_000)
  await settled()
  assert.deepEqual(reported, ['began'])
  isFull = false
  t.mock.timers.tick(1_000)
  await settled()
  assert.deepEqual(reported, ['began', 'ended 0 s 1'])
})

test('an outage of the server ends with the first answer a second after the last failure', () => {
  const { monitor, reported, move } = watched()
  const lost = () => asDatabaseError(new Error('Connection terminated unexpectedly'))
  monitor.failed(lost())
  move(900)
  monitor.failed(lost())
  monitor.answered()
  assert.deepEqual(reported, ['began'])
  move(1_000)
  monitor.answered()
  assert.deepEqual(reported, ['began', 'ended 0.9 s 2'])
})

test('late statements are no outage, and are reported once a minute with their number', async () => {
  const { monitor, reported, move } = watched()
  for (let i = 0; i < 3; i++) monitor.failed(await raised('57014'))
  move(60_000)
  monitor.failed(await raised('57014'))
  assert.deepEqual(reported, ['late 1', 'late 3'])
})
