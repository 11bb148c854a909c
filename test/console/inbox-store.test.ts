import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changesOf, type InboxSnapshot, laterLast } from '../../console/inbox/inbox-changes.ts'
import {
  applyChanges,
  listOf,
  putConversations,
  putItems,
  readers,
  replaceList,
  replaceThread,
  shownList,
  threadOf,
} from '../../console/inbox/inbox-store.ts'
import type { Conversation, Item } from '../../console/inbox/inbox-types.ts'
import { rowsOf } from '../../console/inbox/item-groups.ts'
import { mergeItems, placeInWindow } from '../../console/inbox/item-order.ts'
import { keyLife, nextToSend, notYetShown, type Outgoing, outcomeOf } from '../../console/inbox/outbox-rules.ts'
import { segmentsOf } from '../../console/inbox/segment-count.ts'
import { replaceTrigger, triggerAt } from '../../console/inbox/typing-trigger.ts'

// The rules of the inbox that need no browser.

const uuid = (n: number): string => `0190000${n}-0000-7000-8000-000000000000`
const item = (n: number, more: Partial<Item> = {}): Item => ({
  uuid: `SMI${uuid(n)}`,
  kind: 'sms',
  at: `2026-11-23T10:00:0${n}Z`,
  direction: 'inbound',
  ...more,
})
const conversation = (n: number, version = 1): Conversation => ({
  ...{ uuid: `CNV${uuid(n)}`, counterpart: `+44770090000${n}`, name: 'Ada', status: 'open', priority: 0, tags: [] },
  ...{ snoozed_till_reply: false, unread: 0, channels: [], version, created_at: '2026-11-23T10:00:00Z' },
  last: { item_uuid: item(1).uuid, kind: 'sms', text: 'Hi', at: item(1).at, direction: 'inbound' },
})
const snapshot = (conversations: readonly Conversation[], items: readonly Item[] = []): InboxSnapshot => ({
  conversation: (id) => conversations.find((each) => each.uuid === id),
  withCounterpart: (counterpart) => conversations.find((each) => each.counterpart === counterpart),
  items: (id) => (conversations[0]?.uuid === id ? items : undefined),
  isRead: () => false,
})
const event = (name: string, data: Record<string, unknown>) => ({
  ...{ type: 'event' as const, id: 'EVT1', name, at: '', topics: [], logged: true },
  data,
})

test('an event replaces a conversation by its version, counts what is unread, and twice is once', () => {
  const known = conversation(1)
  const { unread, channels, ...next } = {
    ...conversation(1, 2),
    last: { ...known.last, item_uuid: item(2).uuid, text: 'More' },
  }
  const first = changesOf(event('conversation.updated', next), snapshot([known]))
  assert.deepEqual(
    first.conversations.map((each) => [each.version, each.unread, each.last.text]),
    [[2, 1, 'More']],
  )
  assert.deepEqual(changesOf(event('conversation.updated', next), snapshot([...first.conversations])).conversations, [])
  assert.deepEqual(changesOf(event('conversation.created', next), snapshot([])).missing, [known.uuid])
})

test('an inbound text is in its thread at once, and a receipt changes the message that is there', () => {
  const known = conversation(1)
  const text = {
    uuid: item(3).uuid,
    direction: 'inbound',
    source: known.counterpart,
    created_at: '2026-11-23T10:00:03',
  }
  const [added] = changesOf(event('sms.message.received', { ...text, text: 'New' }), snapshot([known], [])).items
  assert.deepEqual(
    added?.items.map(({ uuid: id, at, sms }) => [id, at, sms?.text]),
    [[text.uuid, '2026-11-23T10:00:03Z', 'New']],
  )
  const own = item(4, { uuid: `SMO${uuid(4)}`, direction: 'outbound', user_uuid: 'USR1' })
  const receipt = { uuid: own.uuid, direction: 'outbound', destination: known.counterpart, status: 'delivered' }
  const [changed] = changesOf(event('sms.message.delivered', receipt), snapshot([known], [own])).items
  assert.deepEqual([changed?.items[0]?.user_uuid, changed?.items[0]?.sms?.status], ['USR1', 'delivered'])
})

test('a receipt of the last message changes its state in the list, though the conversation has no new version', () => {
  const own = { item_uuid: `SMO${uuid(4)}`, direction: 'outbound' as const, status: 'sent' }
  const known = { ...conversation(1), last: { ...conversation(1).last, ...own } }
  const receipt = { uuid: own.item_uuid, direction: 'outbound', destination: known.counterpart, status: 'delivered' }
  const stateAfter = (data: Record<string, unknown>, name = 'sms.message.delivered') =>
    changesOf(event(name, data), snapshot([known])).state?.last.status
  assert.equal(stateAfter(receipt), 'delivered')
  assert.equal(stateAfter({ ...receipt, uuid: `SMO${uuid(3)}` }), undefined, 'of an earlier message')
  assert.equal(stateAfter({ ...receipt, status: 'sent' }), undefined, 'the same state')
  const read = { uuid: own.item_uuid, remote_phone_number: known.counterpart, sent_by: 'api', wa_msg_ack: 3 }
  assert.equal(stateAfter(read, 'msgapp.message.receipt.read'), 'read')
  assert.equal(stateAfter({ ...read, failure: { reason: 'gone' } }, 'msgapp.message.failed'), 'failed')
})

test('an answer that was read before a receipt takes no state back', () => {
  const last = (status: string, n = 4) => ({ ...conversation(1).last, item_uuid: `SMO${uuid(n)}`, status })
  assert.equal(laterLast(last('delivered'), last('sent')).status, 'delivered')
  assert.equal(laterLast(last('undelivered'), last('sent')).status, 'undelivered')
  assert.equal(laterLast(last('sent'), last('delivered')).status, 'delivered')
  assert.equal(laterLast(last('sent'), last('failed')).status, 'failed')
  assert.equal(laterLast(last('delivered'), last('queued', 5)).status, 'queued', 'another message')
})

test('a snooze is one line of the thread, and so is its end', () => {
  const change = (n: number, part: number, field: string, to: string | null) =>
    item(n, {
      uuid: `ITM0190000${n}-000${part}-7000-8000-000000000000`,
      kind: 'change',
      change: { field, to } as never,
    })
  const changes = [
    ...[change(1, 0, 'status', 'snoozed'), change(1, 1, 'snoozed_until', '2026-12-01T10:00:00Z')],
    ...[change(2, 0, 'status', 'open'), change(2, 1, 'snoozed_until', null)],
    ...[change(3, 0, 'status', 'closed'), change(4, 0, 'priority', '1')],
  ]
  const shown = rowsOf(changes).flatMap((row) => (row.kind === 'item' ? [row.item.change?.field] : []))
  assert.deepEqual(shown, ['snoozed_until', 'status', 'status', 'priority'])
})

test('items are in the order of time whatever their prefix, and a row moves within the loaded window only', () => {
  const [a, b, c] = [item(1), item(2, { uuid: `MSG${uuid(2)}` }), item(3)]
  assert.deepEqual(mergeItems([c], [b, a, c]), [a, b, c])
  const keyOf = (id: string) => ({ value: id.slice(0, 11), id, isDescending: true })
  const ids = [3, 2, 1].map((n) => `CNV${uuid(n)}`)
  const [newest = '', , oldest = ''] = ids
  assert.deepEqual(placeInWindow({ ids: ids.slice(1), cursor: undefined }, newest, true, keyOf).ids, ids)
  assert.deepEqual(placeInWindow({ ids: ids.slice(0, 2), cursor: 'more' }, oldest, true, keyOf).ids, ids.slice(0, 2))
  assert.deepEqual(placeInWindow({ ids, cursor: undefined }, newest, false, keyOf).ids, ids.slice(1))
  // The last loaded row stays when it changes in its place.
  assert.deepEqual(placeInWindow({ ids, cursor: 'more' }, oldest, true, keyOf).ids, ids)
})

test('an item that did not change stays the same object, so it is not drawn again', () => {
  const [a, b] = [item(1), item(2)]
  const changed = item(2, { removed: true })
  const read = mergeItems([a, b], [structuredClone(a), changed])
  assert.equal(read[0], a)
  assert.equal(read[1], changed)
})

test('a place among 20,000 rows is found by few comparisons', () => {
  const ids = Array.from({ length: 20_000 }, (_, i) => `CNV${String(20_000 - i).padStart(8, '0')}`)
  let compared = 0
  const keyOf = (id: string) => {
    compared++
    return { value: id, id, isDescending: true }
  }
  const middle = ids[10_000] ?? ''
  assert.deepEqual(
    placeInWindow({ ids: ids.filter((id) => id !== middle), cursor: 'more' }, middle, true, keyOf).ids,
    ids,
  )
  const last = { ids, cursor: 'more' }
  assert.equal(placeInWindow(last, 'CNV00000000', true, keyOf, true), last)
  assert.ok(compared < 50, String(compared))
})

const outgoing = (place: number, state: Outgoing['state'] = 'waiting'): Outgoing => ({
  ...{ id: String(place), account: 'ACC', user: 'USR', conversation: 'CNV', at: 1_000, place, state },
  body: { channel_uuid: 'SMS', text: `text ${place}`, seen: item(1).uuid },
})

test('messages go in order, wait behind a refused one, and ask after a day', () => {
  assert.equal(nextToSend([outgoing(2), outgoing(1)], 'CNV', 2_000)?.place, 1)
  assert.equal(nextToSend([outgoing(1, 'refused'), outgoing(2)], 'CNV', 2_000), undefined)
  assert.equal(nextToSend([outgoing(1)], 'CNV', 1_000 + keyLife), undefined)
  const outcome = (status: number, code = '') => outcomeOf({ status, code, message: '' })
  assert.deepEqual(
    [0, 503, 402].map((status) => outcome(status)),
    ['wait', 'wait', 'refused'],
  )
  assert.equal(outcome(409, 'conversation_moved'), 'moved')
})

test('a message whose event was faster than its answer is shown once', () => {
  const sending = [outgoing(1, 'sending'), outgoing(2)]
  assert.deepEqual(notYetShown(sending, [{ uuid: `SMO${uuid(2)}`, text: 'text 1' }]), [sending[1]])
  assert.deepEqual(
    notYetShown(sending, [{ uuid: `SMO${uuid(0)}`, text: 'text 1' }]),
    sending,
    'an older one is another',
  )
})

test('segments are counted as the standard counts them', () => {
  const of = (text: string) => [segmentsOf(text).encoding, segmentsOf(text).count]
  assert.deepEqual(of('x'.repeat(160)), ['gsm7', 1])
  assert.deepEqual(of('x'.repeat(161)), ['gsm7', 2])
  assert.deepEqual(of(`${'x'.repeat(159)}€`), ['gsm7', 2], 'the euro sign takes two places')
  assert.deepEqual(of('я'.repeat(71)), ['ucs2', 2])
})

test('a canned reply takes the place of its word, and a sign within a word is text', () => {
  const trigger = triggerAt('Hello /tha', 10, ['/'])
  assert.ok(trigger)
  assert.deepEqual(replaceTrigger('Hello /tha', trigger, 'Thanks'), { text: 'Hello Thanks', cursor: 12 })
  assert.equal(triggerAt('and/or', 6, ['/']), null)
  assert.equal(triggerAt('me@here', 7, ['@']), null)
})

test('what comes while a thread is read is in it, whether it was read before or not', async () => {
  const id = conversation(7).uuid
  const page = { items: [item(1)], older: undefined, newer: undefined }
  const texts = () => threadOf(id).value?.items.map(({ uuid }) => uuid)
  for (const next of [2, 3]) {
    const { promise, resolve } = Promise.withResolvers<void>()
    const reading = replaceThread(id, async () => {
      await promise
      return page
    })
    putItems(id, [item(next)])
    resolve()
    await reading
    assert.deepEqual(texts(), [item(1).uuid, item(next).uuid])
  }
})

test('what comes, changes or leaves while a list is read is so in it, whether it was read before or not', async () => {
  const query = { status: 'open' as const }
  const ids = () => listOf(query).value?.ids
  const readBeside = async (rows: readonly Conversation[], act: () => void) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const reading = replaceList(query, async () => {
      await promise
      return { conversations: rows }
    })
    act()
    resolve()
    await reading
  }
  const [first, second] = [conversation(3), conversation(4)]
  await readBeside([], () => putConversations([first]))
  assert.deepEqual(ids(), [first.uuid])
  await readBeside([first], () => putConversations([second]))
  assert.deepEqual(new Set(ids()), new Set([first.uuid, second.uuid]))
  await readBeside([first, second], () => putConversations([{ ...first, version: 2, status: 'closed' }]))
  assert.deepEqual(ids(), [second.uuid])
})

test('an event has a search read again only while the page shows it', () => {
  const read = readers.lists
  let readings = 0
  readers.lists = () => {
    readings++
  }
  const changes = changesOf(event('conversation.updated', conversation(1, 2)), snapshot([conversation(1)]))
  const search = { q: 'invoice' }
  listOf(search).value = { query: search, ids: [], cursor: undefined }
  shownList.query = { status: 'open' }
  applyChanges(changes)
  assert.equal(readings, 0)
  shownList.query = search
  applyChanges(changes)
  assert.equal(readings, 1)
  readers.lists = read
})
