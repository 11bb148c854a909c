import { createHmac } from 'node:crypto'
import type { Sql } from '../../platform/db/sql.ts'
import { parse, print } from '../../platform/lib/id.ts'
import type { Seal } from '../../platform/lib/secret.ts'
import { epochsOf } from '../tokens/ops.ts'
import * as store from './store.ts'

/** Ephemeral credentials: the password is a MAC of the name, and the name contains the expiry. */
export type EphemeralCredentials = { readonly username: string; readonly password: string }

const passwordOf = (secret: string | Buffer, username: string): string =>
  createHmac('sha1', secret).update(username).digest('base64')

/**
 * Makes credentials in the shared-secret scheme of coturn (`use-auth-secret`) and kamailio (`auth_ephemeral`). The name
 * is `<expiry>:<user>`, the password its HMAC-SHA1 in base64 (draft-uberti-behave-turn-rest-00, 2.2). Those programs
 * require HMAC-SHA1, which the attacks on SHA-1 do not affect.
 * @param until expiry, in whole seconds
 */
export const makeEphemeral = (secret: string | Buffer, user: string, until: Date): EphemeralCredentials => {
  const username = `${Math.floor(until.getTime() / 1000)}:${user}`
  return { username, password: passwordOf(secret, username) }
}

/** Returns the MAC input of a SIP password, which changes when all tokens of the user are revoked. */
const sipMacInput = (username: string, epoch: number): string => (epoch === 0 ? username : `${username} ${epoch}`)

/** Makes SIP credentials. @param epoch number of times that all tokens of the user were revoked */
export const sipCredentials = (secret: Buffer, user: string, until: Date, epoch: number): EphemeralCredentials => {
  const { username } = makeEphemeral(secret, user, until)
  return { username, password: passwordOf(secret, sipMacInput(username, epoch)) }
}

/** Parses the user and expiry of a credential name; null for an invalid name. */
const parseCredentialName = (username: string): { user: string; expiresAt: Date } | null => {
  const [, seconds, printed = ''] = /^(\d{1,11}):(USR[0-9a-f-]{36})$/.exec(username) ?? []
  const user = parse('USR', printed)
  return user ? { user, expiresAt: new Date(Number(seconds) * 1000) } : null
}

/** Returns the current passwords of credential names, expired or not. Revoked and unknown names have none. */
export const sipPasswords = async (
  db: Sql,
  secret: Buffer,
  usernames: readonly string[],
): Promise<Map<string, string>> => {
  const passwords = new Map<string, string>()
  const credentials = usernames.flatMap((username) => parseCredentialName(username) ?? [])
  for (const { user, expires_at, epoch } of credentials.length > 0 ? await epochsOf(db, credentials) : []) {
    const { username, password } = sipCredentials(secret, print('USR', user), expires_at, epoch)
    passwords.set(username, password)
  }
  return passwords
}

/** Derives the secret of SIP credentials, the same in every process. */
export const sipSecret = (seal: Seal): Buffer => seal.derive('sip credentials')

/** Returns the expiry of a credential name; null if it is invalid or expired. */
export const expiryOf = (username: string): Date | null => {
  const until = parseCredentialName(username)?.expiresAt
  return until && until.getTime() > Date.now() ? until : null
}

/** Returns the generation of a user's newest Device; null before the first. */
export const newestGeneration = (sql: Sql, account: string, user: string): Promise<number | null> =>
  store.generation(sql, account, user)
