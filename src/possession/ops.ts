import type { Sql, Tx } from '../db/sql.ts'
import * as store from './store.ts'

/** Serializes the claims to a number (channels, grants, purchases) until the transaction ends. */
export const lockNumber = async (tx: Tx, number: string): Promise<void> => {
  await store.lockNumber(tx, number)
}

/**
 * Whether possession of a number is proved: the account owns it on the platform, entered a code that was sent to it, paired its
 * phone with a real network, or has the operator's grant.
 */
export const possesses = (sql: Sql, account: string, number: string): Promise<boolean> =>
  store.possesses(sql, account, number)

/**
 * Ends the proofs of a number that changes hands: codes, proofs by code, and grants. Channels end by `endChannel`.
 * @param except the account whose own the number becomes; null after a release
 */
export const endPossession = (tx: Tx, number: string, except: string | null): Promise<void> =>
  store.end(tx, number, except)
