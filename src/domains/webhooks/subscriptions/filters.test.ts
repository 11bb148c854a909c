import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../../test/world.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { record } from '../../events/ops.ts'
import { replayPage } from '../delivery/delivery-log-store.ts'
import * as store from '../store.ts'

const { db, parts, tenant } = await makeWorld()

const hour = 3_600

/** An account with webhooks of an event on one channel, by their filters. */
const subscribed = async (event: string, wishes: Record<string, Partial<store.NewWebhook>>) => {
  const { id: account } = await tenant()
  const channel = uuid()
  const names = new Map<string, string>()
  for (const [name, filter] of Object.entries(wishes)) {
    const row = await db.begin((tx) =>
      store.add(tx, {
        account,
        id: uuid(),
        event,
        event_name: event,
        msgapp_name: null,
        channel_kind: 'WPN',
        channel_id: channel,
        match: channel,
        hook_url: `http://127.0.0.1/${name}`,
        to_group: null,
        time_period: null,
        quietSeconds: null,
        secret: { sealed: parts.seal.close('whsec_'), sealedPrevious: null, previousUntil: null },
        headers: null,
        ...filter,
      }),
    )
    names.set(row?.id ?? '', name)
  }
  /** Webhooks that get a delivery, by the payload's words. */
  const delivered = async () => {
    const rows = await db.many<{ webhook_id: string; words: string }>`
      select d.webhook_id, e.payload ->> 'words' as words
      from webhook_deliveries d join events e on e.account_id = d.account_id and e.id = d.event_id
      where d.account_id = ${account} order by d.event_id`
    return Object.fromEntries(
      [...names].map(([id, name]) => [name, rows.filter((row) => row.webhook_id === id).map(({ words }) => words)]),
    )
  }
  const again = async () => {
    await db.run`delete from webhook_deliveries where account_id = ${account}`
    const [since, until] = ['2000-01-01T00:00:00Z', '2100-01-01T00:00:00Z']
    const after = '00000000-0000-0000-0000-000000000000'
    for (const webhook of names.keys())
      await db.begin((tx) => replayPage(tx, { account, webhook, since, until, all: true, after }, 100))
  }
  return { account, channel, delivered, again }
}

test('a webhook limited to one group gets only that group’s events, also on replay', async () => {
  const name = 'msgapp.group.message.received'
  const [one, two] = [`WAG${uuid()}`, `WAG${uuid()}`]
  const { account, channel, delivered, again } = await subscribed(name, {
    one: { to_group: one },
    two: { to_group: two },
    any: {},
  })
  const said = (words: string, group: object, on = channel) => ({
    account,
    name: 'msgapp.group.message.received' as const,
    channel: on,
    conversation: words,
    payload: { words, ...group },
  })
  const events = [said('a', { group_uuid: one }), said('b', { group_uuid: two }), said('c', {})]
  await db.begin((tx) => record(tx, [...events, said('elsewhere', { group_uuid: one }, uuid())]))
  const expected = { one: ['a'], two: ['b'], any: ['a', 'b', 'c'] }
  assert.deepEqual(await delivered(), expected)
  await again()
  assert.deepEqual(await delivered(), expected)
})

test('a conversation is new to a webhook after its silence period; the first ever is new to all', async () => {
  const name = 'msgapp.conversation.new'
  const quiet = (time_period: string, quietSeconds: number | null) => ({ time_period, quietSeconds })
  const { account, channel, delivered, again } = await subscribed(name, {
    ever: quiet('all-time', null),
    hourly: quiet('hour', hour),
    daily: quiet('day', 24 * hour),
    weekly: quiet('week', 7 * 24 * hour),
  })
  const begun = (words: string, silence: number | null) => ({
    account,
    name: 'msgapp.conversation.new' as const,
    channel,
    conversation: words,
    payload: {
      words,
      ...(silence === null ? {} : { previous_message_at: new Date(Date.now() - silence * 1000).toISOString() }),
    },
  })
  await db.begin((tx) =>
    record(tx, [
      begun('first', null),
      begun('after a minute', 60),
      begun('after two hours', 2 * hour),
      begun('after a day', 24 * hour + 60),
      begun('after a month', 31 * 24 * hour),
    ]),
  )
  const expected = {
    ever: ['first'],
    hourly: ['first', 'after two hours', 'after a day', 'after a month'],
    daily: ['first', 'after a day', 'after a month'],
    weekly: ['first', 'after a month'],
  }
  assert.deepEqual(await delivered(), expected)
  await again()
  assert.deepEqual(await delivered(), expected)
})
