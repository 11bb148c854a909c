import type { Sql } from '../../platform/db/sql.ts'
import { presenceFlushMs } from './limits.ts'
import type { LiveSession, Subscription } from './live-session.ts'
import { conversationsOf, makePeopleReader } from './presence-reader.ts'
import * as store from './presence-store.ts'

type Report = Pick<store.PresenceWrite, 'conversation' | 'state'>

/**
 * Shows the people in a conversation to each other. The database has what every page reports, so that all processes see
 * the same. A report is written at once, and read by this process right after; other processes look every 150 ms.
 */
export const makePresenceBoard = (
  sql: Sql,
  sessions: () => readonly LiveSession[],
  onError: (error: unknown) => void,
) => {
  const pending = new Map<string, store.PresenceWrite>()
  /** The last report of each open socket. */
  const reports = new Map<string, Report>()
  let writing: Promise<void> | null = null
  const look = makePeopleReader(sql, sessions, onError)

  const writePending = async () => {
    while (pending.size > 0) {
      const rows = [...pending.values()]
      pending.clear()
      const pause = new Promise((resolve) => setTimeout(resolve, presenceFlushMs).unref())
      await store.write(sql, rows)
      await look()
      await pause
    }
  }

  const flush = (): Promise<void> => {
    writing ??= writePending()
      .catch(onError)
      .finally(() => {
        writing = null
        if (pending.size > 0) void flush()
      })
    return writing
  }

  const add = (session: LiveSession, report: Report, wasVisible: boolean) => {
    const [account, member] = [session.subscription()?.account, session.member()]
    if (!account || !member) return
    const before = pending.get(session.id)
    pending.set(session.id, {
      ...{ account, socket: session.id, ...member, ...report },
      wasVisible: wasVisible || (before?.wasVisible ?? false),
    })
    void flush()
  }

  const nowhere: Report = { conversation: null, state: null }

  return {
    look,
    /** Stores the act of a page in a conversation. Ignored unless the page follows the conversation. */
    report: (session: LiveSession, conversation: string, state: 'viewing' | 'typing' | null) => {
      const before = reports.get(session.id) ?? nowhere
      if (state === null ? before.conversation !== conversation : !conversationsOf(session).includes(conversation))
        return
      const next = state === null ? nowhere : { conversation, state }
      reports.set(session.id, next)
      add(session, next, false)
    },
    /** The page can be seen, or could until now. */
    reportVisible: (session: LiveSession) => add(session, reports.get(session.id) ?? nowhere, true),
    /** Ends the presence of a page that goes, or that will not follow its conversation. Call it before the change. */
    change: (session: LiveSession, next: Subscription | null) => {
      const conversation = reports.get(session.id)?.conversation
      const stays =
        next?.account === session.subscription()?.account && next?.topics.has(`conversation:CNV${conversation}`)
      if (stays) return
      reports.delete(session.id)
      if (conversation) add(session, nowhere, false)
    },
    /** Resolves once all reports are stored. */
    settle: async () => {
      while (writing) await writing
    },
    deleteOld: () => store.deleteOld(sql),
  }
}
