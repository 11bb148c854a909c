import type { Db } from '../../../platform/db/sql.ts'
import type { VoiceRegisterRequest, VoiceUser } from '../../../ports/voice.ts'
import { expiryOf, sipPasswords } from '../../devices/ops.ts'

/** A user with the credentials of the newest registration. `until`: latest expiry of credentials, Unix milliseconds. */
type RegisteredUser = VoiceUser & Pick<VoiceRegisterRequest, 'username' | 'password'> & { readonly until: number }

/** Tracks registered users and their credentials. */
export const makeRegisteredUsers = (db: Db, secret: Buffer) => {
  const people = new Map<string, RegisteredUser>()
  return {
    /** Returns the current password of a username; null if it has expired or was revoked. */
    password: async (username: string): Promise<string | null> =>
      expiryOf(username) ? ((await sipPasswords(db, secret, [username])).get(username) ?? null) : null,

    add: (one: RegisteredUser): void => {
      people.set(one.user, { ...one, until: Math.max(one.until, people.get(one.user)?.until ?? 0) })
    },

    /** Returns users that may be registered or in a call. @param talking accounts with calls, which may outlive the
     *  credentials; a registration does not */
    active: (talking: ReadonlySet<string>): VoiceUser[] => {
      for (const [user, { account, until }] of people)
        if (until < Date.now() && !talking.has(account)) people.delete(user)
      return [...people.values()]
    },

    /** Returns registered users whose credentials were revoked. */
    revoked: async (): Promise<VoiceUser[]> => {
      const here = [...people.values()]
      const usernames = here.map(({ username }) => username)
      const valid = await sipPasswords(db, secret, usernames)
      return here.filter(({ username, password }) => valid.get(username) !== password)
    },
  }
}
