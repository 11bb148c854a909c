import { resolve } from 'node:path'
import type { Config } from '../../../config.ts'
import { openShared } from '../../../platform/db/installation-database.ts'
import { connect, type Db } from '../../../platform/db/sql.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import * as store from './store.ts'
import { takeInHistory } from './take-in-history.ts'

/** Progress of a rebuild, and how to end it early. */
export type RunControl = { readonly signal: AbortSignal; readonly report: (line: string) => void }

export type RebuildResult = { readonly accounts: number; readonly conversations: number }

/** Takes in everything of an account again, and counts its conversations. @returns the number of its conversations */
export const rebuildAccount = async (db: Db, account: string, { signal, report }: RunControl): Promise<number> => {
  await db.begin((tx) => store.restart(tx, account))
  for (;;) {
    if (signal.aborted) throw new Error('stopped: the platform takes in the rest')
    const { conversations, incomplete } = await store.counts(db, account)
    report(`${print('ACC', account)}: ${conversations} conversations, ${incomplete} of them incomplete`)
    if (!(await takeInHistory(db, account))) break
  }
  await db.begin((tx) => store.recount(tx, account))
  return (await store.counts(db, account)).conversations
}

/**
 * Takes in all messages and calls again, while the platform runs or not. Conversations keep their state.
 * @param printed `ACC…`; null: all accounts
 * @throws Error for an unknown account, and when it is stopped
 */
export const rebuildAll = async (
  { home, databaseUrl }: Pick<Config, 'home' | 'databaseUrl'>,
  printed: string | null,
  control: RunControl,
): Promise<RebuildResult> => {
  const database = await openShared(resolve(home), databaseUrl)
  const db = connect({ url: database.url, unlimited: true, connections: 2 })
  try {
    const all = await store.accounts(db)
    const one = printed === null ? null : parse('ACC', printed)
    if (printed !== null && (one === null || !all.includes(one))) throw new Error(`there is no account ${printed}`)
    const accounts = one === null ? all : [one]
    let conversations = 0
    for (const account of accounts) conversations += await rebuildAccount(db, account, control)
    return { accounts: accounts.length, conversations }
  } finally {
    await db.end()
    await database.close()
  }
}
