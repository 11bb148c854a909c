import type { Tx } from '../../platform/db/sql.ts'
import { uuid } from '../../platform/lib/id.ts'
import * as store from './store.ts'

/** Adds a user to an account; null if the account does not exist. */
export const addUser = (tx: Tx, account: string, user: Parameters<typeof store.create>[3]) =>
  store.create(tx, account, uuid(), user)

/** Whether the account has such a user, and the user is active. */
export const isActive = store.isActive

/** Returns the account of a user, and whether the user may make and receive calls; null if unknown. For callers that
 *  know only the user. */
export const callPermissionOf = store.callPermission

/** Returns those of the users who may no longer call. */
export const findBarred = store.findBarred

/** Returns a user of an account, of any status; null if there is none. */
export const userOf = store.findInAccount
