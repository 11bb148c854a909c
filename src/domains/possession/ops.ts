import type { Sql, Tx } from '../../platform/db/sql.ts'
import * as store from './store.ts'

/** Serializes the claims to a number (channels, grants, purchases) until the transaction ends. */
export const lockNumber = async (tx: Tx, number: string): Promise<void> => {
  await store.lockNumber(tx, number)
}

/**
 * Returns whether possession of a number is proved. The account owns the number on the platform, has entered a code
 * that was sent to it, has paired its phone with a real network, or has the operator's grant.
 * @param isSandbox whether a number that the sandbox sold counts: for sandbox accounts, while the sandbox is on
 */
export const possesses = (sql: Sql, account: string, number: string, isSandbox: boolean): Promise<boolean> =>
  store.possesses(sql, account, number, isSandbox)

/** Returns whether another account has a proof of the number that is valid outside the sandbox. */
export const isPossessedElsewhere = (sql: Sql, account: string, number: string): Promise<boolean> =>
  store.isProvedElsewhere(sql, account, number)

/**
 * Ends the proofs of a number that changes hands: codes, proofs by code, and grants. `endChannel` ends channels.
 * @param except the account that acquires the number; null after a release
 */
export const endPossession = (tx: Tx, number: string, except: string | null): Promise<void> =>
  store.endProofs(tx, number, except)
