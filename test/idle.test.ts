import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startDatabase } from '../bench/database.ts'
import { connect } from '../src/platform/db/sql.ts'
import { startPlatform, until } from './platform.ts'

// An installation that nobody uses. Time is counted in heartbeats of the voice lease, one in a second.

const beats = { settling: 5, counted: 10 }
const mostStatements = 12

test('an idle platform sends at most twelve statements a second, nested ones counted', async () => {
  const server = await startDatabase(0, true)
  const platform = await startPlatform(undefined, { DATABASE_URL: server.url, TRUNKLINE_SANDBOX: 'false' })
  const db = connect({ url: server.superuserUrl, connections: 1 })
  after(async () => {
    await db.end()
    await platform.end()
    await server.stop()
  })
  const wait = async (count: number) => {
    const beat = async () => (await db.one<{ beats: number }>`select beats from voice_lease`).beats
    const end = (await beat()) + count
    await until(async () => (await beat()) >= end, 60, 500)
  }
  const statements = async () =>
    Number(
      (
        await db.one<{ calls: string }>`
          select coalesce(sum(calls), 0)::text as calls from pg_stat_statements s join pg_database d on d.oid = s.dbid
          where userid <> (select oid from pg_roles where rolname = current_user) and datname = current_database()`
      ).calls,
    )
  await wait(beats.settling)
  // Every ten minutes many schedules run. The next count then has none of them.
  const rates: number[] = []
  while (rates.length < 3 && !rates.some((rate) => rate <= mostStatements)) {
    const before = await statements()
    await wait(beats.counted)
    rates.push(((await statements()) - before) / beats.counted)
  }
  const shown = `${rates.map((rate) => rate.toFixed(1))} statements a second`
  console.log(shown)
  assert.ok(Math.min(...rates) <= mostStatements, shown)
})
