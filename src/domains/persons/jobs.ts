import type { Schedule } from '../../platform/jobs/schedule.ts'
import * as invitations from './invitations/store.ts'
import { endedSessionDays } from './limits.ts'
import * as passkeys from './passkeys/store.ts'
import * as sessions from './sessions/store.ts'

/** Deletes sessions and links that ended long ago. */
export const deleteEndedSessions: Schedule = {
  name: 'forget-sessions',
  every: 600,
  run: async (tx) => {
    await sessions.deleteEnded(tx, endedSessionDays)
    await invitations.deleteExpired(tx, endedSessionDays)
    await passkeys.deleteExpired(tx)
  },
}
