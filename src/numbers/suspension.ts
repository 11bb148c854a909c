import type { Changes } from '../db/changes.ts'
import type { Tx } from '../db/sql.ts'
import * as owned from './owned.ts'
import { tell } from './told.ts'

/** Why a number is suspended: `registration` for what the regulator asks and was not given, `operator` for all else. */
export type Cause = 'registration' | 'operator'

type Before = Exclude<owned.StatusText, 'RELEASED'>

/** Ends both ways of the channel of a suspended number, which are kept for its reinstatement. */
export const silence = async (tx: Tx, account: string, id: string): Promise<void> => {
  await tx.run`
    update number_suspensions s set supports_sms_in = c.supports_sms_in, supports_sms_out = c.supports_sms_out
    from sms_channels c
    where s.account_id = ${account} and s.virtual_number_id = ${id}
      and c.account_id = s.account_id and c.virtual_number_id = s.virtual_number_id and c.enabled`
  await tx.run`
    update sms_channels set supports_sms_in = false, supports_sms_out = false, updated_at = app_now()
    where account_id = ${account} and virtual_number_id = ${id} and enabled`
}

/**
 * Suspends a number: it stays the account's and is paid for, but no text goes out or comes in. A number that is suspended
 * already stays as it is. The account is told why.
 * @param reason in words for the account
 * @returns the number, or null when the account has no such number
 */
export const suspend = async (
  tx: Tx,
  changes: Changes,
  account: string,
  id: string,
  cause: Cause,
  reason: string,
): Promise<owned.NumberRow | null> => {
  const found = await owned.lock(tx, account, id)
  if (!found || found.status_text === 'SUSPENDED') return found
  await tx.run`
    insert into number_suspensions (account_id, virtual_number_id, cause, reason, status_text, supports_sms_in,
      supports_sms_out)
    values (${account}, ${id}, ${cause}, ${reason}, ${found.status_text}, false, false)`
  await silence(tx, account, id)
  const suspended = await owned.setStatus(tx, account, id, 'SUSPENDED')
  await tell(tx, 'number.suspended', suspended, reason)
  await changes.announce(tx, 'numbers')
  return suspended
}

/**
 * Ends a suspension: the number is what it was before, with what its channel could do.
 * @param status instead of the one that it had before
 * @returns the number, or null when the account has no such number; one that is not suspended stays as it is
 */
export const reinstate = async (
  tx: Tx,
  changes: Changes,
  account: string,
  id: string,
  status?: Before,
): Promise<owned.NumberRow | null> => {
  const found = await owned.lock(tx, account, id)
  if (found?.status_text !== 'SUSPENDED') return found
  const { status_text } = await tx.one<{ status_text: Before }>`
    with ended as (
      delete from number_suspensions where account_id = ${account} and virtual_number_id = ${id} returning *
    ), restored as (
      update sms_channels c
      set supports_sms_in = e.supports_sms_in, supports_sms_out = e.supports_sms_out, updated_at = app_now()
      from ended e
      where c.account_id = e.account_id and c.virtual_number_id = e.virtual_number_id and c.enabled
    )
    select status_text from ended`
  const reinstated = await owned.setStatus(tx, account, id, status ?? status_text)
  await changes.announce(tx, 'numbers')
  return reinstated
}

/** Changes what a suspended number goes back to, where that is `from`. */
export const retarget = (tx: Tx, account: string, id: string, from: Before, to: Before) => tx.run`
  update number_suspensions set status_text = ${to}
  where account_id = ${account} and virtual_number_id = ${id} and status_text = ${from}`

/** Why a number is suspended; null when it is not. */
export const causeOf = async (tx: Tx, account: string, id: string): Promise<Cause | null> => {
  const row = await tx.maybe<{ cause: Cause }>`
    select cause from number_suspensions where account_id = ${account} and virtual_number_id = ${id}`
  return row?.cause ?? null
}
