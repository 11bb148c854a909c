import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { WebSocket } from 'ws'
import { assemble } from '../src/assemble.ts'
import { contracts } from '../src/contracts.ts'
import type { EventName } from '../src/domains/events/event-names.ts'
import { record } from '../src/domains/events/ops.ts'
import { printDelivery } from '../src/domains/webhooks/delivery/delivery-id.ts'
import { openPage } from '../src/interfaces/live/testing.ts'
import type { ServerFrame } from '../src/interfaces/tunnel/contract.ts'
import type { Capability } from '../src/platform/http/capability.ts'
import type { Contract } from '../src/platform/http/endpoint.ts'
import { type Role, roleCapabilities } from '../src/platform/http/role.ts'
import { startRoles } from '../src/start-roles.ts'
import { member, signIn } from './persons.ts'
import { until } from './platform.ts'
import { recipes } from './recipes/all.ts'
import { naming, needed, withoutInputs } from './recipes/naming.ts'
import type { Request } from './recipes/recipe.ts'
import { makeRecipeWorld, makeScene } from './recipes/scene.ts'
import { makeSecrets, type SecretInputs, secretMark } from './recipes/secrets.ts'
import { send } from './recipes/send.ts'
import { anyRequest } from './recipes/usable.ts'

// Contents of conversations, in every place that a reader can look at: endpoints that read, the tunnel and the live feed.
// Every kind of caller sees exactly what the rule says, no more and no less. Endpoints that are added later are walked, too.
//
// | Reader | Conversations | Event log, deliveries, tunnel, handsets |
// |---|---|---|
// | `inbox` and `inbox.all`; agents of an account that shows them all | all | contents |
// | `inbox` alone; other agents | own, and those without assignee | envelopes |
// | without `inbox` | none | envelopes |
//
// Contacts need `inbox`. Recordings need `read_only`, or the right to see the conversation. Drafts are their author's.

const world = await makeRecipeWorld()
const { db } = world
const scene = await makeScene(world, 'plain')
const { tenant } = scene
const handset = '+447700900124'

/** Kinds of contents, with a text that is in each place that has such contents, and in no other. */
const marks = {
  messages: secretMark,
  recordings: '/recordings/',
  contacts: 'ZQXCONTACTZQX',
  drafts: 'ZQXDRAFTZQX',
} as const
type Kind = keyof typeof marks
const kinds = Object.keys(marks) as Kind[] // the keys of the object above

type Caller = {
  readonly name: string
  readonly scopes: readonly Capability[] | null
  readonly role: Role | null
  readonly key: string | null
  readonly cookie: string
}

const must = async (method: 'GET' | 'POST' | 'PUT' | 'PATCH', url: string, body?: object) => {
  const answer = await world.call(tenant, method, url, body)
  assert.ok(answer.status < 300, `${method} ${url}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

const keyOf = async (scopes: readonly Capability[] | null): Promise<Caller> => {
  const body = { label: 'reader', ...(scopes ? { scopes } : {}) }
  const { key } = (await world.call('operator', 'POST', `/operator/accounts/${tenant.uuid}/keys`, body)).body
  return {
    name: `key ${scopes ?? 'of everything'}`,
    scopes,
    role: null,
    key,
    cookie: (await signIn(world, { key })).cookie,
  }
}
const personOf = async (role: Role, name: string = role): Promise<Caller & { readonly user: string }> => {
  const { cookie, user } = await member(world, tenant, role)
  return { name, scopes: roleCapabilities[role], role, key: null, cookie, user }
}

const [owner, colleague] = [await personOf('owner'), await personOf('agent', 'the assignee')]
const persons = [owner, colleague]
for (const role of ['admin', 'agent', 'developer', 'billing'] as const) persons.push(await personOf(role))
const keys: Caller[] = []
for (const scopes of [
  null,
  ['inbox'],
  ['inbox', 'inbox.all'],
  ['inbox', 'read_only', 'develop'],
  ['inbox', 'inbox.all', 'read_only', 'develop'],
  ['inbox.all', 'read_only', 'develop'],
  ['develop'],
  ['read_only', 'develop'],
  ['numbers', 'money', 'people', 'account', 'team_settings'],
] as const)
  keys.push(await keyOf(scopes))

const has = ({ scopes }: Caller, one: Capability): boolean => scopes === null || scopes.includes(one)

/**
 * The rule.
 * @param isNarrow the account shows its agents only their own conversations, and those without assignee
 * @param isConversation recordings are shown as items of conversations, which `read_only` does not see
 */
const shows = (kind: Kind, caller: Caller, ofInbox: boolean, isNarrow: boolean, isConversation = false): boolean => {
  const isNarrowAgent = caller.role === 'agent' && isNarrow
  const seesAll = has(caller, 'inbox') && has(caller, 'inbox.all') && !isNarrowAgent
  const isOwn = caller === colleague && ofInbox
  if (kind === 'drafts') return caller === owner
  if (kind === 'contacts') return seesAll || (has(caller, 'inbox') && ofInbox)
  const seesCalls = has(caller, 'read_only') && !isNarrowAgent && !isConversation
  if (kind === 'recordings') return seesAll || isOwn || seesCalls
  return seesAll || isOwn
}

// One account with every kind of contents. All of its conversations with texts are the colleague's.

const { sets } = await makeSecrets(world, tenant, colleague.user)
const person = '+447911555001'
const first = (await must('GET', '/open/events?results_per_page=1')).events[0].uuid

/** Events with contents in every field that may have some. */
const spoken: readonly (readonly [EventName, object])[] = [
  ['sms.message.received', { from_number: person, text: secretMark }],
  [
    'msgapp.message.received',
    {
      remote_phone_number: person,
      message: {
        text: secretMark,
        media: { url: secretMark },
        pin: { name: secretMark },
        template: { name: secretMark },
        content: { kind: 'quote', quoted: { wa_msg_id: secretMark, text: secretMark }, answers: { a: secretMark } },
      },
      contact: { first_name: marks.contacts },
      reactions: [{ by: person, reaction: secretMark }],
    },
  ],
  ['msgapp.message.edited', { remote_phone_number: person, previous_text: secretMark }],
  ['msgapp.message.reaction', { remote_phone_number: person, reaction: secretMark }],
  ['msgapp.group.message.reaction', { remote_phone_number: person, reaction: secretMark }],
  ['msgapp.group.join', { group_uuid: sets[4]?.params.group_uuid, name: secretMark }],
  ['msgapp.check.completed', { results: [{ msgapp_info: { pushname: marks.contacts } }] }],
  ['contact.created', { first_name: marks.contacts, last_name: marks.contacts, details: [{ value: marks.contacts }] }],
  [
    'conversation.note.created',
    {
      ...{ uuid: sets[0]?.params.conversation_uuid, assignee_uuid: colleague.user, name: secretMark },
      ...{ last: { text: secretMark }, item: { note: { text: secretMark } } },
    },
  ],
  ['call.incoming.completed', { from: person, recording_url: `http://localhost${marks.recordings}x.wav` }],
]
const speak = (events = spoken) =>
  db.begin((tx) =>
    record(
      tx,
      events.map(([name, payload]) => ({
        ...{ account: tenant.id, name, channel: null, conversation: null },
        payload: { ...payload },
      })),
    ),
  )

/** Fails the pending deliveries: the receiver answers with what it got. */
const failDeliveries = () => db.run`
  update webhook_deliveries d set state = 'failed', next_at = null, tries = 1, attempts = jsonb_build_array(
    jsonb_build_object('at', '2026-11-23T00:00:00Z', 'response_status', 500, 'latency_ms', 1, 'timestamp', 1,
      'response_excerpt', e.payload::text, 'response_headers', jsonb_build_object('x-echo', e.payload::text)))
  from events e
  where d.account_id = ${tenant.id} and d.state = 'pending' and e.account_id = d.account_id and e.id = d.event_id`

/** Each event, with the webhook that got it by a failed call. */
const eventSets: SecretInputs[] = []
for (const [event_name] of spoken) {
  const [webhook] = await db.many<{ id: string }>`
    insert into webhooks (account_id, id, event, event_name, hook_url, sealed_secret, created_at, updated_at)
    values (${tenant.id}, gen_random_uuid(), ${event_name}, ${event_name}, 'http://127.0.0.1:1024/spoken',
      ${world.parts.seal.close('whsec_AAAA')}, now(), now())
    returning id`
  await db.run`
    insert into webhook_endpoint_leases (account_id, webhook_id) values (${tenant.id}, ${webhook?.id ?? ''}::uuid)`
}
await speak()
await failDeliveries()
for (const { event_id, webhook_id, name } of await db.many<{ event_id: string; webhook_id: string; name: EventName }>`
  select d.event_id, d.webhook_id, e.name from webhook_deliveries d
  join events e on e.account_id = d.account_id and e.id = d.event_id where d.account_id = ${tenant.id}`) {
  const params = {
    ...{ event_uuid: `EVT${event_id}`, webhook_uuid: `WHK${webhook_id}` },
    delivery_id: printDelivery({ webhook: webhook_id, event: event_id }),
  }
  eventSets.push({ params, query: { name }, body: {} })
}
const { number } = await scene.number()
await must('POST', `/sandbox/handsets/${handset}/sms`, { to: number, text: secretMark })
const contact_details = [{ type: 'E', value: `${marks.contacts}@example.com` }]
/** Changes by a session are in the audit trail. */
const act = async (method: 'POST' | 'PUT', url: string, payload: object) => {
  const headers = { cookie: owner.cookie, 'x-trunkline-console': '1' }
  const answer = await world.app.inject({ method, url, payload, headers })
  assert.ok(answer.statusCode < 300, `${method} ${url}: ${answer.body}`)
  return answer.json()
}
const { contact } = await act('POST', '/open/contacts', { first_name: marks.contacts, contact_details })
await act('PUT', `/open/contacts/${contact.uuid}`, { last_name: marks.contacts })
const chat = await scene.chat()
const { channel } = await must('GET', `/open/msgapp/channel/${chat}`)
const message = { from_number: channel.phone_number, to_number: handset }
await act('POST', '/open/msgapp/send-message', { ...message, pin: { latitude: 1, longitude: 1, name: secretMark } })
await act('POST', '/open/msgapp/send-message', { ...message, text: secretMark })
await act('POST', '/open/msgapp/group/create', {
  ...{ from_number: channel.phone_number, group: { name: secretMark, participants: [handset] } },
})

await must('POST', '/open/replies', { shortcut: 'shared', title: 'x', text: marks.contacts, shared: true })

// The endpoints.

type Reader = Extract<Contract, { auth: 'account' }>

/** Endpoints that read, and others whose reply has contents. */
const readers = contracts.filter(
  (one): one is Reader => one.auth === 'account' && (one.method === 'GET' || one.showsTexts === true),
)
const ofInbox = ({ needs, orNeeds }: Reader): boolean => needs === 'inbox' || orNeeds === 'inbox'
const mayCall = (caller: Caller, { needs, orNeeds = needs }: Reader) => has(caller, needs) || has(caller, orNeeds)

const ask = async (caller: Caller, contract: Reader, request: Request): Promise<string> => {
  const { cookie, key } = caller
  const answer = key
    ? await send(world, contract, tenant, request, { key })
    : await send(world, contract, tenant, { ...request, cookie })
  assert.ok(answer.status < 500, `${contract.id}: ${JSON.stringify(request)}: ${answer.text}`)
  return withoutInputs(answer, request)
}

/** Every request of an endpoint that names, lists or exports something with contents. */
const requestsOf = async (contract: Reader): Promise<Request[]> => {
  const recipe = recipes[contract.id] ?? assert.fail(`${contract.id} has no recipe: give it one in test/recipes`)
  const { cookie: _, ...given } = await anyRequest(recipe, scene)
  const plain = needed(contract, given)
  const of = [...sets, ...eventSets, { params: { number: handset }, query: {}, body: {} }]
  const all = [plain, ...of.flatMap((set) => naming(contract, plain, set).map(({ request }) => request))]
  const csv = contract.csv ? all.slice(0, 2).map((one) => ({ ...one, query: { ...one.query, format: 'csv' } })) : []
  return [...new Map([...all, ...csv].map((one) => [JSON.stringify(one), one])).values()]
}

type Showing = { readonly contract: Reader; readonly requests: readonly Request[]; readonly kinds: readonly Kind[] }

/** The endpoints that show contents to the owner, with the requests that do. */
const findShowing = async (): Promise<Showing[]> => {
  const found: Showing[] = []
  for (const contract of readers) {
    const requests: Request[] = []
    const seen = new Set<Kind>()
    for (const request of await requestsOf(contract)) {
      const answer = await ask(owner, contract, request)
      const shown = kinds.filter((kind) => answer.includes(marks[kind]))
      if (shown.length > 0) requests.push(request)
      for (const kind of shown) seen.add(kind)
    }
    if (requests.length > 0) found.push({ contract, requests, kinds: [...seen] })
  }
  return found
}

test('every caller gets exactly the contents that the rule allows, from every endpoint that has some', async () => {
  const conversation_uuid = sets[0]?.params.conversation_uuid
  const draft = { text: marks.drafts, channel_uuid: sets[0]?.params.channel_uuid }
  const saved = await world.app.inject({
    ...{ method: 'PUT', url: `/open/conversations/${conversation_uuid}/draft`, payload: draft },
    headers: { cookie: owner.cookie, 'x-trunkline-console': '1' },
  })
  assert.ok(saved.statusCode < 300, saved.body)
  const showing = await findShowing()
  const ids = showing.map(({ contract }) => contract.id)
  for (const id of [
    'listEvents',
    'getEvent',
    'listDeliveries',
    'getDelivery',
    'search',
    'getHandset',
    'redeliver',
    'listOwnAudit',
  ])
    assert.ok(ids.includes(id), `${id} shows no contents to the owner: the walk would find no leak`)
  assert.ok(ids.length >= 20, `only ${ids} show contents to the owner`)
  const faults: string[] = []
  for (const isNarrow of [false, true]) {
    await must('PATCH', '/open/account', { agents_see_all: !isNarrow, agents_see_log: true })
    for (const caller of isNarrow ? [...persons, ...keys] : persons.filter(({ role }) => role === 'agent'))
      for (const { contract, requests, kinds: of } of showing) {
        if (!mayCall(caller, contract)) continue
        const answers: string[] = []
        for (const request of requests) answers.push(await ask(caller, contract, request))
        for (const kind of of) {
          const isShown = answers.some((one) => one.includes(marks[kind]))
          const isConversation = contract.id === 'listConversationItems'
          if (isShown === shows(kind, caller, ofInbox(contract), isNarrow, isConversation)) continue
          const where = requests[answers.findIndex((one) => one.includes(marks[kind]))]
          faults.push(
            `${contract.id} ${isShown ? `shows ${JSON.stringify(where)}` : 'hides'} ${kind}: ${caller.name}, narrow ${isNarrow}`,
          )
        }
      }
  }
  assert.deepEqual(faults, [])
})

// The streams.

const running = await startRoles(
  await assemble({ ...world.parts, config: { ...world.parts.config, port: 0, roles: ['api', 'console'] } }),
)
after(running.stop)
const url = `http://127.0.0.1:${running.port}`

/** Marks the end of what a stream is checked for. */
const last = { test: 'last' }
const speakLast = () =>
  speak([
    ['number.updated', last],
    ['contact.updated', last],
  ])

test('a laptop that listens gets the envelope of every event, and the contents that its key may see', async () => {
  const listeners = keys.filter((one) => has(one, 'develop'))
  assert.ok(listeners.length >= 5)
  const heard = new Map<Caller, Extract<ServerFrame, { type: 'event' }>[]>()
  for (const { key, ...caller } of listeners) {
    const socket = new WebSocket(`ws://127.0.0.1:${running.port}/open/webhooks/listen?after=${first}`, {
      headers: { 'x-user-api-key': key ?? '' },
    })
    after(() => socket.terminate())
    const events: Extract<ServerFrame, { type: 'event' }>[] = []
    heard.set({ key, ...caller }, events)
    socket.on('message', (data) => {
      const frame: ServerFrame = JSON.parse(String(data))
      if (frame.type !== 'event') return
      events.push(frame)
      socket.send(JSON.stringify({ type: 'result', id: frame.id, status: 200 }))
    })
  }
  await speak()
  await speakLast()
  const isLast = ({ body }: { readonly body: string }) => JSON.parse(body).test === last.test
  await until(async () => [...heard.values()].every((events) => events.some(isLast)))
  for (const [caller, events] of heard) {
    const names = new Set(events.map(({ name }) => name))
    for (const [name] of spoken) assert.ok(names.has(name), `${caller.name} does not get ${name}`)
    const text = events.map(({ body }) => body).join('\n')
    for (const kind of ['messages', 'contacts', 'recordings'] as const)
      assert.equal(text.includes(marks[kind]), shows(kind, caller, false, true), `${kind}: ${caller.name}`)
    const redacted = events.filter(({ body }) => JSON.parse(body).redacted === true)
    assert.equal(redacted.length > 0, !shows('messages', caller, false, true), caller.name)
  }
})

test('a page of the console gets live the contents that its session may see', async () => {
  const webhook = eventSets[0]?.params.webhook_uuid ?? ''
  const topics = ['inbox', 'calls', 'numbers', 'webhooks', 'team', 'money', `webhook:${webhook}`]
  for (const isNarrow of [true, false]) {
    await must('PATCH', '/open/account', { agents_see_all: !isNarrow, agents_see_log: true })
    const callers = isNarrow ? [...persons, ...keys] : persons.filter(({ role }) => role === 'agent')
    const pages = new Map<Caller, Awaited<ReturnType<typeof openPage>>>()
    for (const caller of callers)
      pages.set(caller, await openPage(url, { cookie: caller.cookie, account: tenant.uuid }, topics))
    await speak()
    await speakLast()
    for (const [caller, page] of pages) {
      const logged = () => page.of('event').filter((one) => one.logged)
      const sees = (...rights: Capability[]) => rights.some((one) => has(caller, one))
      if (sees('inbox', 'read_only', 'numbers'))
        await until(async () => logged().some(({ data }) => data.test === last.test))
      const text = JSON.stringify(logged())
      for (const kind of ['messages', 'contacts', 'recordings'] as const) {
        const follows = kind === 'recordings' ? sees('inbox', 'read_only') : sees('inbox')
        // A key that sees a part of the inbox gets a part of the calls, too.
        const isPart = kind === 'recordings' && sees('inbox') && !sees('inbox.all')
        const isRight = !isPart && follows && shows(kind, caller, true, isNarrow)
        assert.equal(text.includes(marks[kind]), isRight, `${kind}: ${caller.name}, narrow ${isNarrow}`)
      }
      if (!sees('develop')) continue
      const failed = () =>
        page.of('event').filter(({ name, data }) => name === 'webhook.delivery' && data.state === 'failed')
      const isShown = () => JSON.stringify(failed()).includes(secretMark)
      const isRight = shows('messages', caller, false, isNarrow)
      // A delivery of an event without contents may fail first.
      const isThere = () => (isRight ? isShown() : failed().length > 0)
      await until(async () => {
        // The first look at a webhook shows what was there before.
        if (!isThere()) await speak().then(failDeliveries)
        return isThere()
      })
      assert.equal(isShown(), isRight, `deliveries: ${caller.name}`)
    }
    for (const page of pages.values()) page.socket.terminate()
  }
})
