import type { Tx } from '../db/sql.ts'
import { uuid } from '../lib/id.ts'
import * as store from './store.ts'

/** Adds a user to an account; null when there is no such account. */
export const addUser = (tx: Tx, account: string, user: Parameters<typeof store.create>[3]) =>
  store.create(tx, account, uuid(), user)

/** True when the account has such a user, and the user is active. */
export const isActive = store.isActive

/** Whose a user is, and whether that one may call and be called; null when there is none. For those who know only the user. */
export const standingOf = store.standing

/** Those of these users who may not call any more. */
export const barredOf = store.barred

/** A user of an account, whatever the status; null when there is none. */
export const userOf = store.ofAccount
