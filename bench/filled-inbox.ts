import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { acceptanceSizes, fillInbox } from '../scripts/console-data/fill-inbox.ts'
import { bootstrap } from '../src/bootstrap.ts'
import { readConfig } from '../src/config.ts'
import { firstAccount } from '../src/domains/accounts/ops.ts'
import type { Filling } from './database.ts'
import { key, operatorKey, type Platform, startPlatform } from './platform.ts'

/** The inbox of the acceptance checks, in the first account of an installation. A fifth of the conversations is open. */
export const filledInbox = (conversations: number): Filling => {
  const sizes = { ...acceptanceSizes, conversations, open: conversations / 5, texts: conversations * 2 }
  const source = readFileSync(join(import.meta.dirname, '../scripts/console-data/fill-inbox.ts'), 'utf8')
  return {
    name: 'inbox',
    about: `${conversations} conversations`,
    version: JSON.stringify(sizes) + source,
    fill: async (db) => {
      const settings = { TRUNKLINE_SANDBOX: 'true', TRUNKLINE_API_KEY: key, TRUNKLINE_OPERATOR_KEY: operatorKey }
      await bootstrap(db, readConfig(settings))
      const account = await firstAccount(db)
      if (account === null) throw new Error('an installation without an account')
      await fillInbox(db, account, sizes, (line) => console.error(line))
    },
  }
}

/** Starts a platform with the console on that inbox. @param url of a platform that runs already; empty: none */
export const startWithInbox = async (conversations: number, url: string): Promise<Platform | undefined> =>
  url
    ? undefined
    : await startPlatform(filledInbox(conversations), {
        TRUNKLINE_ROLES: 'api,worker,console',
        TRUNKLINE_SANDBOX: 'true',
      })
