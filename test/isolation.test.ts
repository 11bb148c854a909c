import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quoteIdentifier } from '../src/platform/db/identifier.ts'
import type { Contract } from '../src/platform/http/endpoint.ts'
import { writeCursor } from '../src/platform/lib/cursor.ts'
import { uuid } from '../src/platform/lib/id.ts'
import { everyFifth } from './needs.ts'
import { until } from './platform.ts'
import { recipes } from './recipes/all.ts'
import type { Recipe, Request } from './recipes/recipe.ts'
import { makeRecipeWorld, makeScene, requirement, type Scene } from './recipes/scene.ts'
import { fields, type Node, nodeOf, prefixOf, takesAnyForm } from './recipes/schema.ts'
import { type RawAnswer, send } from './recipes/send.ts'
import { anyRequest, spendRequest, usableRequest } from './recipes/usable.ts'
import { isWalkRestricted, walkedCompatContracts, walkedContracts } from './walked-contracts.ts'

// Two tenants, Ada and Bob. Bob has one of everything, with his mark in every string. A request of Ada's that names a
// thing of Bob's must be answered as if that thing never existed, byte for byte except the id itself.

const contracts: readonly Contract[] = [...walkedContracts, ...walkedCompatContracts]
const mark = 'ZQXBOBSMARKZQX'
const world = await makeRecipeWorld()
const ada = await makeScene(world, 'ada')
const bob = await makeScene(world, mark)

const recipeOf = (contract: Contract): Recipe =>
  recipes[contract.id] ?? assert.fail(`${contract.id} has no recipe: give it one in test/recipes`)
const ok = async (contract: Contract, scene: Scene): Promise<Request> => recipeOf(contract).ok(scene)
const usable = (contract: Contract, scene: Scene) => usableRequest(recipeOf(contract), scene)
/** Purchases of other requests take the number of a reservation, so these need a new one each time. */
const perishable = ['cancelReservation']
const spend = (contract: Contract, scene: Scene) =>
  perishable.includes(contract.id) ? ok(contract, scene) : spendRequest(recipeOf(contract), scene)

type Part = 'params' | 'query' | 'body'
/** The position of a value: property names, and 0 for the first item of a list. */
type Path = readonly (string | 0)[]
type Field = { part: Part; path: Path; name: string; node: Node }

const isId = (name: string, node: Node): boolean =>
  prefixOf(node) !== null || node.format === 'phone' || /(?:_uuid|_id|cursor|Sid)$/.test(name)

/** The identifiers in a schema, at any depth: `requirements.0.document_uuid`. */
const idsIn = (node: Node, path: Path = []): { path: Path; node: Node }[] => {
  const name = String(path.findLast((step) => step !== 0) ?? '')
  if (path.length > 0 && !node.items && !node.properties && isId(name, node)) return [{ path, node }]
  return [
    ...Object.entries(node.properties ?? {}).flatMap(([key, one]) => idsIn(one, [...path, key])),
    ...(node.items ? idsIn(node.items, [...path, 0]) : []),
    ...(prefixOf(node) === null ? (node.anyOf ?? []).flatMap((one) => idsIn(one, path)) : []),
  ]
}

/** The identifiers among the inputs of an endpoint. */
const idFields = (contract: Contract): Field[] =>
  (['params', 'query', 'body'] as const).flatMap((part) =>
    idsIn(nodeOf(contract[part])).map(({ path, node }) => ({ part, path, name: path.join('.'), node })),
  )

const at = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((found, step) => (found === undefined ? found : Object(found)[step]), value)

/** Returns the value with another one at a path; missing levels are created. */
const put = (value: unknown, path: Path, leaf: unknown): unknown => {
  const [step, ...rest] = path
  if (step === undefined) return leaf
  if (step === 0) return [put(Array.isArray(value) ? value[0] : undefined, rest, leaf)]
  // A document belongs to a requirement.
  const before = value ?? (step === 'document_uuid' ? { requirement_id: requirement } : {})
  return { ...Object(before), [step]: put(at(before, [step]), rest, leaf) }
}

const inputOf = (request: Request, { part, path }: Field): unknown => at(request[part], path)

const withValue = (request: Request, { part, path }: Field, value: unknown): Request => ({
  ...request,
  [part]: put(request[part], path, value),
})

let invented = 0
/** An identifier that never existed, in the form of a real one. */
const unknownId = (contract: Contract, { name, node }: Field): string => {
  const prefix = prefixOf(node)
  if (prefix) return prefix + uuid()
  // A SID begins with the two letters of its kind.
  if (name.endsWith('Sid')) return `${String(node.examples?.[0]).slice(0, 2)}${uuid().replaceAll('-', '')}`
  if (node.format === 'phone') return `+4416329${String(90_000 + ++invented)}`
  return name === 'cursor' ? writeCursor(contract.id, { time: '2026-01-01T00:00:00.000000Z', id: uuid() }) : uuid()
}

/** Bob's value for a field: the one of his own request, or one made for him. */
const bobsValue = async (contract: Contract, request: Request, field: Field): Promise<unknown> => {
  const own = inputOf(request, field)
  if (own !== undefined && field.node.format !== 'phone') return own
  if (field.node.format === 'phone') return (await bob.number()).number
  if (prefixOf(field.node) === 'USR') return bob.user()
  if (prefixOf(field.node) === 'DOC') return bob.document()
  if (field.name !== 'cursor') return undefined
  const { uuid: message } = await bob.message()
  return writeCursor(contract.id, { time: '2026-01-01T00:00:00.000000Z', id: message.slice(3) })
}

const anyUuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const anyTime = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g
const anyNumber = /\+?44(?:1632\d{6}|77009\d{5})/g
const anyGroup = /120363\d{12}(?:@g\.us)?/g
const anyToken = /"token":"[^"]+"/

/** An answer without the parts that differ between any two requests. */
const normalized = ({ status, text }: RawAnswer, asked: unknown): string => {
  const rest = text.replaceAll(String(asked), '‹id›').replace(/"request_id":"[^"]*"/, '"request_id":""')
  // A fulfilled request created things of Ada's own.
  const made = rest
    .replace(anyUuid, '‹uuid›')
    .replace(anyTime, '‹time›')
    .replace(anyNumber, '‹number›')
    .replace(anyGroup, '‹group›')
    .replace(/is in the group|created the group/g, 'added')
  return `${status} ${status < 300 ? made.replace(anyToken, '"token":""').replace(/(?:ada|ZQX\w+) \d+/g, 'ada') : rest}`
}

const assertNothingOfBobs = (answer: RawAnswer, asked: unknown) => {
  const text = answer.text.replaceAll(String(asked), '')
  for (const secret of [mark, bob.tenant.id, bob.tenant.key])
    assert.ok(!text.includes(secret), `something of Bob's is in ${text.slice(0, 500)}`)
}

/** Tables that background work changes at any time: jobs, request counts, and the state of links to networks. */
const background = ['jobs', 'rate_limit_usage', 'msgapp_links', 'msgapp_link_events']
/** Columns that a network writes about its own number. Events of networks (`msgapp.…`) are left out, too. */
const ownColumns: Record<string, readonly string[]> = {
  msgapp_channels: ['pushname', 'server', 'is_business', 'updated_at'],
}

const tables = await world.db.many<{ name: string; key: string }>`
  select c.table_name as name, c.column_name as key from information_schema.columns c
  join information_schema.tables t using (table_schema, table_name)
  where t.table_schema = 'public' and t.table_type = 'BASE TABLE'
    and c.table_name <> all (${background}::text[]) and (c.column_name = 'account_id' or (c.table_name = 'accounts' and c.column_name = 'id'))
  order by c.table_name`

// Each changed row is noted with the account that it had before and has afterwards: an update counts even where it
// changes no value. Measured: reading what was noted takes 0.2 ms, comparing digests of all tables 4 ms.
await world.db.raw(`
  create unlogged table changed_rows (id bigserial primary key, name text, account uuid);
  create index on changed_rows (account, id);
  create function note_change() returns trigger language plpgsql as $$
  declare
    was jsonb := case when tg_op = 'INSERT' then null else to_jsonb(old) end;
    is_now jsonb := case when tg_op = 'DELETE' then null else to_jsonb(new) end;
  begin
    if tg_table_name = 'events' and coalesce(is_now, was) ->> 'name' like 'msgapp.%' then return null; end if;
    if tg_op = 'UPDATE' and tg_nargs > 1 and was - tg_argv[1]::text[] = is_now - tg_argv[1]::text[] then return null; end if;
    insert into changed_rows (name, account)
      select distinct tg_table_name, (touched ->> tg_argv[0])::uuid from unnest(array[was, is_now]) touched
      where touched is not null;
    return null;
  end $$;
  ${tables
    .map(({ name, key }) => {
      const columns = ownColumns[name]
      const options = [key, ...(columns === undefined ? [] : [`{${columns.join()}}`])].map((one) => `'${one}'`)
      return `create trigger note_change after insert or update or delete on ${quoteIdentifier(name)}
        for each row execute function note_change(${options.join()})`
    })
    .join(';')}`)

let lastRead = '0'

/** Returns the tables in which rows of Bob's were changed since the last call. */
const changedTables = async (): Promise<string[]> => {
  const rows = await world.db.many<{ name: string; last: string }>`
    select name, max(id)::text as last from changed_rows
    where account = ${bob.tenant.id}::uuid and id > ${lastRead} group by name`
  for (const { last } of rows) if (BigInt(last) > BigInt(lastRead)) lastRead = last
  return rows.map(({ name }) => name)
}

/** Waits until nothing has changed for eight reads, 25 ms apart. */
const waitForQuiet = async () => {
  let same = 0
  await until(async () => {
    same = (await changedTables()).length === 0 ? same + 1 : 0
    return same >= 8
  })
}

/**
 * Proves that Ada's request changes nothing of Bob's. Networks change his rows in the background, so only a change that
 * occurs with each of four requests counts.
 * @param again makes the same request for other things of Bob's, because the first request may have changed what it
 * could
 */
const assertBobUnchanged = async (
  request: () => Promise<RawAnswer>,
  again: () => Promise<() => Promise<RawAnswer>> = async () => request,
): Promise<RawAnswer> => {
  const attempt = async (ask: () => Promise<RawAnswer>) => {
    await changedTables()
    const answer = await ask()
    return { answer, changed: await changedTables() }
  }
  const { answer, changed: first } = await attempt(request)
  let changed = first
  for (let i = 0; i < 3 && changed.length > 0; i++) {
    const ask = await again()
    await waitForQuiet()
    const next = (await attempt(ask)).changed
    changed = changed.filter((name) => next.includes(name))
  }
  assert.deepEqual(changed, [], 'Bob’s rows are unchanged')
  return answer
}

/** Every tenant endpoint, and the operator endpoints that take an account and a thing of that account. */
const scoped = contracts.filter(
  (contract) =>
    contract.auth === 'account' ||
    (contract.auth === 'operator' && fields(contract.params).some(([name]) => name === 'account_uuid')),
)
const walked = scoped.flatMap((contract) =>
  idFields(contract)
    .filter(({ name }) => contract.auth === 'account' || name !== 'account_uuid')
    .map((field) => ({ contract, field })),
)

test('Bob has one of everything', async () => {
  for (const contract of contracts) {
    if (contract.auth === 'none') continue
    const answer = await send(world, contract, bob.tenant, await spend(contract, bob))
    assert.equal(answer.status, contract.status, answer.text)
  }
})

if (!isWalkRestricted)
  test('the walk sees the endpoints, their ids at any depth, and the tables of an account', {
    skip: isWalkRestricted,
  }, () => {
    assert.ok(tables.length >= 40, `saw only ${tables.length} tables`)
    const deep = walked.filter(({ field }) => field.path.length > 1).map(({ field }) => field.name)
    assert.ok(deep.includes('requirements.0.document_uuid') && deep.includes('participants.0'), deep.join())
    assert.ok(scoped.length >= 25, `saw only ${scoped.length} endpoints`)
    assert.ok(walked.length >= 20, `saw only ${walked.length} ids`)
  })

test('a changed row of Bob’s is seen, even with the values that it had', async () => {
  await waitForQuiet()
  await world.db.run`update accounts set name = name where id = ${bob.tenant.id}`
  assert.deepEqual(await changedTables(), ['accounts'])
  await world.db.run`update accounts set name = name where id = ${ada.tenant.id}`
  assert.deepEqual(await changedTables(), [])
})

/** A number belongs to one account worldwide: other accounts that claim it learn so, and the operator does, too. */
const takenOnce = new Map([
  ['createMsgappChannel: phone_number in body', 403],
  ['createNumberGrant: phone_number in body', 409],
])

for (const [n, { contract, field }] of walked.entries()) {
  const what = `${contract.id}: ${field.name} in ${field.part}`

  test(`${what}: an id of another account is answered like one that never existed`, async (t) => {
    const prepare = async (make: typeof usable) =>
      [await make(contract, ada), await bobsValue(contract, await make(contract, bob), field)] as const
    const [request, foreign] = await prepare(usable)
    if (foreign === undefined || foreign === inputOf(request, field)) return t.diagnostic('shared by all accounts')
    const missing = unknownId(contract, field)
    const ask = (request: Request, foreign: unknown) =>
      send(world, contract, ada.tenant, withValue(request, field, foreign))
    // A list is read without effect, and another recipe could add a row to it.
    const isList = field.name === 'cursor'
    const asForeign = await assertBobUnchanged(
      () => ask(request, foreign),
      async () => {
        const other = isList ? ([request, foreign] as const) : await prepare(ok)
        return () => ask(...other)
      },
    )
    if (asForeign.status < 300) await spend(contract, ada)
    const again = isList ? request : await usable(contract, ada)
    const asMissing = await send(world, contract, ada.tenant, withValue(again, field, missing))
    if (asMissing.status < 300) await spend(contract, ada)
    if (takenOnce.has(what)) assert.equal(asForeign.status, takenOnce.get(what), asForeign.text)
    else assert.equal(normalized(asForeign, foreign), normalized(asMissing, missing))
    assertNothingOfBobs(asForeign, foreign)
  })

  if (prefixOf(field.node) === null) continue
  test(
    `${what}: an unknown id is answered like one that never existed; another prefix is 400`,
    everyFifth(n),
    async () => {
      const request = await usable(contract, ada)
      const [missing, odd] = [unknownId(contract, field), `${prefixOf(field.node)}0`]
      const asMissing = await send(world, contract, ada.tenant, withValue(request, field, missing))
      const asOdd = await send(world, contract, ada.tenant, withValue(request, field, odd))
      assert.equal(asMissing.status, 404, asMissing.text)
      assert.equal(normalized(asOdd, odd), normalized(asMissing, missing))
      const asOther = await send(world, contract, ada.tenant, withValue(request, field, `XXX${uuid()}`))
      assert.equal(asOther.status, takesAnyForm(field.node) ? 404 : 400, asOther.text)
    },
  )
}

for (const [n, contract] of contracts.filter(({ auth }) => auth === 'account').entries()) {
  test(`${contract.id}: the answer to Ada contains nothing of Bob's`, async () => {
    const answer = await send(world, contract, ada.tenant, await spend(contract, ada))
    assert.equal(answer.status, contract.status, answer.text)
    assertNothingOfBobs(answer, '')
  })

  test(`${contract.id}: requests of Ada's leave Bob's things unchanged`, everyFifth(n), async () => {
    const request = await spend(contract, bob)
    // Answers may repeat Ada's own input.
    const hers: Request = JSON.parse(JSON.stringify(request).replaceAll(mark, 'ada'))
    // The session of one of her people, in the place of one of his.
    if (hers.cookie !== undefined) Object.assign(hers, { cookie: (await ok(contract, ada)).cookie })
    const tried = await assertBobUnchanged(() => send(world, contract, ada.tenant, hers))
    if (contract.method !== 'GET' && tried.status < 300) return // every account may do this
    assertNothingOfBobs(tried, '')
    const own = await send(world, contract, bob.tenant, request)
    assert.equal(own.status, contract.status, own.text)
  })
}

for (const [n, contract] of contracts.filter(({ auth }) => auth !== 'none').entries()) {
  test(`${contract.id}: the key of the other kind is refused`, everyFifth(n), async () => {
    const request = await anyRequest(recipeOf(contract), bob)
    const key = contract.auth === 'operator' ? ada.tenant.key : world.operatorKey
    const answer = await send(world, contract, ada.tenant, request, { key })
    assert.equal(answer.status, 401, answer.text)
    const both = { 'x-operator-key': ada.tenant.key, 'x-user-api-key': world.operatorKey }
    const swapped = await send(world, contract, ada.tenant, request, { key: null, headers: both })
    assert.equal(swapped.status, 401, swapped.text)
  })
}

for (const [n, contract] of contracts.filter(({ auth }) => auth === 'operator').entries()) {
  for (const field of idFields(contract).filter(({ node, path }) => prefixOf(node) && path.length === 1)) {
    test(
      `${contract.id}: a ${field.name} that never existed is answered 404, another prefix 400`,
      everyFifth(n),
      async () => {
        const request = await usable(contract, ada)
        const missing = unknownId(contract, field)
        const asMissing = await send(world, contract, ada.tenant, withValue(request, field, missing))
        assert.equal(asMissing.status, 404, asMissing.text)
        const asOther = await send(world, contract, ada.tenant, withValue(request, field, `XXX${uuid()}`))
        assert.equal(asOther.status, 400, asOther.text)
      },
    )
  }
}
