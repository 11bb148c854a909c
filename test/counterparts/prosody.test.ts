import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { makeActs } from '../../src/msgapp/acts.ts'
import { makeIntake } from '../../src/msgapp/intake.ts'
import { needs } from '../needs.ts'
import { find, type Person, person } from '../person.ts'
import { component, type Prosody, password, secret, startProsody, until } from '../prosody.ts'
import { type Answer, makeWorld, type Tenant, type World } from '../world.ts'

// Prosody, an XMPP server that we did not write, and people on it: the messaging app through our HTTP interface.

const ours = '+447911123101'
const theirs = '+447911123102'
const other = '+447911123103'
const nobody = '+447911123199'

type Mode = 'client' | 'component'

type Stage = {
  readonly world: World
  readonly tenant: Tenant
  readonly server: Prosody
  readonly channel: string
  /** The conversation with the friend. */
  readonly key: string
  readonly me: string
  readonly friend: Person
  get(url: string): Promise<{ status: number; body: Body }>
  post(url: string, body: object): Promise<{ status: number; body: Body }>
}

type Body = Answer['body']

const digits = (number: string) => number.slice(1)

const settingsOf = (mode: Mode, server: Prosody) =>
  mode === 'client'
    ? { mode, host: '127.0.0.1', port: server.port, domain: 'localhost', password, tls_ca: server.ca }
    : { mode, host: '127.0.0.1', port: server.componentPort, domain: 'localhost', component, secret, admin: 'check' }

const stand = async (t: TestContext, mode: Mode): Promise<Stage> => {
  const server = await startProsody(t, [ours, theirs, other].map(digits))
  const world = await makeWorld({ TRUNKLINE_ALLOW_PRIVATE_HOOKS: 'true' })
  t.after(() => world.end())
  const { parts, call } = world
  await parts.networks.start({ acts: makeActs(parts), intake: makeIntake(parts) })
  const settings = settingsOf(mode, server)
  const made = await call('operator', 'POST', '/operator/connections', { kind: 'xmpp', name: 'people', settings })
  assert.equal(made.status, 201, JSON.stringify(made.body))
  const tenant = await world.tenant()
  const get = (url: string) => call(tenant, 'GET', url)
  const post = (url: string, body: object) => call(tenant, 'POST', url, body)
  const created = await post('/open/msgapp/channel/create', { phone_number: ours, friendly_name: 'Shop' })
  assert.equal(created.status, 201, JSON.stringify(created.body))
  const channel: string = created.body.channel.uuid
  await until('the channel is connected', async () => (await statusOf({ get, channel })) === 'C', 30)
  const friend = await person(t, server, digits(theirs))
  const key = `WW-${channel}-${digits(theirs)}@c.us`
  const me = `${digits(ours)}@${mode === 'client' ? 'localhost' : component}`
  return { world, tenant, server, channel, key, me, friend, get, post }
}

const statusOf = async ({ get, channel }: Pick<Stage, 'get' | 'channel'>): Promise<string> =>
  (await get(`/open/msgapp/channel/${channel}/status`)).body.connection_status

const send = async ({ post }: Stage, body: object): Promise<string> => {
  const sent = await post('/open/msgapp/send-message', { from_number: ours, ...body })
  assert.equal(sent.status, 202, JSON.stringify(sent.body))
  return sent.body.message_uuid
}

const messages = async ({ get }: Stage): Promise<Body[]> =>
  (await get(`/open/msgapp/messages/${ours}/${theirs}?results_per_page=200`)).body.messages

type Case = (stage: Stage, t: TestContext) => Promise<void>

const texts: Case = async (stage) => {
  const { friend, me, get, key, world, tenant } = stage
  const id = await send(stage, { to_number: theirs, text: 'Hello' })
  const read = async () => (await get(`/open/msgapp/message/${encodeURIComponent(key)}/${id}`)).body.message
  const got = await friend.wait('the text', (node) => find(node, 'body')?.text === 'Hello')
  await until('sent', async () => (await read()).wa_msg_ack === 1)
  friend.write(`<message to='${me}'><received xmlns='urn:xmpp:receipts' id='${got.attrs.id}'/></message>`)
  await until('received', async () => (await read()).wa_msg_ack === 2)
  friend.write(`<message to='${me}'><displayed xmlns='urn:xmpp:chat-markers:0' id='${got.attrs.id}'/></message>`)
  await until('read', async () => (await read()).wa_msg_ack === 3)
  assert.match((await read()).read_at, /^\d{4}-/)

  friend.say(me, 'Hello yourself', 't1', "<request xmlns='urn:xmpp:receipts'/>")
  friend.say(me, 'Hello yourself', 't1', "<request xmlns='urn:xmpp:receipts'/>")
  await friend.wait('the receipt', (node) => find(node, 'received', { id: 't1' }) !== undefined)
  const [newest] = await messages(stage)
  assert.deepEqual(
    [newest.message.text, newest.sent_by, newest.remote_phone_number],
    ['Hello yourself', 'user', theirs],
  )
  assert.equal((await messages(stage)).length, 2)
  const told = await world.db.many<{ name: string }>`
    select name from events where account_id = ${tenant.id} and name like 'msgapp.message.re%' order by created_at, id`
  assert.deepEqual(
    told.map(({ name }) => name.replace('msgapp.message.', '')),
    ['receipt.sent', 'receipt.received', 'receipt.read', 'received'],
  )
}

const groups: Case = async (stage) => {
  const { friend, post, get } = stage
  const group = { name: 'Team', description: 'We', participants: [theirs, nobody] }
  const made = await post('/open/msgapp/group/create', { from_number: ours, group })
  assert.equal(made.status, 200, JSON.stringify(made.body))
  const { participants, wa_group_id: room, uuid } = made.body.group
  assert.deepEqual([participants[theirs].statusCode, participants[nobody].statusCode], [200, 404])
  assert.equal(participants[ours].isGroupCreator, true)
  await friend.wait('the invitation', (node) => node.attrs.from === room && find(node, 'invite') !== undefined)
  friend.write(`<presence to='${room}/ada'><x xmlns='http://jabber.org/protocol/muc'/></presence>`)
  await friend.wait('the group', (node) => find(node, 'status', { code: '110' }) !== undefined)
  await send(stage, { to_group_uuid: uuid, text: 'To all' })
  await friend.wait('the text', (node) => node.attrs.type === 'groupchat' && find(node, 'body')?.text === 'To all')
  friend.write(`<message type='groupchat' to='${room}' id='g1'><body>From one</body></message>`)
  await until('the answer', async () => {
    const { body } = await get(`/open/msgapp/groups/messages/${uuid}`)
    return body.messages.some((one: Body) => one.message.text === 'From one')
  })
  const added = await post(`/open/msgapp/group/${uuid}/add-participant`, { participants: [other] })
  assert.equal(added.status, 200, JSON.stringify(added.body))
}

const checks: Case = async ({ get }) => {
  const of = async (number: string) => (await get(`/open/msgapp/check-number/${ours}/${number}`)).body
  const [there, missing] = [await of(theirs), await of(nobody)]
  assert.deepEqual([there.is_valid, there.on_msgapp, there.msgapp_info.number_id], [true, true, digits(theirs)])
  assert.deepEqual([missing.on_msgapp, missing.on_msgapp_unknown], [false, undefined])
}

const picture: Case = async ({ post, friend, me, get, channel }, t) => {
  const image = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), randomBytes(2_000)])
  const web = createServer((_, response) => response.end(image)).listen(0, '127.0.0.1')
  t.after(() => web.close())
  await once(web, 'listening')
  const address = web.address()
  assert.ok(address && typeof address === 'object')
  const url = `http://127.0.0.1:${address.port}/us.png`
  const asked = await post(`/open/msgapp/set-profile-picture/${ours}`, { url })
  assert.deepEqual([asked.status, asked.body.batched], [200, true])
  await until('it is set', async () => {
    const { body } = await get(`/open/msgapp/channel/${channel}/status`)
    return body.events.some((one: Body) => one.event === 'picture-set')
  })
  const hash = createHash('sha1').update(image).digest('hex')
  const items = "<items node='urn:xmpp:avatar:metadata'/>"
  const shown = await friend.ask('get', me, `<pubsub xmlns='http://jabber.org/protocol/pubsub'>${items}</pubsub>`)
  assert.equal(find(shown, 'info')?.attrs.id, hash)

  const sent = await post('/open/msgapp/send-message', { from_number: ours, to_number: theirs, url })
  assert.equal(sent.status, 202, JSON.stringify(sent.body))
  const got = await friend.wait('the file', (node) => find(node, 'x', { xmlns: 'jabber:x:oob' }) !== undefined)
  const answer = await fetch(find(got, 'url')?.text ?? '')
  assert.ok(Buffer.from(await answer.arrayBuffer()).equals(image))
}

const calls: Case = async (stage) => {
  const { friend, me, world, tenant } = stage
  const offer = "<description xmlns='urn:xmpp:jingle:apps:rtp:1' media='audio'/>"
  const propose = `<propose xmlns='urn:xmpp:jingle-message:0' id='k1'>${offer}</propose>`
  for (const _ of [1, 2]) friend.write(`<message type='chat' to='${me}'>${propose}</message>`)
  friend.write(`<message type='chat' to='${me}'><retract xmlns='urn:xmpp:jingle-message:0' id='k1'/></message>`)
  friend.say(me, 'did you hear?', 'k2')
  const calls_ = () =>
    world.db.many`select 1 from events where account_id = ${tenant.id} and name = 'msgapp.call.received'`
  await until('what came after', async () => (await messages(stage))[0]?.message.text === 'did you hear?')
  assert.equal((await calls_()).length, 1)
}

const outage =
  (mode: Mode): Case =>
  async (stage, t) => {
    const { server, friend, me, get } = stage
    const before = (await messages(stage)).length
    const ids = Array.from({ length: 20 }, (_, index) => `out ${index + 10}`)
    for (const text of ids.slice(0, 10)) await send(stage, { to_number: theirs, text })
    await friend.wait('the first ones', (node) => find(node, 'body')?.text === 'out 13')
    friend.say(me, 'before the end', 'o1')
    // The server has it once it answers what was asked after it.
    await friend.ask('get', 'localhost', "<ping xmlns='urn:xmpp:ping'/>")
    await server.stop('SIGKILL')
    for (const text of ids.slice(10)) await send(stage, { to_number: theirs, text })
    await until('it is told', async () => (await statusOf(stage)) === 'D', 15)
    await server.start()
    await until('it is back', async () => (await statusOf(stage)) === 'C', 30)
    const again = await person(t, server, digits(theirs), { resource: 'again' })
    if (mode === 'component') {
      // Who writes while a component is away is told so, and writes again.
      again.say(me, 'before the end', 'o1')
    }
    const own = async () => (await messages(stage)).filter(({ message }) => message.text?.startsWith('out '))
    await until('all are sent', async () => (await own()).every(({ wa_msg_ack: ack }) => ack >= 1), 30)
    const paging = "<set xmlns='http://jabber.org/protocol/rsm'><max>200</max></set>"
    await again.ask('set', null, `<query xmlns='urn:xmpp:mam:2'>${paging}</query>`)
    const archived = again.got.flatMap((node) => {
      const message = find(node, 'message')
      const text = find(message, 'body')?.text ?? ''
      return text.startsWith('out ') ? [`${message?.attrs.id} ${text}`] : []
    })
    assert.deepEqual([...new Set(archived)].map((one) => one.replace(/^\S+ /, '')).sort(), ids)
    assert.ok(archived.length <= ids.length + (mode === 'client' ? 1 : 10))
    await until('the word before the end', async () =>
      (await messages(stage)).some(({ message }) => message.text === 'before the end'),
    )
    assert.equal((await messages(stage)).length, before + ids.length + 1)

    server.signal('SIGSTOP')
    const since = performance.now()
    await until('the mute one is told', async () => (await statusOf(stage)) === 'D', 15)
    assert.ok(performance.now() - since < 15_000)
    const { body } = await get(`/open/msgapp/check-number/${ours}/+447911123150`)
    assert.deepEqual([body.on_msgapp, body.on_msgapp_unknown], [undefined, true])
    server.signal('SIGCONT')
    await until('it is back again', async () => (await statusOf(stage)) === 'C', 30)
  }

for (const mode of ['client', 'component'] as const) {
  test(`the messaging app over Prosody: ${mode}`, needs('prosody'), async (t) => {
    const stage = await stand(t, mode)
    const cases: Readonly<Record<string, Case>> = {
      'a text is sent, received and read; one that comes in is kept once and told': texts,
      'a group has a code for each participant, and its texts go both ways': groups,
      'numbers on the network and others are told apart': checks,
      'the picture and files arrive byte for byte': picture,
      'a call is told of once': calls,
      'a server that is killed or mute loses nothing': outage(mode),
    }
    for (const [name, run] of Object.entries(cases)) await t.test(name, (inner) => run(stage, inner))
  })
}
