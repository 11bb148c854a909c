import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../../test/database.ts'
import { uuid } from '../../platform/lib/id.ts'
import * as store from './remote-connection-store.ts'

test('a state or answer with text that PostgreSQL refuses is published all the same', async () => {
  const db = await testDatabase()
  const [connection, process, request] = [uuid(), uuid(), uuid()]
  await db.run`insert into connections (id, kind, name, settings) values (${connection}, 'sip-trunk', 'x', '{}')`
  const lastError = 'registration refused: 403 No\0pe \ud800'
  await store.publish(db, { id: process, name: 'here' }, [{ id: connection, state: { lastError } }])
  const [row] = await store.states(db, 60)
  assert.deepEqual(row?.state, { lastError: 'registration refused: 403 No\ufffdpe \ufffd' })

  await db.begin((tx) => store.addRequest(tx, { id: request, connection, request: { what: 'test' }, seconds: 5 }))
  await store.answerRequest(db, request, { value: { working: false, message: lastError } })
  const answered = await store.findRequest(db, request)
  assert.deepEqual(answered?.answer, { value: { working: false, message: row.state.lastError } })
})
