import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { contracts } from '../src/contracts.ts'
import { capabilities } from '../src/platform/http/capability.ts'
import { confidentialNames } from '../src/platform/http/confidential.ts'
import { credentialRefusal, type Maker, type NewCredential } from '../src/platform/http/credential-strength.ts'
import { type Contract, type CredentialKind, contract, isRepeatable, ok, route } from '../src/platform/http/endpoint.ts'
import { Ok } from '../src/platform/http/schema.ts'
import { makeServer } from '../src/platform/http/server.ts'
import { iso } from '../src/platform/lib/clock.ts'
import { keyHash } from '../src/platform/lib/secret.ts'
import { idsIn, neighboursChanged, watchRows } from './neighbours.ts'
import { signIn } from './persons.ts'
import { recipes } from './recipes/all.ts'
import type { Request } from './recipes/recipe.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { type Node, nodeOf } from './recipes/schema.ts'
import { type RawAnswer, type RequestOverrides, send } from './recipes/send.ts'
import { spendRequest, usableRequest } from './recipes/usable.ts'
import type { Answer, Tenant } from './world.ts'

// Every contract that makes a credential says so with `makes`, and its handler asks credential-strength.ts. A contract
// without the mark is recognised by its reply, and by the rows of credentials that its request leaves behind.

const world = await makeRecipeWorld()
const { db, call } = world
const scene = await makeScene(world, 'credentials')
const { tenant } = scene
const ownSession = (await signIn(world, { key: tenant.key })).cookie
const rows = await watchRows(db)
const making = contracts.filter(({ makes }) => makes !== undefined)
const recipeOf = ({ id }: Contract) => recipes[id] ?? assert.fail(`${id} has no recipe: give it one in test/recipes`)

/** Fields of replies that look like a credential and are none, by the end of their path, with the reason. */
const harmless: Readonly<Record<string, string>> = {
  iso_country_code: 'a country',
  lang_code: 'a language',
  error_code: 'why something failed',
  'failure.code': 'why something failed',
  session_key: 'the id of a conversation',
  'listMails.mails.to': 'a mailbox',
  public_key: 'public',
  revoked_keys: 'ids',
  hook_url: 'the address of a receiver',
  'application.url': 'the address of a program',
  'applications.url': 'the address of a program',
  status_url: 'the address of a program',
  'application.fallback_url': 'the address of a program',
  'applications.fallback_url': 'the address of a program',
  'clip.url': 'one file, which the key may read',
  'clips.url': 'one file, which the key may read',
  'getProgramSecret.signing_secret': 'proves requests to programs; its handler asks as for a webhook',
  'voice.url': 'the address of a program',
  'voice.fallback_url': 'the address of a program',
  ws_url: 'the address of the SIP gateway',
  profile_pic_url: 'a file of the network',
  recording_url: 'one file, which the key may read',
  'media.url': 'one file, which the key may read',
  'pin.url': 'part of a message',
  text: 'part of a message',
  content: 'part of a message',
  octets: 'a receipt of a carrier',
  reason: 'why something failed',
  'dead_jobs.error': 'why something failed',
  'dead_jobs.payload': 'ids and texts, for operators: links of mails are sealed, and a code among them was not sent',
  value: 'an answer to a regulator',
  'duplicates.key': 'what two contacts have in common',
  'createCallerId.code': 'is typed in a call to the number: possession judges it',
  pairing_code: 'is typed into a phone: its network judges it',
  qr_code: 'is scanned by a phone: its network judges it',
}

const looksSecret = /(?:^|_)(?:keys?|tokens?|secrets?|passwords?|credentials?|codes?|url|link)$/

const isTextual = ({ type, items, anyOf, $ref }: Node & { readonly $ref?: string }): boolean =>
  type === 'string' || items?.type === 'string' || anyOf !== undefined || $ref !== undefined

/** Paths of the fields of a reply that look like a credential: by their name, or by the mark of confidential fields. */
const secretFields = (node: Node, above: string, marked: ReadonlySet<string>): string[] =>
  Object.entries(node.properties ?? {}).flatMap(([name, field]) => {
    const path = `${above}.${name}`
    const isSecret = isTextual(field) && (looksSecret.test(name) || marked.has(name))
    return [...(isSecret ? [path] : []), ...secretFields(field.items ?? field, path, marked)]
  })

const revealed = contracts.map((made) => {
  const marked = new Set(confidentialNames(made.reply).keys())
  const all = secretFields(nodeOf(made.reply), made.id, marked)
  const isHarmless = (path: string) => Object.keys(harmless).some((end) => `.${path}`.endsWith(`.${end}`))
  return { made, all, secrets: all.filter((path) => !isHarmless(path)) }
})

test('a contract whose reply shows a credential, or sets a cookie, says what it makes', () => {
  const shown = revealed.filter(({ made, secrets }) => secrets.length > 0 || (made.opensSession && made.headers))
  assert.ok(shown.length >= 15, `saw only ${shown.length}`)
  const unmarked = shown.filter(({ made }) => made.makes === undefined)
  assert.deepEqual(
    unmarked.map(({ made, secrets }) => [made.id, ...secrets]),
    [],
    'mark it with makes, and let its handler ask assertMayMake; or list the field as harmless, with the reason',
  )
  const stale = Object.keys(harmless).filter(
    (end) => !revealed.some(({ all }) => all.some((path) => path.endsWith(end))),
  )
  assert.deepEqual(stale, [])
})

test('a repeated request of another key never gets the credential that the first one made', () => {
  const shared = revealed.filter(({ made, secrets }) => secrets.length > 0 && isRepeatable(made) && !made.ownAnswer)
  assert.deepEqual(
    shared.map(({ made }) => made.id),
    [],
    'add ownAnswer',
  )
})

test('a session proves itself again before it makes a key, a person or a link', () => {
  const outlasting: readonly CredentialKind[] = ['api-key', 'person', 'link', 'operator']
  const unproved = making.filter(({ makes, proof }) => makes && outlasting.includes(makes) && !proof)
  assert.deepEqual(
    unproved.map(({ id }) => id),
    [],
    'add proof',
  )
})

/** Credentials in the database: each row, with what it permits. */
const credentialRows = async (): Promise<ReadonlySet<string>> => {
  const rows = await db.many<{ row: string }>`
    select 'api key ' || id as row from api_keys where revoked_at is null
    union all select 'operator key ' || id from operator_keys where revoked_at is null
    union all select 'link ' || id from invitations where used_at is null
    union all select 'session ' || id from sessions where revoked_at is null
    union all select 'passkey ' || id from passkeys
    union all select 'app ' || person_id || sealed_secret::text from person_totp
    union all select 'recovery code ' || code_hash::text from recovery_codes
    union all select 'password ' || id || coalesce(password_hash, '') from persons
    union all select 'operator ' || id || operator from persons where operator is not null and suspended_at is null
    union all select 'user ' || id || role from users where status = 'ACTIVE'
    union all select 'webhook ' || id || sealed_secret::text from webhooks where deleted_at is null`
  return new Set(rows.map(({ row }) => row))
}

/** Rights that processes cache: whatever ends one tells every process. */
const cachedRights = /^(?:api key|operator key|session|operator|user) /

const notices = async (): Promise<string> =>
  JSON.stringify(
    await db.many`select topic, version::text from changes where topic in ('accounts', 'users', 'sessions')`,
  )

/** Rows that an act changes although neither its request nor its reply names them: at most this many of a table. */
const unnamed: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  // The previous key of the installation.
  rotateSigningKey: { signing_keys: 1 },
  // The number of the reservation, and of the virtual number.
  ...{ cancelReservation: { numbers: 1 }, deleteVirtualNumber: { numbers: 1 } },
  // Named by kind and prefix, and by its number.
  ...{ deletePrice: { prices: 1 }, verifyCallerId: { caller_id_code_counters: 1 } },
  // The import that ends, with its one line.
  importContacts: { contact_imports: 1, contact_import_entries: 1 },
  // The conversation of the note.
  deleteNote: { conversations: 1 },
}

/** What a request and its reply name: ids, numbers, its session with the person, and the link of its token. */
const namesOf = async ({ cookie, params, query, body }: Request, reply: string): Promise<string[]> => {
  const text = `${JSON.stringify([params, query, body])} ${reply}`
  const session = await db.maybe`
    select id, person_id, key_id from sessions where token_hash = ${keyHash(cookie?.slice('trunkline='.length) ?? '')}`
  const token = String(Object(body).token ?? '')
  return [
    ...idsIn(text),
    ...(text.match(/\+\d{7,15}/g) ?? []),
    ...Object.values(session ?? {}).flatMap((id) => (id === null ? [] : String(id))),
    ...(token === '' ? [] : [keyHash(token).toString('hex')]),
  ]
}

/** Networks change what they say of their numbers and messages in the background. */
const isOfNetwork = (table: string): boolean => table.startsWith('msgapp_')

for (const made of contracts.filter(({ method }) => method !== 'GET'))
  test(`${made.id} ${made.makes ? `makes ${made.makes}` : 'makes no credential'}, and changes only what it names`, async () => {
    const request = await spendRequest(recipeOf(made), scene)
    const before = await credentialRows()
    const noticed = await notices()
    const cookie = made.auth === 'session' ? { cookie: ownSession } : {}
    const full = { ...cookie, ...request }
    const { result: answer, changed } = await neighboursChanged(
      rows,
      ({ text }) => namesOf(full, text),
      () => send(world, made, tenant, full),
    )
    // A handler that did not ask is answered 500.
    assert.ok(answer.status === made.status || made.also?.[answer.status], answer.text)
    const after = await credentialRows()
    const fresh = [...after].filter((row) => !before.has(row))
    if (made.makes === undefined) assert.deepEqual(fresh, [])
    const ended = [...before].filter((row) => cachedRights.test(row) && !after.has(row))
    if (ended.length > 0) assert.notEqual(await notices(), noticed, `no process learns that these ended: ${ended}`)
    for (const [table, own] of Map.groupBy(changed, ({ table }) => table)) {
      const most = isOfNetwork(table) ? own.length : (unnamed[made.id]?.[table] ?? 0)
      assert.deepEqual(own.slice(most), [], `neither the request nor the reply names these rows of ${table}`)
    }
  })

type Limits = {
  readonly expires_at?: string
  readonly allowed_addresses?: string[]
  readonly scopes?: string[]
  readonly spend_per_day?: string
}

const limits: Readonly<Record<string, Limits>> = {
  'an end': { expires_at: iso(Date.now() + 1_800_000) },
  addresses: { allowed_addresses: ['127.0.0.0/8'] },
  scopes: { scopes: [...capabilities] },
  'a daily spend limit': { spend_per_day: '25.00' },
}

/** Checks of what a limited key makes all the same, by the kind; the other kinds are refused. */
const bounded: { readonly [kind in CredentialKind]?: (reply: Answer['body'], own: Limits) => void } = {
  'api-key': (reply, own) => assert.partialDeepStrictEqual(reply, own),
  'voice-token': (reply, { expires_at = '9999' }) => assert.ok(reply.expires_at <= expires_at, reply.expires_at),
  webhook: (reply) => assert.equal(reply.success, true),
}

/** Requests that strengthen, where that of the recipe does not. */
const strengthening: Readonly<Record<string, Request>> = {
  createOwnKey: { body: { label: 'without limits of its own' } },
  changeMember: { body: { role: 'admin' } },
}

const keyWith = async (own: object): Promise<Tenant> => {
  const made = await call('operator', 'POST', `/operator/accounts/${tenant.uuid}/keys`, { label: 'limited', ...own })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  return { ...tenant, key: made.body.key }
}

for (const [name, own] of Object.entries(limits))
  test(`whatever a key with ${name} makes is at most as strong as the key, or refused, also by its session`, async () => {
    const { key } = await keyWith(own)
    const { cookie } = await signIn(world, { key })
    const ways: readonly ((request: Request) => [Request, RequestOverrides])[] = [
      (request) => [request, { key }],
      ({ cookie: _, ...request }) => [{ ...request, cookie }, {}],
    ]
    const walked = making.filter(({ auth }) => auth === 'account')
    assert.ok(walked.length >= 8, `saw only ${walked.length}`)
    for (const made of walked)
      for (const way of ways) {
        const isRefused = own.spend_per_day !== undefined && made.makes === 'voice-token'
        const check = made.makes && !isRefused && bounded[made.makes]
        const request = await (check ? spendRequest : usableRequest)(recipeOf(made), scene)
        const answer = await send(world, made, tenant, ...way({ ...request, ...strengthening[made.id] }))
        if (check) check(answer.body, own)
        else assert.match(answer.text, /"error_code":"key_limited"/, made.id)
      }
    for (const made of making.filter(({ auth }) => auth === 'session')) {
      const request = await usableRequest(recipeOf(made), scene)
      const answer = await send(world, made, tenant, { ...request, cookie })
      assert.match(answer.text, /"error_code":"no_person"/, made.id)
    }
  })

test('an observer makes nothing, by a key and by its session', async () => {
  const { key } = (await call('operator', 'POST', '/operator/keys', { label: 'looks', role: 'observer' })).body
  const { cookie } = await signIn(world, { key })
  const walked = making.filter(({ auth }) => auth === 'operator')
  assert.ok(walked.length >= 8, `saw only ${walked.length}`)
  for (const made of walked) {
    const request = await usableRequest(recipeOf(made), scene)
    const answers: readonly RawAnswer[] = [
      await send(world, made, tenant, request, { key }),
      await send(world, made, tenant, { ...request, cookie }),
    ]
    for (const { status, text } of answers) assert.match(`${status} ${text}`, /^403 .*"error_code":"role"/, made.id)
  }
})

test('a handler that makes a credential without asking answers 500, and what it made is rolled back', async () => {
  const forgetful = contract({
    ...{ auth: 'account', needs: 'inbox', client: 'forgetful.create', shape: 'full', tag: 'Test', method: 'POST' },
    ...{
      id: 'forgetful',
      url: '/open/forgetful',
      summary: '',
      description: '',
      makes: 'link',
      status: 201,
      errors: {},
    },
    reply: Ok({ link: Type.String() }),
  } as const)
  const handle = route(forgetful, async ({ account, tx }) => {
    await tx.run`update accounts set name = 'forgotten' where id = ${account.id}`
    return ok({ link: 'https://example.com' })
  })
  const alias = { install: () => {} }
  const app = makeServer({ ...world.parts, alias, tls: null }, [handle])
  const answer = await app.inject({ method: 'POST', url: '/open/forgetful', headers: { 'x-user-api-key': tenant.key } })
  await app.close()
  assert.deepEqual([answer.statusCode, answer.json().error_code], [500, 'internal_error'])
  const { name } = await db.one<{ name: string }>`select name from accounts where id = ${tenant.id}`
  assert.notEqual(name, 'forgotten')
})

test('each maker makes only kinds that it may make at all', () => {
  const unlimited = { scopes: null, expires_at: null, allowed_addresses: null, spend_per_day: null }
  const wanted: readonly NewCredential[] = [
    { kind: 'api-key', limits: unlimited },
    { kind: 'person', role: 'agent', before: null },
    { kind: 'link', role: null },
    { kind: 'voice-token', expiresAt: new Date() },
    { kind: 'device', expiresAt: new Date() },
    ...(['operator', 'factor', 'session', 'webhook', 'own-link'] as const).map((kind) => ({ kind })),
  ]
  const kindsOf = (kind: Maker['kind']) =>
    wanted.filter((one) => credentialRefusal({ kind, limits: unlimited }, one) === null).map((one) => one.kind)
  const ofAccount = ['api-key', 'person', 'link', 'voice-token', 'webhook']
  assert.deepEqual(kindsOf('key'), ofAccount)
  assert.deepEqual(kindsOf('member'), ofAccount)
  assert.deepEqual(kindsOf('operator').sort(), [...ofAccount, 'operator'].sort())
  assert.deepEqual(kindsOf('observer'), [])
  assert.deepEqual(kindsOf('person'), ['factor', 'own-link'])
  assert.deepEqual(kindsOf('voice'), ['device'])
  assert.deepEqual(kindsOf('visitor'), ['session', 'own-link'])
})
