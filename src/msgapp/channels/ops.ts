import { addChannelCallerId, removeChannelCallerId } from '../../callers/ops.ts'
import { isOnlyUser } from '../../connections/ops.ts'
import { type Changes, markChanged } from '../../db/changes.ts'
import type { Db, Sql, Tx } from '../../db/sql.ts'
import { forbidden, notFound, Problem } from '../../http/problem.ts'
import { parse, uuid } from '../../lib/id.ts'
import { mainCountryOf } from '../../lib/phone.ts'
import { longestOf, readZones } from '../../lib/places.ts'
import { endPossession, lockNumber, possesses } from '../../possession/ops.ts'
import { proofOf } from '../drivers.ts'
import { forget } from '../store.ts'
import { turn } from './standing.ts'
import * as store from './store.ts'

/** A channel as other folders need it; `id` and `connection` without prefix. */
export type Channel = {
  readonly account: string
  readonly id: string
  readonly connection: string
  readonly platform: string
  readonly number: string
  readonly name: string
  readonly enabled: boolean
  readonly isBusiness: boolean
  /** Connected at this moment: a round trip of the last 12 s says so. */
  readonly isConnected: boolean
  /** It has been connected before. */
  readonly wasConnected: boolean
}

const channelFrom = (row: store.ChannelRow): Channel => ({
  account: row.account_id,
  id: row.id,
  connection: row.connection_id,
  platform: row.platform,
  number: row.phone_number,
  name: row.friendly_name,
  enabled: row.enabled,
  isBusiness: row.is_business,
  isConnected: row.connection_status === 'C',
  wasConnected: row.proof_age !== null,
})

/** The channel of an account by its printed id. @throws the 404 Problem */
export const channelOf = async (sql: Sql, account: string, printed: string): Promise<Channel> => {
  const id = parse('WPN', printed)
  const row = id && (await store.find(sql, account, id))
  return row ? channelFrom(row) : notFound(`Channel ${printed} does not exist`)
}

/** The channel of an account by its id without prefix; null when it was deleted. */
export const findChannel = async (sql: Sql, account: string, id: string): Promise<Channel | null> => {
  const row = await store.find(sql, account, id)
  return row && channelFrom(row)
}

/** The channel of an account's connected number. @throws the 404 Problem */
export const channelOfNumber = async (sql: Sql, account: string, number: string): Promise<Channel> => {
  const row = await store.byNumber(sql, account, number)
  return row ? channelFrom(row) : notFound(`${number} is no number of the account on the messaging app`)
}

/** The account that has a number on the messaging app, or null. */
export const ownerOf = async (sql: Sql, number: string): Promise<string | null> =>
  (await store.ownerOf(sql, number))?.account_id ?? null

/** What is asked of a network now needs its channel to be connected. @throws the 409 Problem with Retry-After */
export const demandConnected = ({ number, enabled, isConnected, wasConnected }: Channel): void => {
  if (isConnected) return
  if (!enabled) throw new Problem('conflict', `${number} is disconnected: connect it first`, 'channel_disconnected')
  const [code, seconds] = wasConnected ? ['channel_connecting', '5'] : ['channel_booting', '10']
  throw new Problem('conflict', `${number} is not connected at this moment`, code, { 'retry-after': seconds })
}

/** Whether the account may be a number on a connection: its network needs no proof beforehand, or there is one. */
const isProved = async (
  tx: Tx,
  account: string,
  number: string,
  { id, kind }: { id: string; kind: string },
): Promise<boolean> => {
  const proof = proofOf(kind)
  if (proof === 'pairing' || proof === 'simulated') return true
  // The numbers of a business account are those of the one account that it was assigned to.
  if (proof === 'listing' && (await isOnlyUser(tx, id, account))) return true
  return await possesses(tx, account, number)
}

/** The account's channel of a number once nothing proves that number any more, although its network needs that. */
export const unprovedChannel = async (tx: Tx, account: string, number: string): Promise<string | null> => {
  const found = await store.ofNumber(tx, number, account, true)
  if (!found) return null
  const connection = { id: found.connection_id, kind: found.platform }
  return (await isProved(tx, account, number, connection)) ? null : found.id
}

/** Makes a number of an account a channel; it is connected at once. @returns its id @throws the 403 Problem when it is one, or
 *  possession of it is not proved */
export const makeChannel = async (
  tx: Tx,
  changes: Changes,
  account: string,
  { connection, number, name }: { connection: { id: string; kind: string }; number: string; name: string },
): Promise<string> => {
  const id = uuid()
  await lockNumber(tx, number)
  if (!(await isProved(tx, account, number, connection)))
    forbidden(
      `Possession of ${number} is not proved: buy the number, prove it by a code (POST /open/voip/caller-ids), or ask the operator for a grant`,
      'number_unproved',
    )
  const country = mainCountryOf(number) ?? ''
  const made = await store.create(tx, {
    account_id: account,
    id,
    connection_id: connection.id,
    platform: connection.kind,
    phone_number: number,
    friendly_name: name,
    iso_country_code: country,
    timezones: longestOf(readZones(), number.slice(1)) ?? [],
  })
  // Words that clients look for (completions.md part 8).
  if (!made) forbidden(`${number}: phone number already exists`, 'phone_number_exists')
  await addChannelCallerId(tx, account, { channel: id, number, name, country })
  await changes.announce(tx, 'msgapp')
  return id
}

/** Takes a number from the messaging app, and tells of it: its messages stay readable. */
export const deleteChannel = async (tx: Tx, account: string, id: string, reason: string): Promise<void> => {
  await turn(tx, null, null, [{ channel: id, phase: 'disconnected', reason }])
  await store.remove(tx, account, id)
  await removeChannelCallerId(tx, account, id)
  await forget(tx, id)
  await markChanged(tx, 'msgapp')
}

/** Deletes the channel of a number that changes hands in this transaction, and ends its proofs: after a purchase those of other
 *  accounts, at a release everybody's. */
export const endChannel = async (
  tx: Tx,
  number: string,
  { account, own, reason }: { account: string; own: boolean; reason: string },
): Promise<void> => {
  await lockNumber(tx, number)
  const found = await store.ofNumber(tx, number, account, own)
  if (found) await deleteChannel(tx, found.account_id, found.id, reason)
  await endPossession(tx, number, own ? null : account)
}

/** For metrics: enabled channels by their network and how they stand. */
export const countChannels = (db: Db): Promise<store.Count[]> => store.countAll(db)

/** Whether a connection carries channels of accounts other than these. */
export const isCarrying = (sql: Sql, connection: string, except: readonly string[] = []): Promise<boolean> =>
  store.isUsed(sql, connection, except)
