import { createHmac, randomInt } from 'node:crypto'
import { e164 } from '@trunkline/phone/phone.ts'
import type { Db, Sql, Tx } from '../../platform/db/sql.ts'
import { Problem } from '../../platform/http/problem.ts'
import { parse, uuid } from '../../platform/lib/id.ts'
import type { Seal } from '../../platform/lib/secret.ts'
import { assertWithinLimits, attemptsPerCall } from './limits.ts'
import * as store from './store.ts'

/** Caller ID of a call. Ids are without prefix. */
export type UsableCallerId = { id: string; number: string; virtual_number_id: string | null }

/**
 * Chooses the caller ID of a call: the requested one, by number or printed id. Otherwise a bought number of that
 * country, any bought number, or another proved number. Null if there is none, or the account may not show it.
 * @param proofs.simulated whether proof by a sandbox carrier suffices, because the call remains in the sandbox
 * @param proofs.isSandbox whether a sandbox number suffices: for sandbox accounts, while the sandbox is on
 */
export const callerIdOf = async (
  sql: Sql,
  account: string,
  requested: string | null,
  country: string,
  proofs = { simulated: false, isSandbox: false },
): Promise<UsableCallerId | null> => {
  if (requested === null) return await store.findUsable(sql, account, { country, ...proofs })
  const id = parse('VCI', requested)
  const number = id ? null : e164(requested)
  return id || number ? await store.findUsable(sql, account, { id, number, country, ...proofs }) : null
}

/** Adds a messaging app number as a caller ID, usable once possession is proved. */
export const addChannelCallerId = async (
  tx: Tx,
  account: string,
  { channel, number, name, country }: { channel: string; number: string; name: string; country: string },
): Promise<void> => {
  await store.saveCallerId(tx, {
    account_id: account,
    id: uuid(),
    msgapp_channel_id: channel,
    phone_number: number,
    friendly_name: name,
    iso_country_code: country,
    type: 'WW',
  })
}

/** Removes the caller ID of a deleted channel. */
export const removeChannelCallerId = (tx: Tx, account: string, channel: string): Promise<void> =>
  store.remove(tx, account, { channel })

/** Digits of a code. */
export const codeDigits = 6

export const makeCode = (): string => String(randomInt(10 ** codeDigits)).padStart(codeDigits, '0')

/** Makes the hash function for codes. A keyed hash, because six digits could be brute-forced from a plain one. */
export const codeHasher = (seal: Seal): ((callerId: string, code: string) => Buffer) => {
  const secret = seal.derive('caller id codes')
  return (callerId, code) => createHmac('sha256', secret).update(`${callerId}:${code}`).digest()
}

/** A code typed in a call to the number. Ids are without prefix. */
export type TypedCode = {
  readonly account: string
  readonly call: string
  readonly number: string
  /** True if only a sandbox trunk carries the call. */
  readonly simulated: boolean
  readonly typed: string
}

/** Verdict on a typed code. `limit`: the account or the number has no attempts left today. `expired`: the call has no
 *  valid code any more. */
export type CodeVerdict = { readonly verdict: 'right' | 'wrong' | 'limit' | 'expired'; readonly mayRetry: boolean }

/** Checks a typed code, counts the attempt, and verifies the caller ID if the code is right. */
export const checkTypedCode = async (
  db: Db,
  seal: Seal,
  { account, call, number, simulated, typed }: TypedCode,
): Promise<CodeVerdict> => {
  try {
    return await db.begin(async (tx) => {
      const id = await store.findOwnId(tx, account, number)
      const found = id && (await store.attempt(tx, account, number, { hash: codeHasher(seal)(id, typed), call }))
      if (!found) return { verdict: 'expired', mayRetry: false }
      assertWithinLimits(await store.addToCounters(tx, account, number, { attempts: 1 }), account, Date.now())
      if (!found.is_right) return { verdict: 'wrong', mayRetry: found.attempts < attemptsPerCall }
      await store.verify(tx, account, { id, number, simulated })
      return { verdict: 'right', mayRetry: false }
    })
  } catch (error) {
    if (error instanceof Problem) return { verdict: 'limit', mayRetry: false }
    throw error
  }
}
