import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeWorld } from '../../test/world.ts'
import { fillInbox } from './fill-inbox.ts'

const { db, tenant } = await makeWorld({ TRUNKLINE_SANDBOX: 'true' })

test('each text of the data is in its conversation, and is found by its words', async () => {
  const { id: account } = await tenant()
  await fillInbox(db, account, { conversations: 20, open: 5, texts: 40, members: 2, contacts: 3 })
  const counts = await db.one`
    select count(*)::integer as items, count(m.id)::integer as texts, count(w.id)::integer as words
    from conversation_items i
    left join sms_messages m on m.account_id = i.account_id and m.id = i.id
    left join conversation_words w on w.account_id = i.account_id and w.id = i.id
    where i.account_id = ${account}`
  assert.deepEqual(counts, { items: 40, texts: 40, words: 40 })
})
