import { makeInbox } from '../../src/domains/inbox/inbox-testing.ts'
import { inbound, makeChatHarness } from '../../src/domains/msgapp/messages/testing.ts'
import { uuid } from '../../src/platform/lib/id.ts'
import { until } from '../platform.ts'
import type { Tenant, World } from '../world.ts'

/** Inputs that name a secret thing: values by the names of fields, of paths and of queries and bodies. */
export type SecretInputs = {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, string | string[]>>
}

/** Conversations of one kind each, and everything that no answer to another reader may have. */
export type Secrets = { readonly sets: readonly SecretInputs[]; readonly words: readonly string[] }

/** Part of every text, name and note of a secret conversation. */
export const secretMark = 'ZQXSECRETZQX'

const [person, member, known] = ['+447911555001', '+447911555002', '+447911555003']
const [remote, network] = ['77000@lid', '120363555000111222@g.us']

/**
 * Makes conversations by SMS, chats of all kinds and calls, and gives them to a user.
 * @param user `USR…`
 */
export const makeSecrets = async (world: World, who: Tenant, user: string): Promise<Secrets> => {
  const { db, call } = world
  const inbox = makeInbox(world)
  const line = await inbox.giveNumber(who)
  await db.run`update virtual_numbers set expires_at = now() + interval '1 month' where id = ${line.did}`
  const app = await makeChatHarness(world, who.id)
  const details = [{ type: 'PH', value: known }]
  const contact = await call(who, 'POST', '/open/contacts', { first_name: 'Known', contact_details: details })

  for (const number of [person, known]) await inbox.write(number, line.number, `${secretMark} ${number.at(-1)}`)
  const sent = await inbox.apiSends(who, line, person, secretMark)
  const from = (number: string | null) => ({ number, remote, pushname: secretMark })
  const write = (message: Parameters<typeof inbound>[0]) =>
    app.intake.inbound(app.line, inbound({ text: secretMark, ...message }))
  await write({ from: { ...from(person), remote: `${person.slice(1)}@c.us` } })
  await write({ from: from(null) })
  await write({
    from: { ...from(member), remote: `${member.slice(1)}@c.us` },
    group: { id: network, name: secretMark },
  })
  const addCall = async (direction: 'I' | 'O', number: string, isApp: boolean) => {
    const id = uuid()
    await db.run`
      insert into calls (account_id, id, callid, direction, from_number, to_number, iso_country_code, status, is_msgapp,
        is_trunk, caller_id_used, virtual_number_id, recorded_at, ended_at)
      values (${who.id}, ${id}, ${id}, ${direction}, ${direction === 'I' ? number : null},
        ${direction === 'I' ? line.number : number}, 'GB', 'MISSED', ${isApp}, false, '', ${isApp ? null : line.did},
        now(), now())`
    if (isApp)
      await db.run`
        insert into msgapp_calls (account_id, id, channel_id, network_id, remote_id, is_video, at, created_at)
        values (${who.id}, ${id}, ${app.line.channel}, ${id}, ${remote}, false, now(), now())`
    return `CDR${id}`
  }
  const calls = [await addCall('I', person, false), await addCall('O', person, false), await addCall('I', remote, true)]

  const found = await until(async () => {
    const list = await inbox.conversations(who)
    return list.length === 4 ? list : null
  })
  // Other conversations of the world are not waited for.
  await inbox.stop()
  const of = (start: string) => found.find(({ counterpart }) => counterpart.startsWith(start))?.uuid ?? ''
  const notes: string[] = []
  for (const { uuid: one } of found) {
    const note = await call(who, 'POST', `/open/conversations/${one}/notes`, { text: secretMark })
    notes.push(note.body.item.note.uuid)
    await call(who, 'PATCH', `/open/conversations/${one}`, { assignee_uuid: user })
  }
  const items = await db.many<{ id: string }>`
    select id from conversation_items where account_id = ${who.id}
    union all select id from msgapp_groups where account_id = ${who.id}
    union all select id from calls where account_id = ${who.id}`
  const received = await db.one<{ id: string }>`
    select id from sms_messages where account_id = ${who.id} and contact = ${person} and direction = 'inbound'`
  const chats = await db.many<{ id: string; peer: string; group_id: string | null; remote_id: string | null }>`
    select c.last_message_id as id, c.peer, c.group_id, c.remote_id from msgapp_chats c where c.account_id = ${who.id}`
  const channel = `WPN${app.line.channel}`
  const chatSet = (peer: string, counterpart: string, cdr: string, more: Record<string, string> = {}): SecretInputs => {
    const chat = chats.find((one) => one.peer === peer)
    const things = {
      ...{ conversation_uuid: of(counterpart), message_uuid: `MSG${chat?.id}`, call_uuid: cdr, channel_uuid: channel },
      ...{ session_key: `WW-${channel}-${peer}`, remote: peer.replace(/^(\d+)@c.us$/, '+$1'), ...more },
    }
    return {
      params: { ...things, number: app.line.number },
      query: { ...things, around: `MSG${chat?.id}`, q: secretMark },
      body: { ...things, until: `MSG${chat?.id}`, uuids: [of(counterpart)] },
    }
  }
  const smsSet = (message: string, cdr: string): SecretInputs => {
    const things = {
      ...{ conversation_uuid: of(person), message_uuid: message, call_uuid: cdr, channel_uuid: `SMS${line.channel}` },
      ...{ contact_number: person, note_uuid: notes[found.findIndex(({ uuid: one }) => one === of(person))] ?? '' },
    }
    return {
      params: things,
      query: { ...things, around: message, number: person, q: person },
      body: { ...things, until: message, seen: message, number: person, uuids: [of(person)] },
    }
  }
  const group = chats.find(({ group_id }) => group_id !== null)
  return {
    words: [
      secretMark,
      person,
      member,
      remote,
      ...found.map(({ uuid: one }) => one.slice(3)),
      ...items.map(({ id }) => id),
    ],
    sets: [
      smsSet(`SMI${received.id}`, calls[0] ?? ''),
      smsSet(`SMO${sent}`, calls[1] ?? ''),
      chatSet(`${person.slice(1)}@c.us`, person, calls[0] ?? ''),
      chatSet(remote, 'remote:', calls[2] ?? ''),
      chatSet(group?.peer ?? '', 'WAG', calls[2] ?? '', { group_uuid: `WAG${group?.group_id}` }),
      {
        params: { contact_uuid: contact.body.contact.uuid, conversation_uuid: of(known) },
        query: { contact_uuid: contact.body.contact.uuid, q: `SMI${received.id}` },
        body: { contact_uuid: contact.body.contact.uuid },
      },
    ],
  }
}
