import { createHmac } from 'node:crypto'
import type { Sql } from '../db/sql.ts'
import { parse, print } from '../lib/id.ts'
import type { Seal } from '../lib/secret.ts'
import { epochsOf } from '../tokens/ops.ts'
import * as store from './store.ts'

/** A name and a password that prove each other: whoever has the secret tells from the name when they end. */
export type Ephemeral = { readonly username: string; readonly password: string }

const passwordOf = (secret: string | Buffer, username: string): string =>
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

/** What a password of SIP is derived from: it changes when all tokens of the user are revoked. */
const sipName = (username: string, epoch: number): string => (epoch === 0 ? username : `${username} ${epoch}`)

/** Credentials of SIP. @param epoch how often all tokens of the user were revoked */
export const sipCredentials = (secret: Buffer, user: string, until: Date, epoch: number): Ephemeral => {
  const { username } = ephemeral(secret, user, until)
  return { username, password: passwordOf(secret, sipName(username, epoch)) }
}

/** The user and the end of a name of ours; null for one that we would not give out. */
const credentialOf = (username: string): { user: string; expiresAt: Date } | null => {
  const [, seconds, printed = ''] = /^(\d{1,11}):(USR[0-9a-f-]{36})$/.exec(username) ?? []
  const user = parse('USR', printed)
  return user ? { user, expiresAt: new Date(Number(seconds) * 1000) } : null
}

/** The passwords that these names have at this moment, ended or not; revoked and unknown ones have none. */
export const sipPasswords = async (
  db: Sql,
  secret: Buffer,
  usernames: readonly string[],
): Promise<Map<string, string>> => {
  const passwords = new Map<string, string>()
  const credentials = usernames.flatMap((username) => credentialOf(username) ?? [])
  for (const { user, expires_at, epoch } of credentials.length > 0 ? await epochsOf(db, credentials) : []) {
    const { username, password } = sipCredentials(secret, print('USR', user), expires_at, epoch)
    passwords.set(username, password)
  }
  return passwords
}

/** The secret under which SIP credentials are given out, the same in every process. */
export const sipSecret = (seal: Seal): Buffer => seal.derive('sip credentials')

/** When a name of ours ends; null for one that we would not give out, or that has ended. */
export const expiryOf = (username: string): Date | null => {
  const until = credentialOf(username)?.expiresAt
  return until && until.getTime() > Date.now() ? until : null
}

/** The generation of a user's newest Device; null before the first. */
export const newestGeneration = (sql: Sql, account: string, user: string): Promise<number | null> =>
  store.generation(sql, account, user)
