import { narrowingOf } from '../../domains/inbox/narrowing/ops.ts'
import type { Db } from '../../platform/db/sql.ts'
import { hasOneOf } from '../../platform/http/capability.ts'
import type { SessionAccount } from '../../platform/http/session.ts'
import type { LiveSession } from './live-session.ts'
import * as store from './store.ts'

/** A page as a request, whose rights the functions of domains decide. */
export const callOf = (entered: SessionAccount) => ({
  account: entered.account,
  key: entered.key,
  request: { sessionAccount: entered },
})

/** Knows which accounts narrow what their agents see of the inbox. */
export type NarrowingWatch = {
  /** Whether a page may see only conversations of its user, and those without an assignee. */
  isNarrowed(entered: SessionAccount): Promise<boolean>
  /** Checks again what the pages of accounts may follow whose agents now see more, or less. */
  check(): Promise<void>
}

export const makeNarrowingWatch = (db: Db, openPages: () => readonly LiveSession[]): NarrowingWatch => {
  /** Whether agents of an account see only a part of the inbox. */
  const narrowed = new Map<string, boolean>()

  return {
    isNarrowed: async (entered) => {
      const { account, key, role } = entered
      if (!hasOneOf(key, 'inbox')) return false
      const isOn = (await narrowingOf(db, callOf(entered))) !== null
      if (role === 'agent') narrowed.set(account.id, isOn)
      return isOn
    },
    check: async () => {
      const accounts = new Set(openPages().flatMap((page) => page.subscription()?.account ?? []))
      for (const account of narrowed.keys()) if (!accounts.has(account)) narrowed.delete(account)
      if (narrowed.size === 0) return
      const now = new Set(await store.narrowedAccounts(db, [...narrowed.keys()]))
      const changed = new Set([...narrowed].flatMap(([account, isOn]) => (isOn === now.has(account) ? [] : [account])))
      for (const page of openPages()) if (changed.has(page.subscription()?.account ?? '')) page.recheck()
    },
  }
}
