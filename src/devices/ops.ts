import { createHmac } from 'node:crypto'
import type { Sql } from '../db/sql.ts'
import type { Seal } from '../lib/secret.ts'
import * as store from './store.ts'

/** A name and a password that prove each other: whoever has the secret tells from the name when they end. */
export type Ephemeral = { readonly username: string; readonly password: string }

export const passwordOf = (secret: string | Buffer, username: string): string =>
  createHmac('sha1', secret).update(username).digest('base64')

/**
 * The shared-secret scheme that coturn (`use-auth-secret`) and kamailio (`auth_ephemeral`) know too: the name is
 * `<expiry>:<user>`, the password the HMAC-SHA1 of it in base64 (draft-uberti-behave-turn-rest-00, 2.2). HMAC-SHA1 is not
 * touched by what broke SHA-1, and it is what those programs take.
 * @param until when they end; whole seconds count
 */
export const ephemeral = (secret: string | Buffer, user: string, until: Date): Ephemeral => {
  const username = `${Math.floor(until.getTime() / 1000)}:${user}`
  return { username, password: passwordOf(secret, username) }
}

/** The secret under which SIP credentials are given out, the same in every process. */
export const sipSecret = (seal: Seal): Buffer => seal.derive('sip credentials')

/** When a name of ours ends; null for one that we would not give out, or that has ended. */
export const expiryOf = (username: string): Date | null => {
  const [, seconds] = /^(\d{1,11}):USR[0-9a-f-]{36}$/.exec(username) ?? []
  const until = new Date(Number(seconds) * 1000)
  return until.getTime() > Date.now() ? until : null
}

/** The generation of a user's newest Device; null before the first. */
export const newestGeneration = (sql: Sql, account: string, user: string): Promise<number | null> =>
  store.generation(sql, account, user)
