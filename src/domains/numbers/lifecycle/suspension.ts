import type { InvalidationBus } from '../../../platform/db/invalidation-bus.ts'
import type { Tx } from '../../../platform/db/sql.ts'
import { publishNumberEvent } from './number-events.ts'
import * as virtualNumbers from './virtual-number-store.ts'

/** Why a number is suspended: `registration` for unmet requirements, `operator` for anything else. */
export type SuspensionCause = 'registration' | 'operator'

type PriorStatus = Exclude<virtualNumbers.StatusText, 'RELEASED'>

/** Disables both directions of a suspended number's channel and stores them for its reinstatement. */
export const disableChannel = async (tx: Tx, account: string, id: string): Promise<void> => {
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
 * Suspends a number: it stays the account's and is charged for, but neither sends nor receives messages. A suspended
 * number is not changed. The account is notified with the reason.
 * @param reason in words for the account
 * @returns the number, or null when the account has no such number
 */
export const suspend = async (
  tx: Tx,
  changes: InvalidationBus,
  account: string,
  id: string,
  cause: SuspensionCause,
  reason: string,
): Promise<virtualNumbers.NumberRow | null> => {
  const found = await virtualNumbers.lock(tx, account, id)
  if (!found || found.status_text === 'SUSPENDED') return found
  await tx.run`
    insert into number_suspensions (account_id, virtual_number_id, cause, reason, status_text, supports_sms_in,
      supports_sms_out)
    values (${account}, ${id}, ${cause}, ${reason}, ${found.status_text}, false, false)`
  await disableChannel(tx, account, id)
  const suspended = await virtualNumbers.setStatus(tx, account, id, 'SUSPENDED')
  await publishNumberEvent(tx, 'number.suspended', suspended, reason)
  await changes.invalidate(tx, 'numbers')
  return suspended
}

/**
 * Ends a suspension: restores the number's previous status and its channel's directions.
 * @param status replaces the previous status
 * @returns the number, or null when the account has no such number; one that is not suspended is not changed
 */
export const reinstate = async (
  tx: Tx,
  changes: InvalidationBus,
  account: string,
  id: string,
  status?: PriorStatus,
): Promise<virtualNumbers.NumberRow | null> => {
  const found = await virtualNumbers.lock(tx, account, id)
  if (found?.status_text !== 'SUSPENDED') return found
  const { status_text } = await tx.one<{ status_text: PriorStatus }>`
    with ended as (
      delete from number_suspensions where account_id = ${account} and virtual_number_id = ${id} returning *
    ), restored as (
      update sms_channels c
      set supports_sms_in = e.supports_sms_in, supports_sms_out = e.supports_sms_out, updated_at = app_now()
      from ended e
      where c.account_id = e.account_id and c.virtual_number_id = e.virtual_number_id and c.enabled
    )
    select status_text from ended`
  const reinstated = await virtualNumbers.setStatus(tx, account, id, status ?? status_text)
  await publishNumberEvent(tx, 'number.updated', reinstated)
  await changes.invalidate(tx, 'numbers')
  return reinstated
}

/** Changes the status that a suspended number returns to, if that is `from`. */
export const changePriorStatus = (tx: Tx, account: string, id: string, from: PriorStatus, to: PriorStatus) => tx.run`
  update number_suspensions set status_text = ${to}
  where account_id = ${account} and virtual_number_id = ${id} and status_text = ${from}`

/** Returns why a number is suspended; null when it is not. */
export const causeOf = async (tx: Tx, account: string, id: string): Promise<SuspensionCause | null> => {
  const row = await tx.maybe<{ cause: SuspensionCause }>`
    select cause from number_suspensions where account_id = ${account} and virtual_number_id = ${id}`
  return row?.cause ?? null
}
