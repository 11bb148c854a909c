import type { Sql, Tx } from '../db/sql.ts'
import type { Account } from '../http/auth.ts'
import { forbidden, notFound } from '../http/problem.ts'
import { uuid } from '../lib/id.ts'
import { countParts, isGsm } from '../lib/segments.ts'
import type { Parts } from '../parts.ts'
import { planFor } from './plan.ts'
import * as store from './store.ts'

/** A text to be sent: numbers are E.164. */
export type Outgoing = { from: string; to: string; text: string; sendAt: Date | null }

type Sending = Pick<Parts, 'db' | 'accept' | 'channels' | 'prices' | 'routing' | 'sandboxAccounts'>

/**
 * Sends a text from a number of an account. Resolves once it is durable, or is part of `tx`.
 * @returns its id
 * @throws the 402, 403, 404, 422 or 503 Problem
 */
export const sendText = async (
  { db, accept, channels, prices, routing, sandboxAccounts }: Sending,
  tx: Tx | null,
  account: Pick<Account, 'id' | 'a2pUs'>,
  { from, to, text, sendAt }: Outgoing,
): Promise<string> => {
  const { decision, each } = planFor({ routing, prices, sandboxAccounts }, account, to)

  const known = channels.of(account.id, from, tx ?? db)
  const channel =
    (known instanceof Promise ? await known : known) ?? notFound(`${from} is no number of the account with SMS`)
  if (channel.suspended) forbidden(`${from} is suspended`, 'number_suspended')
  if (!channel.supports_sms_out) notFound(`${from} cannot send SMS`)

  const keeping = routing.kept(decision)
  if (keeping) await keeping
  const fragments = countParts(text, decision.long)
  const id = uuid()
  await accept.message(
    {
      account: account.id,
      id,
      channel: channel.id,
      number: from,
      contact: to,
      text,
      encoding: isGsm(text) ? 'gsm7' : 'ucs2',
      fragments,
      price: each * fragments,
      sendAt,
      decision: decision.id,
      long: decision.long,
    },
    tx,
  )
  return id
}

/** Whether texts of an account to a number go to the sandbox's handsets. */
export const isSimulated = (
  { routing, sandboxAccounts }: Pick<Sending, 'routing' | 'sandboxAccounts'>,
  account: string,
  to: string,
): boolean => routing.decide(to, sandboxAccounts.has(account)).isSimulated

/** Sends a text that only its recipient is to read: in threads and events stands `shown`. @returns its id */
export const sendSecret = async (
  sending: Sending,
  tx: Tx,
  account: Pick<Account, 'id' | 'a2pUs'>,
  { shown, ...secret }: Omit<Outgoing, 'sendAt'> & { shown: string },
): Promise<string> => {
  const id = await sendText(sending, tx, account, { ...secret, sendAt: null })
  // What is submitted stands in the job, which goes with its end.
  await store.setText(tx, account.id, id, shown)
  return id
}

/** The oldest number of an account that can send; null when there is none. */
export const firstSender = (sql: Sql, account: string): Promise<string | null> => store.firstSender(sql, account)
