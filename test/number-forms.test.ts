import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeInbox } from '../src/domains/inbox/inbox-testing.ts'
import { inbound, makeChatHarness } from '../src/domains/msgapp/messages/testing.ts'
import { makeInboundReceiver } from '../src/domains/sms/inbound/inbound-receiver.ts'
import { uuid } from '../src/platform/lib/id.ts'
import { member } from './persons.ts'
import { until } from './platform.ts'
import { putPrices } from './prices.ts'
import { makeWorld, type Tenant } from './world.ts'

// One person under several forms of one number, over all kinds of messages and contacts.

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { call, db, parts, tenant } = world
await putPrices(
  world,
  ['54', '55', '52'].map((prefix) => ({ kind: 'sms_out' as const, prefix, price: '0.01' })),
)
const inbox = makeInbox(world)
const sms = makeInboundReceiver(db, parts)

/** A number that a plan replaced, and one that is dialled in both forms. */
const forms: [name: string, former: string, canonical: string][] = [
  ['Brazil', '+554191230001', '+5541991230001'],
  ['Mexico', '+5215512345678', '+525512345678'],
  ['Argentina', '+541123456789', '+5491123456789'],
]

const must = async (who: Tenant, method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object) => {
  const answer = await call(who, method, path, body)
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

const addContact = async (who: Tenant, first_name: string, value: string) =>
  (await must(who, 'POST', '/open/contacts', { first_name, contact_details: [{ type: 'PH', value }] })).contact

const hears = (number: string, source: string, text: string) =>
  sms.add({ connection: uuid(), source, destination: number, text, concat: null, link: 'a' })

const refusalOf = async (who: Tenant, from_number: string, to_number: string) => {
  const answer = await call(who, 'POST', '/open/sms/send', { from_number, to_number, text: 'hello' })
  const many = await call(who, 'POST', '/open/sms/send-many', { from_number, to_numbers: [to_number], text: 'hello' })
  const refusal = answer.body.error_code ?? answer.status
  assert.equal(many.body.messages[0].error_code ?? 202, refusal)
  return refusal
}

for (const [country, former, canonical] of forms)
  test(`an opt-out in one form refuses messages to the other: ${country}`, async () => {
    for (const [given, other] of [
      [former, canonical],
      [canonical, former],
    ] as const) {
      const who = await tenant()
      const { number } = await inbox.giveNumber(who)
      assert.equal(await refusalOf(who, number, other), 202)
      const { opt_out } = await must(who, 'POST', '/open/sms/opt-outs', { contact_number: given })
      assert.equal(opt_out.contact_number, canonical)
      for (const to of [given, other]) assert.equal(await refusalOf(who, number, to), 'opted_out', to)
      const again = await must(who, 'POST', '/open/sms/opt-outs', { contact_number: other })
      assert.equal(again.opt_out.uuid, opt_out.uuid)
      await must(who, 'DELETE', `/open/sms/opt-outs/${opt_out.uuid}`)
      await hears(number, given, 'STOP')
      for (const to of [given, other]) assert.equal(await refusalOf(who, number, to), 'opted_out', to)
      await hears(number, other, 'START')
      assert.equal(await refusalOf(who, number, given), 202)
    }
  })

for (const [country, former, canonical] of forms.filter(([country]) => country !== 'Mexico')) {
  test(`contacts in both forms are one person to look-ups, duplicates, imports and blocks: ${country}`, async () => {
    const who = await tenant()
    const first = await addContact(who, 'Ada', former)
    await addContact(who, 'Eva', canonical)
    const { duplicates } = await must(who, 'GET', '/open/contacts/duplicates?by=number')
    assert.deepEqual(
      duplicates.map((one: { contacts: { first_name: string }[] }) => one.contacts.map(({ first_name }) => first_name)),
      [['Ada', 'Eva']],
    )
    const imported = await world.app.inject({
      method: 'POST',
      url: '/open/contacts/import?on_duplicate=skip',
      headers: { 'x-user-api-key': who.key, 'content-type': 'text/csv' },
      payload: `first_name,phone\nNew,${former}\nNew,${canonical}\n`,
    })
    assert.equal(imported.json().created, 0, imported.body)
    for (const q of [former, canonical, former.slice(3)])
      assert.equal(
        (await must(who, 'GET', `/open/search?q=${encodeURIComponent(q)}&in=contacts`)).groups[0]?.count,
        2,
        q,
      )
    await must(who, 'PUT', `/open/contacts/${first.uuid}/block`)
    const { number } = await inbox.giveNumber(who)
    for (const from of [former, canonical]) await hears(number, from, 'Hello')
    const { messages } = await must(who, 'GET', '/open/sms/messages')
    assert.deepEqual(
      messages.map((one: { sub_status: string }) => one.sub_status),
      ['blocked', 'blocked'],
    )
  })

  test(`texts and chats in both forms are one conversation and one thread: ${country}`, async () => {
    const who = await tenant()
    const line = await inbox.giveNumber(who)
    const chat = await makeChatHarness(world, who.id)
    await addContact(who, 'Ada', former)
    await inbox.write(former, line.number, 'in the former form')
    await inbox.write(canonical, line.number, 'in the current form')
    const remote = `${former.slice(1)}@s.example`
    await chat.intake.inbound(chat.line, inbound({ from: { number: former, remote, pushname: null }, text: 'a chat' }))
    const conversation = await until(async () => {
      const list = await inbox.conversations(who)
      const { items } = list[0] ? await inbox.items(who, list[0].uuid) : { items: [] }
      return items.length === 3 && list
    })
    assert.deepEqual(
      conversation.map(({ counterpart, name }) => [counterpart, name]),
      [[canonical, 'Ada']],
    )
    for (const form of [former, canonical]) {
      const path = `/open/sms/messages/SMS${line.channel}/${form}`
      assert.equal((await must(who, 'GET', path)).messages.length, 2, form)
      assert.equal(
        (await must(who, 'GET', `/open/sms/messages?contact_number=${encodeURIComponent(form)}`)).messages.length,
        2,
      )
      const chats = await must(who, 'GET', `/open/msgapp/messages/${chat.line.number}/${form}`)
      assert.equal(chats.messages.length, 1)
    }
    for (const to_number of [former, canonical])
      await must(who, 'POST', '/open/msgapp/send-message', { from_number: chat.line.number, to_number, text: 'Hello' })
    // The network gets the form that it gave.
    await until(async () => chat.sent.length === 2)
    assert.deepEqual(
      chat.sent.map(({ to }) => to.number),
      [former, former],
    )
    assert.deepEqual((await inbox.conversations(who)).length, 1)
  })

  test(`a person of another agent is hidden in every form of the number: ${country}`, async () => {
    const who = await tenant()
    const line = await inbox.giveNumber(who)
    const made = await call('operator', 'POST', `/operator/accounts/${who.uuid}/keys`, {
      label: 'x',
      scopes: ['inbox'],
    })
    const narrowed = { ...who, key: made.body.key }
    await hears(line.number, former, 'hello')
    const { conversation } = await must(who, 'POST', '/open/conversations', { number: canonical })
    const { user: assignee_uuid } = await member(world, who, 'agent')
    await must(who, 'PATCH', `/open/conversations/${conversation.uuid}`, { assignee_uuid })
    assert.equal((await must(who, 'GET', '/open/sms/messages')).messages.length, 1)
    assert.deepEqual((await must(narrowed, 'GET', '/open/sms/messages')).messages, [])
    for (const form of [former, canonical])
      assert.deepEqual(
        (await must(narrowed, 'GET', `/open/sms/messages/SMS${line.channel}/${form}`)).messages,
        [],
        form,
      )
  })
}

test('a landline of Argentina is dialled as it was given', async () => {
  const who = await tenant()
  const line = await inbox.giveNumber(who)
  await inbox.write('+541141234567', line.number, 'from a landline')
  const [shown] = await until(async () => {
    const list = await inbox.conversations(who)
    return list.length > 0 && list
  })
  assert.deepEqual([shown?.counterpart, shown?.number], ['+5491141234567', '+541141234567'])
})
