import { parseArgs } from 'node:util'
import { environment, readConfig } from '../src/config.ts'
import { openShared } from '../src/platform/db/installation-database.ts'
import { connect } from '../src/platform/db/sql.ts'
import { parse } from '../src/platform/lib/id.ts'
import { acceptanceSizes, fillInbox, type InboxSizes } from './console-data/fill-inbox.ts'

// Fills the inbox of an account, to try the console with as much data as a large team has. By SQL: nothing is sent.

const help = `node scripts/console-data.ts --account ACC… [options]

Fills the inbox of an account that has no conversations. The installation is that of TRUNKLINE_HOME or DATABASE_URL, and
may be running.

  --conversations N  Default: ${acceptanceSizes.conversations}
  --open N           open ones among them. Default: ${acceptanceSizes.open}
  --texts N          Default: ${acceptanceSizes.texts}
  --members N        Default: ${acceptanceSizes.members}
  --contacts N       Default: ${acceptanceSizes.contacts}
`

const { values } = parseArgs({
  options: {
    help: { type: 'boolean' },
    account: { type: 'string' },
    conversations: { type: 'string' },
    open: { type: 'string' },
    texts: { type: 'string' },
    members: { type: 'string' },
    contacts: { type: 'string' },
  },
})

const sizeOf = (name: keyof InboxSizes): number => {
  const size = Number(values[name] ?? acceptanceSizes[name])
  if (Number.isInteger(size) && size > 0) return size
  throw new Error(`--${name} must be a whole number above 0`)
}

const fill = async () => {
  const account = parse('ACC', values.account ?? '')
  if (account === null) throw new Error('give --account ACC…')
  const { home, databaseUrl } = readConfig(environment())
  const database = await openShared(home, databaseUrl)
  const db = connect({ url: database.url, unlimited: true, connections: 2 })
  try {
    const { taken } = await db.one<{ taken: boolean }>`
      select exists (select from conversations where account_id = ${account}) as taken`
    if (taken) throw new Error('the account has conversations already')
    const sizes = {
      conversations: sizeOf('conversations'),
      open: sizeOf('open'),
      texts: sizeOf('texts'),
      members: sizeOf('members'),
      contacts: sizeOf('contacts'),
    }
    await fillInbox(db, account, sizes, (line) => console.log(line))
  } finally {
    await db.end()
    await database.close()
  }
}

if (values.help) console.log(help)
else
  await fill().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  })
