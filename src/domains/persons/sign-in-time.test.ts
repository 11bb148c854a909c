import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TestDatabase, testDatabase } from '../../../test/database.ts'
import { callAs, member } from '../../../test/persons.ts'
import { makeWorld } from '../../../test/world.ts'
import type { Sql } from '../../platform/db/sql.ts'

// A wrong sign-in takes the same time for everyone, within 10 %. A clock would measure the load of the machine. So the
// work is compared: the statements, and the processor time of the process, nearly all of which is one argon2id.

/** Statements on persons, users and the audit trail. */
let statements: string[] = []

const watched = <T extends Sql>(sql: T): T => {
  const ask =
    <A extends readonly unknown[], R>(run: (parts: TemplateStringsArray, ...values: A) => R) =>
    (parts: TemplateStringsArray, ...values: A): R => {
      const text = parts.join('?')
      if (/\b(?:persons|users|audit)\b/.test(text)) statements.push(text)
      return run(parts, ...values)
    }
  return { ...sql, maybe: ask(sql.maybe), many: ask(sql.many), one: ask(sql.one), run: ask(sql.run) }
}

const database = await testDatabase()
const db: TestDatabase = { ...watched(database), begin: (work) => database.begin((tx) => work(watched(tx))) }
const world = await makeWorld({}, {}, { db })

const kinds = ['known', 'suspended', 'without.password', 'in.many.accounts'] as const
/** Persons of each kind: one makes fewer attempts than the pace permits. */
const count = 61
const accounts = await Promise.all(Array.from({ length: 20 }, () => world.tenant()))
const [home = assert.fail()] = accounts
const model = await member(world, home, 'billing')
await db.run`
  insert into persons (id, email, email_key, name, password_hash, suspended_at)
  select gen_random_uuid(), made.email, made.email, made.kind,
    case when made.kind <> 'without.password' then p.password_hash end, case when made.kind = 'suspended' then now() end
  from persons p, (
    select kind, kind || n || '@example.com' as email
    from unnest(${kinds}::text[]) as kind, generate_series(1, ${count}) as n) as made
  where p.id = ${model.boot.person.uuid.slice(3)}`
await db.run`
  insert into users (account_id, id, first_name, last_name, email, status, person_id, role)
  select account, gen_random_uuid(), 'Per', 'Son', p.email, 'ACTIVE', p.id, 'agent'
  from persons p, unnest(${accounts.map(({ id }) => id)}::uuid[]) as account
  where p.name = 'in.many.accounts' or p.name = any(${kinds}::text[]) and account = ${home.id}`

/** Makes a wrong attempt. @returns milliseconds of processor time of this process */
const attempt = async (kind: string, n: number): Promise<number> => {
  const body = { email: `${kind}${n}@example.com`, password: 'a wrong password' }
  const before = process.cpuUsage()
  const { status } = await callAs(world, null, 'POST', '/console/session', body)
  const { user, system } = process.cpuUsage(before)
  assert.equal(status, 401)
  return (user + system) / 1_000
}

test('a wrong sign-in makes the same statements for everyone', async () => {
  const madeFor = async (kind: string) => {
    statements = []
    await attempt(kind, 1)
    return statements
  }
  const forUnknown = await madeFor('nobody')
  assert.equal(forUnknown.length, 3)
  for (const kind of kinds) assert.deepEqual(await madeFor(kind), forUnknown, kind)
})

test('a wrong sign-in takes the same processor time for everyone', async () => {
  const times = new Map<string, number[]>([...kinds, 'nobody'].map((kind) => [kind, []]))
  const medians = () =>
    [...times].map(([kind, all]) => [kind, all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0] as const)
  const isEven = () => {
    const all = medians().map(([, ms]) => ms)
    return Math.min(...all) >= 0.9 * Math.max(...all)
  }
  for (let n = 2; n <= count; n++) {
    // In turns, so that what else happens on the machine concerns all alike. A busy one needs more turns.
    for (const [kind, all] of times) all.push(await attempt(kind, n))
    if (n % 15 === 1 && isEven()) return
  }
  assert.fail(`medians in ms: ${JSON.stringify(medians())}`)
})
