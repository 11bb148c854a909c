import type { Sql } from '../../platform/db/sql.ts'
import type { LiveCounts } from './contract.ts'
import { maxCounted } from './limits.ts'
import type { LiveSession, Subscription } from './live-session.ts'
import * as store from './store.ts'

const noSubject = '00000000-0000-0000-0000-000000000000'

type Numbers = ReadonlyMap<string, number>

/** Returns the views of a page from the numbers of its account. Narrowed pages count what they may see. */
export const viewsOf = (numbers: Numbers, { member, isNarrowed }: Pick<Subscription, 'member' | 'isNarrowed'>) => {
  const of = (kind: string, subject = noSubject) => numbers.get(`${kind} ${subject}`) ?? 0
  const own = (kind: string) => (member ? of(kind, member.user) : 0)
  const views = {
    open: isNarrowed ? own('open-of') + of('open-of') : of('open'),
    waiting: isNarrowed ? own('waiting-of') + of('waiting-of') : of('waiting'),
    unassigned: of('open-of'),
    ...(member ? { mine: own('open-of'), mine_waiting: own('waiting-of') } : {}),
    ...(isNarrowed ? {} : { snoozed: of('snoozed'), closed: of('closed') }),
  }
  return Object.fromEntries(
    Object.entries(views).map(([name, n]) => [name, { n: Math.min(n, maxCounted), more: n > maxCounted }]),
  ) satisfies LiveCounts
}

/**
 * Sends the numbers of the sidebar after a change. Accounts are read in one statement, and only those with an event of a
 * conversation since the last look, or a new page.
 */
export const makeCountFeed = (sql: Sql, sessions: () => readonly LiveSession[]) => {
  const changed = new Set<string>()
  const sent = new WeakMap<LiveSession, string>()

  const watching = () =>
    sessions().flatMap((session) => {
      const subscription = session.subscription()
      return subscription?.topics.has('inbox') ? [{ session, subscription }] : []
    })

  return {
    /** Reads an account with the next look. */
    mark: (account: string) => void changed.add(account),
    /** Reads all accounts with the next look: some changes have no event. */
    markAll: () => {
      for (const { subscription } of watching()) changed.add(subscription.account)
    },
    look: async (): Promise<void> => {
      const pages = watching()
      for (const { session, subscription } of pages) if (!sent.has(session)) changed.add(subscription.account)
      const accounts = [...new Set(pages.map(({ subscription }) => subscription.account))].filter((account) =>
        changed.has(account),
      )
      changed.clear()
      if (accounts.length === 0) return
      const numbers = new Map(accounts.map((account) => [account, new Map<string, number>()]))
      for (const { account_id, kind, subject, n } of await store.conversationCounts(sql, accounts))
        numbers.get(account_id)?.set(`${kind} ${subject}`, n)
      for (const { session, subscription } of pages) {
        const found = numbers.get(subscription.account)
        if (!found || session.subscription() !== subscription) continue
        const views = viewsOf(found, subscription)
        const text = `${subscription.account} ${JSON.stringify(views)}`
        if (sent.get(session) === text) continue
        sent.set(session, text)
        session.send({ type: 'counts', views })
      }
    },
  }
}
