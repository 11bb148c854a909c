import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../../test/world.ts'
import { uuid } from '../../platform/lib/id.ts'
import { acceptBatches } from './accept/accepted-batch-store.ts'
import { applyFinalReceipts } from './completion-store.ts'
import { giveNumber } from './sms-testing.ts'
import { completeBatches } from './submit/batch-store.ts'

/** One row goes through statements of its own (migrations/20261128T175000_single_rows.sql): its effects are those of the
 *  general form. Each case acts on one message alone, and on a like one together with a further message. */
const world = await makeWorld()
const { db, tenant } = world

const who = await tenant()
const { number, channel: printed } = await giveNumber(world, who)
const [account, channel, connection] = [who.id, printed.slice(3), uuid()]
await db.run`update balances set balance = 10 where account_id = ${account}`
await db.run`insert into connections (id, kind, name, settings) values (${connection}, 'smpp', ${connection}, '{}')`

const contact = '+447911130001'
const [price, decision] = [10_000, uuid()]

/** Messages with a price of 0.01 each, in a batch. */
const accept = async (count: number, text = 'Hello', to = contact) => {
  const ids = Array.from({ length: count }, uuid)
  const messages = ids.map((id) => ({
    ...{ account, id, channel, number, contact: to, text, encoding: 'gsm7' as const, fragments: 1, price, decision },
    ...{ sendAt: null, long: 'udh8' as const },
  }))
  const batch = { id: uuid(), account, messages, isLeased: true }
  const [result] = await acceptBatches(db, [batch], { worker: uuid(), seconds: 30 }, true)
  return { batch: batch.id, ids, result }
}

type AcceptedBatch = Awaited<ReturnType<typeof accept>>

const complete = (
  accepted: readonly AcceptedBatch[],
  { fence = 1, isFinal = true, carriers = new Map<string, string>() },
) =>
  completeBatches(
    db,
    accepted.flatMap(({ batch, ids }) =>
      ids.map((id) => {
        const carrierId = carriers.get(id)
        const taken = carrierId === undefined ? null : { connection, carrierId, part: 1 }
        return { id, account, batch: { id: batch, fence: ids.length === 1 ? fence : 1 }, taken }
      }),
    ),
    () => isFinal,
  )

/** All that the database has of a message, with stable names for ids. */
const stateOf = async ({ ids: [id = ''], batch }: AcceptedBatch) => {
  const rows = await db.many<{ what: string; row: unknown }>`
    select 'message' as what, to_jsonb(m) - array['created_at', 'updated_at'] as row from sms_messages m
    where account_id = ${account} and id = ${id}
    union all select 'part', to_jsonb(p) - array['sent_at', 'updated_at'] from sms_parts p
    where account_id = ${account} and message_id = ${id}
    union all select 'job', to_jsonb(j) - array['run_at', 'created_at', 'leased_until', 'owner', 'payload'] from jobs j
    where id = ${batch}
    union all (
      select 'event', to_jsonb(e) - array['id', 'created_at'] || jsonb_build_object('payload', e.payload::text) from events e
      where account_id = ${account} and payload ->> 'uuid' = ${`SMO${id}`} order by e.id)
    union all (
      select 'delivery', to_jsonb(d) - array['event_id', 'next_at', 'created_at'] from webhook_deliveries d
      join events e on e.account_id = d.account_id and e.id = d.event_id
      where e.account_id = ${account} and payload ->> 'uuid' = ${`SMO${id}`} order by d.webhook_id)
    union all select 'backlog', to_jsonb(b.name) from event_backlog b
      join events e on e.account_id = b.account_id and e.id = b.event_id
      where e.account_id = ${account} and payload ->> 'uuid' = ${`SMO${id}`}`
  const bare = id.replaceAll('-', '')
  return rows.map(({ what, row }) => {
    const text = JSON.stringify(row).replaceAll(id, 'MESSAGE').replaceAll(bare, 'CARRIER').replaceAll(batch, 'BATCH')
    return { what, text: text.replaceAll(/T\d\d:\d\d:\d\d|timestamp\W+\d+/g, '') }
  })
}

/** Acts on one message alone, and on another one together with a third: both end alike. @returns how */
const alike = async (act: (subject: AcceptedBatch, others: readonly AcceptedBatch[]) => Promise<unknown>) => {
  const [alone, subject, further] = [await accept(1), await accept(1), await accept(1)]
  await act(alone, [])
  await act(subject, [further])
  const state = await stateOf(alone)
  assert.deepEqual(state, await stateOf(subject))
  return state
}

const subscribe = async (count: number, event: string, match: string | null = null) => {
  for (let n = 0; n < count; n++)
    await db.run`
      insert into webhooks (account_id, id, event, event_name, channel_kind, channel_id, match_id, hook_url, sealed_secret,
        created_at, updated_at)
      values (${account}, ${uuid()}, ${event}, ${event}, ${match === null ? null : 'SMS'}, ${match}, ${match},
        ${`https://example.com/${uuid()}`}, '', app_now(), app_now())`
}

const carrierIdsOf = (accepted: readonly AcceptedBatch[]) =>
  new Map(accepted.flatMap(({ ids }) => ids.map((id) => [id, id.replaceAll('-', '')] as const)))

const completed = (subject: AcceptedBatch, others: readonly AcceptedBatch[]) =>
  complete([subject, ...others], { carriers: carrierIdsOf([subject, ...others]) })

const receiptsOf = (accepted: readonly AcceptedBatch[], status: string, handsets: [string | null, string | null]) =>
  accepted.map(({ ids: [id = ''] }, i) => ({
    connection,
    carrierId: id.replaceAll('-', '').replace(/^0+/, ''),
    status: i === 0 ? status : 'delivered',
    error: status === 'delivered' ? null : '011',
    handsets: i === 0 ? handsets : ([null, null] as [null, null]),
  }))

const named = (state: readonly { what: string }[], what: string) => state.filter((one) => one.what === what)

for (const hooks of [0, 2, 17]) {
  test(`a message alone ends as one among others, with ${hooks} webhooks more`, async (t) => {
    await subscribe(hooks, 'sms.message.sent')
    await subscribe(hooks, 'sms.message.delivered')
    if (hooks > 0) await subscribe(1, 'sms.message.delivered', uuid())
    if (hooks > 0) await subscribe(1, 'sms.message.delivered', channel)

    await t.test('it is sent', async () => {
      const state = await alike(completed)
      assert.equal(named(state, 'part').length, 1)
      assert.equal(named(state, 'event').length, 1)
      assert.equal(named(state, 'job').length, 0)
    })
    await t.test('its parts are stored already', async () => {
      const state = await alike((subject, others) => complete([subject, ...others], {}))
      assert.equal(named(state, 'part').length, 0)
    })
    await t.test('its batch has further messages', async () => {
      const state = await alike((subject, others) =>
        complete([subject, ...others], { isFinal: false, carriers: carrierIdsOf([subject]) }),
      )
      assert.equal(named(state, 'job').length, 1)
    })
    await t.test('another process holds its batch', async () => {
      const state = await alike(async (subject, others) => {
        const held = await complete([subject, ...others], { fence: 7, carriers: carrierIdsOf([subject]) })
        assert.ok(!held.has(subject.batch))
      })
      assert.equal(named(state, 'event').length, 0)
    })
    await t.test('it has ended meanwhile', async () => {
      const state = await alike(async (subject, others) => {
        await db.run`update sms_messages set status = 'cancelled' where account_id = ${account} and id = ${subject.ids[0] ?? ''}`
        await completed(subject, others)
      })
      assert.equal(named(state, 'event').length, 0)
    })

    for (const [about, status, handsets, events] of [
      ['is delivered', 'delivered', [null, null], 2],
      ['is delivered to its handset', 'delivered', ['30001', '911130001'], 2],
      ['is delivered to its handset, by the second form', 'delivered', ['99999', '30001'], 2],
      ['belongs to another handset', 'delivered', ['99999', '99998'], 1],
      ['belongs to another handset, by one form', 'delivered', ['99999', null], 1],
      ['fails', 'undelivered', [null, null], 2],
    ] as const)
      await t.test(`its receipt ${about}`, async () => {
        const state = await alike(async (subject, others) => {
          await completed(subject, others)
          const applied = await applyFinalReceipts(db, receiptsOf([subject, ...others], status, [...handsets]))
          assert.equal(applied.has(0), events === 2)
        })
        assert.equal(named(state, 'event').length, events)
      })
    await t.test('a second receipt changes nothing', async () => {
      const state = await alike(async (subject, others) => {
        await completed(subject, others)
        for (const status of ['undelivered', 'delivered'])
          await applyFinalReceipts(db, receiptsOf([subject, ...others], status, [null, null]))
      })
      assert.equal(named(state, 'event').length, 2)
    })
    await t.test('a receipt comes before the completion', async () => {
      await alike(async (subject, others) => {
        assert.equal(
          (await applyFinalReceipts(db, receiptsOf([subject, ...others], 'delivered', [null, null]))).size,
          0,
        )
      })
    })
  })
}

test('the acceptance of one message refuses and charges as that of many', async () => {
  const balance = async () =>
    (await db.one<{ balance: string }>`select balance::text from balances where account_id = ${account}`).balance
  await db.run`update balances set balance = 0.03 where account_id = ${account}`
  assert.equal((await accept(1)).result, 'leased')
  assert.equal(await balance(), '0.020000')
  assert.equal((await accept(3)).result, 'refused')
  assert.equal((await accept(2)).result, 'leased')
  assert.equal((await accept(1)).result, 'refused')
  assert.equal(await balance(), '0.000000')
  await db.run`update balances set balance = 1 where account_id = ${account}`
  await db.run`
    insert into sms_opt_outs (account_id, number, contact, reason, created_at)
    values (${account}, '', '+447911139999', 'keyword', app_now())`
  for (const count of [1, 2]) {
    assert.equal((await accept(count, 'Hello', '+447911139999')).result, 'refused')
    assert.equal((await accept(count)).result, 'leased')
  }
})

test('batches of many accounts are accepted as each alone', async () => {
  // Opt-outs are stored by the canonical form of a number, and hold for the others.
  const [blocked, stored] = ['+541123456789', '+5491123456789']
  const payers = await Promise.all(
    Array.from({ length: 8 }, async (_, i) => {
      const payer = await tenant()
      const line = await giveNumber(world, payer)
      await db.run`update balances set balance = ${i === 1 ? '0.01' : '1'} where account_id = ${payer.id}`
      return { account: payer.id, channel: line.channel.slice(3), number: line.number, i }
    }),
  )
  const messagesOf = ({ account, channel, number, i }: (typeof payers)[number]) =>
    Array.from({ length: (i % 3) + 1 }, (_, n) => ({
      ...{
        account,
        id: uuid(),
        channel,
        number,
        contact: i === 3 && n === 0 ? blocked : contact,
        text: `Hello ${i} ${n}`,
      },
      ...{
        encoding: 'gsm7' as const,
        fragments: 1,
        price: i === 5 ? 0 : price,
        decision,
        sendAt: null,
        long: 'udh8' as const,
      },
    }))
  for (const { account, i } of payers) {
    if (i === 3)
      await db.run`
        insert into sms_opt_outs (account_id, number, contact, reason, created_at)
        values (${account}, '', ${stored}, 'manual', app_now())`
    if (i === 4)
      await db.run`
        insert into jobs (id, account_id, kind, run_at) values (${uuid()}, ${account}, 'sms.submit', app_now() - interval '1 second')`
  }
  const lease = { worker: uuid(), seconds: 30 }
  const batchesOf = () =>
    payers
      .map((payer) => ({
        id: uuid(),
        account: payer.account,
        messages: messagesOf(payer),
        isLeased: payer.i !== 6,
        i: payer.i,
      }))
      .sort((a, b) => (a.account < b.account ? -1 : 1))
  const digest = async (batches: ReturnType<typeof batchesOf>, results: readonly string[]) => {
    const rows = await Promise.all(
      batches.map(async ({ id, account, messages, i }, n) => {
        const ids = messages.map((one) => one.id)
        const stored = await db.many<{ row: object }>`
          select to_jsonb(m) - array['id', 'created_at', 'updated_at', 'transfer_id']
            || jsonb_build_object('paid', m.transfer_id = ${id}::uuid) as row
          from sms_messages m where account_id = ${account} and id = any (${ids}::uuid[]) order by id`
        const transfer = await db.many<{ row: object }>`
          select to_jsonb(t) - array['id', 'created_at', 'reference'] || jsonb_build_object('first', reference = ${`SMO${ids[0]}`}) as row
          from transfers t where account_id = ${account} and id = ${id}`
        const job = await db.many<{ row: object }>`
          select to_jsonb(j) - array['id', 'payload', 'run_at', 'created_at', 'leased_until'] as row from jobs j where id = ${id}`
        return { i, result: results[n], stored, transfer, job }
      }),
    )
    return rows.sort((a, b) => a.i - b.i)
  }
  const balances = () =>
    db.many<{ id: string; balance: string }>`
      select account_id as id, balance::text from balances where account_id = any (${payers.map(({ account }) => account)}::uuid[])
      order by account_id`
  const before = await balances()
  const together = batchesOf()
  const results = await acceptBatches(db, together, lease, true)
  const state = await digest(together, results)
  const after = await balances()
  assert.deepEqual(
    state.map(({ result }) => result),
    ['leased', 'refused', 'leased', 'refused', 'queued', 'leased', 'queued', 'leased'],
  )
  for (const { id, balance } of before) await db.run`update balances set balance = ${balance} where account_id = ${id}`
  const apart = batchesOf()
  const alone: string[] = []
  for (const batch of apart) alone.push(...(await acceptBatches(db, [batch], lease, true)))
  assert.deepEqual(await digest(apart, alone), state)
  assert.deepEqual(await balances(), after)
})
