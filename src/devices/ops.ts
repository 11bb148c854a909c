import { createHmac } from 'node:crypto'

/** A name and a password that prove each other: whoever has the secret tells from the name when they end. */
export type Ephemeral = { readonly username: string; readonly password: string }

/**
 * The shared-secret scheme that coturn (`use-auth-secret`) and kamailio (`auth_ephemeral`) know too: the name is
 * `<expiry>:<user>`, the password the HMAC-SHA1 of it in base64 (draft-uberti-behave-turn-rest-00, 2.2). HMAC-SHA1 is not
 * touched by what broke SHA-1, and it is what those programs take.
 * @param until when they end; whole seconds count
 */
export const ephemeral = (secret: string | Buffer, user: string, until: Date): Ephemeral => {
  const username = `${Math.floor(until.getTime() / 1000)}:${user}`
  return { username, password: createHmac('sha1', secret).update(username).digest('base64') }
}
