import type { VoiceArrival, VoicePerson } from '../connectors/voice-port.ts'
import type { Db } from '../db/sql.ts'
import { expiryOf, sipPasswords } from '../devices/ops.ts'

/** Someone with the credentials of the newest registration; `until`, Unix milliseconds: the end of the last ones. */
type Present = VoicePerson & Pick<VoiceArrival, 'username' | 'password'> & { readonly until: number }

/** Those who have registered, by user, and their credentials. */
export const makePresence = (db: Db, secret: Buffer) => {
  const people = new Map<string, Present>()
  return {
    /** The password of a username, as it is at this moment; null when it has ended or was revoked. */
    password: async (username: string): Promise<string | null> =>
      expiryOf(username) ? ((await sipPasswords(db, secret, [username])).get(username) ?? null) : null,

    note: (one: Present): void => {
      people.set(one.user, { ...one, until: Math.max(one.until, people.get(one.user)?.until ?? 0) })
    },

    /** Those who may be here, or on the telephone. @param talking accounts with calls: no registration outlives its
     *  credentials, but a call may */
    present: (talking: ReadonlySet<string>): VoicePerson[] => {
      for (const [user, { account, until }] of people)
        if (until < Date.now() && !talking.has(account)) people.delete(user)
      return [...people.values()]
    },

    /** Those whose credentials were revoked. */
    revoked: async (): Promise<VoicePerson[]> => {
      const here = [...people.values()]
      const usernames = here.map(({ username }) => username)
      const valid = await sipPasswords(db, secret, usernames)
      return here.filter(({ username, password }) => valid.get(username) !== password)
    },
  }
}
