import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { inspect } from 'node:util'
import { onEachPostgres, type TestDatabase } from '../../../test/database.ts'
import { until } from '../../../test/platform.ts'
import { quoteIdentifier } from './identifier.ts'
import { connect, hasColumnsOfTable, isUnavailable, joinJson } from './sql.ts'

test('a statement has the columns of a table if its result has a star that no function gives', () => {
  const wide = [
    'select * from users where id = $1 for no key update',
    'select c.*, g.name from c join g on true',
    'update calls set a = 1 returning *',
    'select n.* from unnest($1::uuid[]) i (id) cross join lateral (select * from calls where id = i.id) n',
  ]
  const fixed = [
    'select count(*) from (select * from users) u',
    'select a * b as product from sums',
    'select * from jobs_claim($1, (select 1))',
    'select g.*, p.x from unnest($1, $2) as g (a, b) join p on true',
    'insert into a (b) select g.*, app_now() from unnest($1) g on conflict do nothing',
    'with gone as (delete from b returning *) select id from gone',
  ]
  assert.deepEqual(
    [wide, fixed].map((texts) => texts.map(hasColumnsOfTable)),
    [wide.map(() => true), fixed.map(() => false)],
  )
})

onEachPostgres((database) => {
  let db: TestDatabase
  before(async () => {
    db = await database()
  })

  test('a statement whose table got a column is sent again, also within a transaction', async () => {
    const one = connect({ url: db.url, connections: 1 })
    const all = (sql: Pick<typeof one, 'many'>) => sql.many`select * from wide`
    const widen = (name: string) => db.raw(`alter table wide add column ${quoteIdentifier(name)} integer default 1`)
    await db.raw('create table wide (a integer); insert into wide values (1)')
    assert.deepEqual(await all(one), [{ a: 1 }])
    await widen('b')
    assert.deepEqual(await all(one), [{ a: 1, b: 1 }])
    await widen('c')
    assert.deepEqual(await one.begin((tx) => all(tx)), [{ a: 1, b: 1, c: 1 }])
    await widen('d')
    const late = one.begin(async (tx) => {
      await tx.run`update wide set a = 2`
      return await all(tx)
    })
    assert.deepEqual(await late, [{ a: 2, b: 1, c: 1, d: 1 }])
    await one.end()
  })

  test('values are read back as written', async () => {
    const row = await db.one<Record<string, unknown>>`
      select ${'text'}::text as text, ${12}::bigint as count, ${'0.007500'}::numeric as money, ${true}::boolean as flag,
        ${['a', 'b']}::text[] as list, ${{ a: [1] }}::jsonb as object, ${null}::text as nothing`
    assert.deepEqual(row, {
      text: 'text',
      count: 12,
      money: '0.007500',
      flag: true,
      list: ['a', 'b'],
      object: { a: [1] },
      nothing: null,
    })
  })

  test('arrays are read back as written, whatever their elements contain', async () => {
    const texts = ['', 'NULL', null, 'a, {b}', '"quoted"', 'back\\slash', '\\"', ' spaces\n', 'Grüße 👋', '\u001f']
    const dates = [new Date(0), null, new Date('2026-11-27T12:00:00.123Z')]
    const row = await db.one<Record<string, unknown>>`
      select ${texts}::text[] as texts, ${[]}::text[] as none, ${[1, null, -2.5, Number.NaN]}::double precision[] as numbers,
        ${[12n, 2n ** 40n]}::bigint[]::text[] as counts, ${[true, false, null]}::boolean[] as flags, ${dates}::timestamptz[] as dates,
        ${[['a', '"'], ['c', '\\']]}::text[] as nested`
    assert.deepEqual(row, {
      texts,
      none: [],
      numbers: [1, null, -2.5, Number.NaN],
      counts: ['12', '1099511627776'],
      flags: [true, false, null],
      dates,
      nested: [
        ['a', '"'],
        ['c', '\\'],
      ],
    })
  })

  test('JSON texts are read back as written, though one contains the separator', async () => {
    const texts = [{ text: 'a\u001f"b"\\' }, {}, { list: ['Grüße 👋'] }].map((each) => JSON.stringify(each))
    for (const list of [texts, []]) {
      const { found } = await db.one<{ found: string[] }>`select string_to_array(${joinJson(list)}, chr(31)) as found`
      assert.deepEqual(found, list)
    }
  })

  test('an error contains no value of a row or of a statement, however it is printed', async () => {
    const mark = 'ZQXMARK'
    await db.raw(
      `create table marked (id integer, text text unique deferrable initially deferred, check (text <> '${mark}'))`,
    )
    const failing: (() => Promise<unknown>)[] = [
      () => db.run`insert into marked values (1, ${mark})`,
      () => db.run`select ${mark}::text::integer`,
      () => db.run`select ${`{"${mark}`}::text::json`,
      () => db.run`select ${mark}::text::timestamptz`,
      () => db.run`select ${`{${mark}`}::text::text[]`,
      () => db.raw('select $1::uuid', [mark]),
      () => db.raw(`do $$ begin perform '${mark}'::integer; end $$`),
      () =>
        db.begin(async (tx) => {
          for (let i = 0; i < 2; i++) await tx.run`insert into marked values (${i}, ${`twice ${mark}`})`
        }),
    ]
    for (const [i, attempt] of failing.entries()) {
      const error: unknown = await attempt().catch((error: unknown) => error)
      assert.ok(error instanceof Error && 'code' in error, String(i))
      assert.doesNotMatch(inspect(error, { depth: 9, showHidden: true }), /ZQXMARK/)
      assert.match(error.stack ?? '', /\n {4}at /)
    }
    await db.raw('drop table marked')
  })

  test('a failed transaction leaves nothing behind, and its effects do not happen', async () => {
    let effects = 0
    const work = db.begin(async (tx) => {
      await tx.run`insert into installation_state (name, value) values ('half', '1')`
      tx.afterCommit(() => effects++)
      throw new Error('changed my mind')
    })
    await assert.rejects(work, /changed my mind/)
    assert.equal(await db.maybe`select from installation_state where name = 'half'`, null)
    assert.equal(effects, 0)
  })

  test('effects of a transaction run after its commit', async () => {
    const seen: unknown[] = []
    await db.begin(async (tx) => {
      await tx.run`insert into installation_state (name, value) values ('whole', '1')`
      tx.afterCommit(() => seen.push('effect'))
      seen.push('work')
    })
    assert.deepEqual(seen, ['work', 'effect'])
    assert.equal((await db.many`select from installation_state where name = 'whole'`).length, 1)
  })

  test('a transaction with an ignored failed statement does not count as committed', async () => {
    let effects = 0
    const work = db.begin(async (tx) => {
      await tx.run`insert into installation_state (name, value) values ('passed', '1')`
      tx.afterCommit(() => effects++)
      await tx.run`select 1 / 0`.catch(() => {})
    })
    await assert.rejects(work, /was rolled back: a failed statement in it was ignored/)
    assert.equal(await db.maybe`select from installation_state where name = 'passed'`, null)
    assert.equal(effects, 0)
  })

  test('an effect that throws is reported, and neither undoes the commit nor stops the next effect', async () => {
    const said: string[] = []
    const own = connect({ url: db.url, onError: (error) => said.push(error.message) })
    await own.begin(async (tx) => {
      tx.afterCommit(() => {
        throw new Error('broken effect')
      })
      tx.afterCommit(() => said.push('next effect'))
    })
    assert.deepEqual(said, ['broken effect', 'next effect'])
    assert.deepEqual(own.load(), { total: 1, idle: 1, waiting: 0 })
    await own.end()
  })

  test('after a burst, idle sessions close, and the one in use stays open', async () => {
    const own = connect({ url: db.url, idleMs: 50 })
    const pids: number[] = []
    const all = Promise.withResolvers<void>()
    const transaction = () =>
      own.begin(async (tx) => {
        const { pid } = await tx.one<{ pid: number }>`select pg_backend_pid() as pid`
        if (pids.push(pid) === 8) all.resolve()
        await all.promise
      })
    await Promise.all(Array.from({ length: 8 }, transaction))
    assert.equal(new Set(pids).size, 8)
    await own.begin(async (tx) => {
      const backend = () => tx.one<{ pid: number }>`select pg_backend_pid() as pid`
      const { pid } = await backend()
      const others = pids.filter((one) => one !== pid)
      await until(async () => {
        const { open } = await db.one<{ open: number }>`
          select count(*) as open from pg_stat_activity where pid = any(${others})`
        return open === 0
      })
      assert.deepEqual([(await backend()).pid, own.load().total], [pid, 1])
    })
    await own.end()
  })

  test('a broken connection is replaced, and the caller gets the error', async () => {
    const said: string[] = []
    const own = connect({ url: db.url, connections: 1, onError: (error) => said.push(error.message) })
    const { pid } = await own.one<{ pid: number }>`select pg_backend_pid() as pid`
    const broken = own.begin(async (tx) => {
      await db.raw('select pg_terminate_backend($1)', [pid])
      await tx.one`select 1`
    })
    await assert.rejects(broken, isUnavailable)
    assert.notEqual((await own.one<{ pid: number }>`select pg_backend_pid() as pid`).pid, pid)
    await own.end()
  })

  test('just-in-time compilation is off, whatever the database sets, unless the address requests it', async () => {
    const { name } = await db.one<{ name: string }>`select current_database() as name`
    await db.raw(`alter database ${quoteIdentifier(name)} set jit = on`)
    const shown = async (options: string | null, patient = false) => {
      const url = new URL(db.url)
      if (options !== null) url.searchParams.set('options', options)
      const own = connect({ url: url.href, connections: 1, unlimited: patient })
      const row = await own.one<{ jit: string; memory: string }>`
        select current_setting('jit') as jit, current_setting('work_mem') as memory`
      await own.end()
      return [row.jit, row.memory]
    }
    const [, memory] = await shown(null)
    assert.deepEqual(await shown(null), ['off', memory])
    assert.deepEqual(await shown(null, true), ['off', memory])
    assert.deepEqual(await shown('-c work_mem=7MB'), ['off', '7MB'])
    assert.deepEqual(await shown('-c jit=on'), ['on', memory])
  })

  test('a statement that times out counts as unavailable', async () => {
    const slow = db.begin(async (tx) => {
      await tx.run`set local statement_timeout = 1`
      await tx.run`select pg_sleep(60)`
    })
    await assert.rejects(slow, isUnavailable)
  })

  test('one() requires exactly one row', async () => {
    await assert.rejects(db.one`select from generate_series(1, 2)`, /expected one row, got 2/)
    await assert.rejects(db.one`select where false`, /expected one row, got 0/)
  })
})
