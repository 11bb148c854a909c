import assert from 'node:assert/strict'
import { test } from 'node:test'
import { member } from '../../../test/persons.ts'
import { until } from '../../../test/platform.ts'
import { makeWorld } from '../../../test/world.ts'
import { quoteIdentifier } from '../../platform/db/identifier.ts'
import { parse, timeOf, uuid } from '../../platform/lib/id.ts'
import { record } from '../events/ops.ts'
import { inbound, makeChatHarness } from '../msgapp/messages/testing.ts'
import { makeInbox } from './inbox-testing.ts'
import { startProjector } from './projector/projector.ts'

const world = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })
const { db, call, parts, tenant } = world
const inbox = makeInbox(world)
const ada = '+447911123456'

const account = async () => {
  const who = await tenant()
  return { who, line: await inbox.giveNumber(who) }
}

test('an inbound text begins one open conversation, and each later text joins it', async () => {
  const { who, line } = await account()
  await inbox.write(ada, line.number, 'Hello', 'Is anyone there?')
  const [found] = await until(async () => {
    const list = await inbox.conversations(who)
    return list.length > 0 ? list : null
  })
  assert.equal(found?.counterpart, ada)
  assert.equal(found?.status, 'open')
  assert.equal(found?.unread, 2)
  assert.equal((found?.last as { text: string } | undefined)?.text, 'Is anyone there?')
  assert.ok(found?.waiting_since)
  await inbox.write(ada, line.number, 'Third')
  await until(async () => (await inbox.items(who, found?.uuid ?? '')).count === 3)
  const { items } = await inbox.items(who, found?.uuid ?? '')
  assert.deepEqual(
    items.map((item: { sms: { text: string } }) => item.sms.text),
    ['Third', 'Is anyone there?', 'Hello'],
  )
  assert.deepEqual(await inbox.events(who), ['conversation.created', 'conversation.updated'])
})

test('texts of the API make no conversation, and those before an answer are taken in with it', async () => {
  const { who, line } = await account()
  await inbox.apiSends(who, line, ada, 'Your code is 123456')
  await inbox.apiSends(who, line, '+447911123457', 'Your code is 654321')
  await inbox.write(ada, line.number, 'Which code?')
  const [found, ...others] = await until(async () => {
    const list = await inbox.conversations(who)
    return list.length > 0 ? list : null
  })
  assert.deepEqual(others, [])
  const { items } = await inbox.items(who, found?.uuid ?? '')
  assert.deepEqual(
    items.map((item: { sms: { text: string } }) => item.sms.text),
    ['Which code?', 'Your code is 123456'],
  )
  await inbox.apiSends(who, line, ada, 'A later one')
  await until(async () => (await inbox.items(who, found?.uuid ?? '')).count === 3)
})

test('an inbound text opens a closed conversation; an away assignee loses it', async () => {
  const { who, line } = await account()
  const { user } = await member(world, who, 'agent')
  await inbox.write(ada, line.number, 'Hello')
  const [found] = await until(async () => {
    const list = await inbox.conversations(who)
    return list.length > 0 ? list : null
  })
  const path = `/open/conversations/${found?.uuid}`
  const closed = await call(who, 'PATCH', path, { status: 'closed', assignee_uuid: user })
  assert.equal(closed.status, 200, JSON.stringify(closed.body))
  assert.equal(closed.body.conversation.waiting_since, undefined)
  await inbox.write(ada, line.number, 'Again')
  const opened = await until(async () => {
    const { conversation } = (await call(who, 'GET', path)).body
    return conversation.status === 'open' ? conversation : null
  })
  assert.equal(opened.assignee_uuid, user)
  await call(who, 'PATCH', path, { status: 'closed' })
  await db.run`update users set availability = 'away' where account_id = ${who.id} and id = ${user.slice(3)}`
  await inbox.write(ada, line.number, 'And again')
  const unassigned = await until(async () => {
    const { conversation } = (await call(who, 'GET', path)).body
    return conversation.status === 'open' ? conversation : null
  })
  assert.equal(unassigned.assignee_uuid, undefined)
  assert.deepEqual(await inbox.events(who), [
    'conversation.created',
    ...['conversation.updated', 'conversation.assigned', 'conversation.closed'],
    'conversation.updated',
    ...['conversation.updated', 'conversation.closed'],
    ...['conversation.updated', 'conversation.assigned'],
  ])
})

test('a conversation that is opened loses an assignee who is away or suspended, and keeps one who is there', async () => {
  const { who, line } = await account()
  await inbox.write(ada, line.number, 'Hello')
  const [found] = await until(async () => {
    const list = await inbox.conversations(who)
    return list.length > 0 ? list : null
  })
  const path = `/open/conversations/${found?.uuid}`
  for (const [column, value, isKept] of [
    ['status', 'ACTIVE', true],
    ['status', 'SUSPENDED', false],
    ['availability', 'away', false],
  ] as const) {
    const { user } = await member(world, who, 'agent')
    const closed = await call(who, 'PATCH', path, { status: 'closed', assignee_uuid: user })
    assert.equal(closed.status, 200, JSON.stringify(closed.body))
    await db.raw(`update users set ${quoteIdentifier(column)} = $1 where id = $2`, [value, user.slice(3)])
    await inbox.write(ada, line.number, `To one who is ${value}`)
    const opened = await until(async () => {
      const { conversation } = (await call(who, 'GET', path)).body
      return conversation.status === 'open' && conversation
    })
    assert.equal(opened.assignee_uuid, isKept ? user : undefined, value)
  }
})

test('messages of the messaging app, of groups and of hidden numbers are conversations', async () => {
  const { who } = await account()
  const chat = await makeChatHarness(world, who.id)
  for (const message of [
    inbound({ number: ada, text: 'By the app' }),
    inbound({ number: null, text: 'Hidden' }),
    inbound({ number: ada, text: 'In a group', group: { id: '1@g.us', name: 'Friends' } }),
  ])
    await chat.intake.inbound(chat.line, message)
  const list = await until(async () => {
    const found = await inbox.conversations(who)
    return found.length === 3 ? found : null
  })
  assert.deepEqual(list.map(({ name }) => name).sort(), ['Ada', 'Ada', 'Friends'])
  assert.deepEqual(list.map(({ counterpart }) => counterpart.split(/[:0-9]/)[0]).sort(), ['+', 'WAG', 'remote'])
  const from = (number: string | null) => ({ from: { number, remote: '88@lid', pushname: '' } })
  const named = (name: string) => until(async () => (await inbox.conversations(who)).find((one) => one.name === name))
  await chat.intake.inbound(chat.line, inbound(from(null)))
  const hidden = await named('88@lid')
  const contact_details = [{ type: 'PH', value: '+447911123499' }]
  await call(who, 'POST', '/open/contacts', { first_name: 'Grace', last_name: 'Hopper', contact_details })
  await chat.intake.inbound(chat.line, inbound(from('+447911123499')))
  assert.equal((await named('Grace Hopper')).uuid, hidden.uuid, 'the network revealed the number')
  const [byNumber] = await inbox.conversations(who, '?q=07911123499')
  assert.deepEqual([byNumber?.uuid, Object(byNumber?.contact).first_name], [hidden.uuid, 'Grace'])
})

test('a missed call begins a conversation, and a call of a person too', async () => {
  const { who, line } = await account()
  const user = uuid()
  const end = async (direction: 'I' | 'O', other: string, answered: boolean) => {
    const id = uuid()
    await db.run`
      insert into calls (account_id, id, callid, direction, user_id, from_number, to_number, iso_country_code, status,
        is_msgapp, is_trunk, caller_id_used, virtual_number_id, answered_at, ended_at)
      values (${who.id}, ${id}, 'c', ${direction}, ${direction === 'O' ? user : null}, ${direction === 'I' ? other : null},
        ${direction === 'I' ? line.number : other}, 'GB', ${answered ? 'COMPLETED' : 'MISSED'}, false, true, '',
        ${line.did}, ${answered ? new Date() : null}, now())`
    const name = direction === 'I' ? 'call.incoming.completed' : 'call.outbound.completed'
    await db.begin((tx) =>
      record(tx, [
        { account: who.id, name, channel: line.did, conversation: `call ${id}`, payload: { uuid: `CDR${id}` } },
      ]),
    )
  }
  await end('I', ada, false)
  await end('O', '+447911123457', true)
  const list = await until(async () => {
    const found = await inbox.conversations(who)
    return found.length === 2 ? found : null
  })
  const [called, missed] = ['+447911123457', ada].map((number) => list.find((one) => one.counterpart === number))
  assert.ok(missed?.waiting_since)
  assert.equal(called?.waiting_since, undefined)
  const { items } = await inbox.items(who, missed?.uuid ?? '')
  assert.equal(items[0].call.status, 'MISSED')
})

test('a call is read for the person who answered it, unless something before it is unread', async () => {
  const { who, line } = await account()
  const [answerer, colleague] = [await member(world, who, 'agent'), await member(world, who, 'agent')]
  const unreadOf = async (one: typeof answerer, path: string) => {
    const { conversation } = (await one.call('GET', path)).body
    const { counts } = (await one.call('GET', '/open/conversations/counts?views=unread')).body
    const { conversations } = (await one.call('GET', '/open/conversations?unread=true')).body
    return [conversation.unread, counts.unread.n, conversations.length]
  }
  const answered = async (): Promise<string> => {
    const id = uuid()
    await db.run`
      insert into calls (account_id, id, callid, direction, user_id, from_number, to_number, iso_country_code, status,
        is_msgapp, is_trunk, caller_id_used, virtual_number_id, answered_at, ended_at)
      values (${who.id}, ${id}, 'c', 'I', ${parse('USR', answerer.user)}, ${ada}, ${line.number}, 'GB', 'COMPLETED',
        false, true, '', ${line.did}, now(), now())`
    const event = { account: who.id, name: 'call.incoming.completed' as const, channel: line.did }
    await db.begin((tx) => record(tx, [{ ...event, conversation: `call ${id}`, payload: { uuid: `CDR${id}` } }]))
    return `CDR${id}`
  }
  const items = async (path: string) => (await call(who, 'GET', `${path}/items`)).body.items as { uuid: string }[]
  const first = await answered()
  const { uuid: conversation } = await until(async () => (await inbox.conversations(who))[0])
  const path = `/open/conversations/${conversation}`
  assert.deepEqual(await unreadOf(answerer, path), [0, 0, 0])
  assert.deepEqual(await unreadOf(colleague, path), [1, 1, 1])
  await inbox.write(ada, line.number, 'And one more thing')
  await until(async () => (await items(path)).length === 2)
  const second = await answered()
  await until(async () => (await items(path)).some((item) => item.uuid === second))
  assert.notEqual(first, second)
  assert.deepEqual(await unreadOf(answerer, path), [1, 1, 1], 'the message is unread, the calls are not')
  assert.deepEqual(await unreadOf(colleague, path), [3, 1, 1])
})

test('the counters agree with the conversations after every change', async () => {
  const { who, line } = await account()
  for (let n = 0; n < 5; n++) await inbox.write(`+4479111234${60 + n}`, line.number, 'Hello')
  const list = await until(async () => {
    const found = await inbox.conversations(who)
    return found.length === 5 ? found : null
  })
  await call(who, 'PATCH', `/open/conversations/${list[0]?.uuid}`, { status: 'closed' })
  await call(who, 'PATCH', `/open/conversations/${list[1]?.uuid}`, { snoozed_till_reply: true })
  const { counts } = (await call(who, 'GET', '/open/conversations/counts')).body
  const numbers = Object.fromEntries(
    Object.entries(counts as Record<string, { n: number }>).map(([name, { n }]) => [name, n]),
  )
  assert.deepEqual(numbers, {
    ...{ open: 3, mine: 0, unassigned: 3, waiting: 3, mine_waiting: 0, unread: 3, snoozed: 1, closed: 1 },
  })
})

test('items that the projector missed while it was stopped appear after its start, once', async () => {
  const { who, line } = await account()
  await inbox.stop()
  for (let n = 0; n < 30; n++) await inbox.write(ada, line.number, `Text ${n}`)
  inbox.start()
  await until(async () => (await inbox.conversations(who)).length === 1)
  const [found] = await inbox.conversations(who)
  await until(async () => (await inbox.items(who, found?.uuid ?? '', '?results_per_page=200')).count === 30)
  await inbox.stop()
  inbox.start()
  await inbox.write(ada, line.number, 'Last')
  await until(async () => (await inbox.items(who, found?.uuid ?? '', '?results_per_page=200')).count === 31)
  assert.equal((await inbox.events(who)).filter((name) => name === 'conversation.created').length, 1)
})

test('a text whose transaction commits late joins its conversation, however late within eleven seconds', async () => {
  await inbox.stop()
  for (const [lateMs, isWhole, isRestarted] of [
    [900, false, false],
    [10_500, true, false],
    [10_500, true, true],
  ] as const) {
    const { who, line } = await account()
    // A first read in the future: no further read of the whole time is due until then.
    let time = Date.now() + (isWhole ? 0 : 3_600_000)
    const start = () => startProjector({ db, log: parts.log }, () => time)
    let projector = start()
    try {
      const [texts, late] = ['+447911123456', '+447911123499']
      const count = async () => {
        const found = (await inbox.conversations(who)).find(({ counterpart }) => counterpart === texts)
        return found ? (await inbox.items(who, found.uuid)).count : 0
      }
      await inbox.write(texts, line.number, 'First')
      await until(async () => (await count()) === 1)
      await db.begin(async (tx) => {
        await inbox.writeWithin(tx, late, line.number, 'Late')
        const { id } = await tx.one<{ id: string }>`
          select id from events where account_id = ${who.id} order by id desc limit 1`
        await inbox.write(texts, line.number, 'Second')
        await until(async () => (await count()) === 2)
        if (isRestarted) await projector.stop()
        time = timeOf(id) + lateMs
      })
      if (isRestarted) projector = start()
      await until(async () => (await inbox.conversations(who)).length === 2)
    } finally {
      await projector.stop()
    }
  }
  inbox.start()
})

test('an event that cannot be projected is skipped, and those around it are not lost', async () => {
  const { who, line } = await account()
  await db.raw(`
    create function refuse_poison() returns trigger language plpgsql as $$
    begin
      if exists (select from sms_messages m where m.id = new.id and m.text = 'poison') then raise exception 'refused'; end if;
      return new;
    end $$;
    create trigger refuse_poison before insert on conversation_items for each row execute function refuse_poison()`)
  await inbox.write(ada, line.number, 'First')
  await until(async () => (await inbox.conversations(who)).length === 1)
  await inbox.write(ada, line.number, 'Before', 'poison', 'After')
  await inbox.write('+447911123458', line.number, 'Another')
  const list = await until(async () => {
    const found = await inbox.conversations(who)
    return found.length === 2 ? found : null
  })
  const own = list.find(({ counterpart }) => counterpart === ada)
  await until(async () => (await inbox.items(who, own?.uuid ?? '')).count === 3)
  await db.raw('drop trigger refuse_poison on conversation_items')
})

test('a text reads few of thousands of conversations, whatever the planner assumes', async () => {
  const { who, line } = await account()
  await inbox.write(ada, line.number, 'First')
  await until(async () => (await inbox.conversations(who)).length === 1)
  await db.run`
    insert into conversations (account_id, id, counterpart, name, status, last_at, last_item, last_kind, last_text,
      created_at)
    select ${who.id}, gen_random_uuid(), '+4479' || (10000000 + n), 'Person', 'closed', now(), gen_random_uuid(), 'change',
      '', now()
    from generate_series(1, 3000) n`
  // The statistics of a transaction are seen within it alone.
  await db.raw(`
    create table rows_read (n bigint);
    create function note_rows_read() returns trigger language plpgsql as $$
    begin
      insert into rows_read select coalesce(idx_tup_fetch, 0) + seq_tup_read from pg_stat_xact_user_tables
      where relname = 'conversations';
      return null;
    end $$;
    create trigger note_rows_read after insert on conversation_items execute function note_rows_read()`)
  await inbox.write(ada, line.number, 'Second')
  const found = await until(() => db.maybe<{ n: number }>`select n::integer as n from rows_read limit 1`)
  assert.ok(found.n <= 100, `${found.n} conversations were read`)
  await db.raw('drop trigger note_rows_read on conversation_items')
})
