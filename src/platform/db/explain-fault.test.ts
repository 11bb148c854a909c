import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testDatabase } from '../../../test/database.ts'
import { explainDatabaseFault } from './explain-fault.ts'
import { connect } from './sql.ts'

/** The error with which a start refuses an address. */
const explanationOf = async (url: string): Promise<string> => {
  const db = connect({ url, connections: 1 })
  try {
    await db.one`select 1 as one`
    return 'no fault'
  } catch (error) {
    return String(explainDatabaseFault(error, url, 'DATABASE_URL'))
  } finally {
    await db.end()
  }
}

test('the first error of a connection names DATABASE_URL, the fault and the fix, and no password', async () => {
  const right = (await testDatabase()).url
  const changed = (parts: { password?: string; pathname?: string }) => Object.assign(new URL(right), parts).href
  const socket = new URL(right).searchParams.get('host')
  const elsewhere = new URL(right)
  elsewhere.searchParams.set('host', '/nowhere')
  const cases: [string, RegExp][] = [
    [changed({ password: 'wrong-secret' }), /refuses the password of trunkline_owner.*percent-encoded/],
    [changed({ pathname: '/absent' }), /has no database absent. Create it with the owner trunkline_owner/],
    [elsewhere.href, /nothing listens at \/nowhere \(ENOENT\)/],
    [
      'postgres://u:wrong-secret@127.0.0.1:1/db',
      /nothing listens at 127\.0\.0\.1:1 \(ECONNREFUSED\).*Start PostgreSQL/,
    ],
    ['postgres://u:wrong-secret@host.invalid/db', /the host host\.invalid is unknown \(E[A-Z_]+\)/],
    [
      `postgres://trunkline_owner:wrong-secret@/db?host=127.0.0.1,${socket}&port=1,5432`,
      /none of its 2 hosts can be used\. \(1\) nothing listens at 127\.0\.0\.1:1 .*\. \(2\) \S+ refuses the password of trunkline_owner\./,
    ],
    ['postgres://u:wrong#secret@127.0.0.1/db', /no valid address.*percent-encoded/],
  ]
  for (const [url, form] of cases) {
    const found = await explanationOf(url)
    assert.match(found, form)
    assert.match(found, /DATABASE_URL/)
    assert.doesNotMatch(found, /wrong-secret/)
  }
})
