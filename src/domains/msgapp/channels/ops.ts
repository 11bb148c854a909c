import { mainCountryOf } from '@trunkline/phone/phone.ts'
import { makeBatcher } from '../../../platform/db/batcher.ts'
import { type InvalidationBus, invalidateTopic } from '../../../platform/db/invalidation-bus.ts'
import type { Db, Sql, Tx } from '../../../platform/db/sql.ts'
import { refuse } from '../../../platform/http/problem.ts'
import { parse, uuid } from '../../../platform/lib/id.ts'
import { timeZonesOf } from '../../../platform/lib/phone-geocoding.ts'
import { assertOpen } from '../../accounts/ops.ts'
import { addChannelCallerId, removeChannelCallerId } from '../../callers/ops.ts'
import { isOnlyUser } from '../../connections/ops.ts'
import { endPossession, lockNumber, possesses } from '../../possession/ops.ts'
import { unpairedChannelHours } from '../limits.ts'
import { refusals } from '../refusals.ts'
import { chatKinds, proofOf } from '../runner/drivers.ts'
import { deleteCredentials } from '../store.ts'
import { presentStatus } from './channel-presenter.ts'
import { transition } from './channel-status.ts'
import * as store from './store.ts'

/** A channel as other domains see it; `id` and `connection` without prefix. */
export type Channel = {
  readonly account: string
  readonly id: string
  readonly connection: string
  readonly platform: string
  readonly number: string
  readonly name: string
  readonly enabled: boolean
  readonly isBusiness: boolean
  /** Whether a round trip of the last 12 s proves the connection. */
  readonly isConnected: boolean
  /** Whether the channel was ever connected. */
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

/**
 * Finds a channel of an account by its printed id.
 * @throws the 404 Problem
 */
export const channelOf = async (sql: Sql, account: string, printed: string): Promise<Channel> => {
  const id = parse('WPN', printed)
  const row = id && (await store.find(sql, account, id))
  return row ? channelFrom(row) : refuse(refusals.unknownChannel(printed))
}

/** Finds a channel of an account by its id without prefix; null if deleted. */
export const findChannel = async (sql: Sql, account: string, id: string): Promise<Channel | null> => {
  const row = await store.find(sql, account, id)
  return row && channelFrom(row)
}

/** Returns the channel's state as `msgapp.number.status` shows it; null if deleted. */
export const statusOf = async (sql: Sql, account: string, id: string) => {
  const row = await store.find(sql, account, id)
  return row && presentStatus(row)
}

/**
 * Finds the channel of an account's connected number.
 * @throws the 404 Problem
 */
export const channelOfNumber = async (sql: Sql, account: string, number: string): Promise<Channel> => {
  const row = await store.byNumber(sql, account, number)
  return row ? channelFrom(row) : refuse(refusals.unknownNumber(number))
}

/** Returns the account that has the number on the messaging app, or null. */
export const ownerOf = async (sql: Sql, number: string): Promise<string | null> =>
  (await store.ownersOf(sql, [number]))[0]?.account_id ?? null

/** Makes `ownerOf` for many concurrent callers, whose numbers share a statement. */
export const makeOwnerOf = (db: Db): ((number: string) => Promise<string | null>) => {
  const batcher = makeBatcher<string, string | null>(async (numbers) => {
    const owners = new Map((await store.ownersOf(db, numbers)).map((row) => [row.number, row.account_id]))
    return numbers.map((number) => owners.get(number) ?? null)
  })
  return batcher.add
}

/**
 * Checks that a channel is connected, for operations that run at once.
 * @throws the 409 Problem with Retry-After
 */
export const requireConnected = ({ number, enabled, isConnected, wasConnected }: Channel): void => {
  if (isConnected) return
  if (!enabled) throw refusals.channelDisconnected(number)
  throw wasConnected ? refusals.channelConnecting(number) : refusals.channelBooting(number)
}

/** Whether the account may use the number on a connection: its network needs no advance proof, or a proof exists. */
const isProved = async (
  tx: Tx,
  account: string,
  number: string,
  { id, kind }: { id: string; kind: string },
  isSandbox: boolean,
): Promise<boolean> => {
  const proof = proofOf(kind)
  if (proof === 'pairing' || proof === 'simulated') return true
  // The numbers of a business account belong to the one account it was assigned to.
  if (proof === 'listing' && (await isOnlyUser(tx, id, account))) return true
  return await possesses(tx, account, number, isSandbox)
}

/**
 * Returns the account's channel of a number that is no longer proved, although its network requires proof.
 * @param isSandbox whether a number sold by the sandbox counts as proved
 */
export const unprovedChannel = async (
  tx: Tx,
  account: string,
  number: string,
  isSandbox: boolean,
): Promise<string | null> => {
  const found = await store.ofNumber(tx, number, account, true)
  if (!found) return null
  const connection = { id: found.connection_id, kind: found.platform }
  return (await isProved(tx, account, number, connection, isSandbox)) ? null : found.id
}

/** Strength of an account's proof of a number. A number sold by the sandbox is real to sandbox accounts only. */
const proofStrength = async (tx: Tx, account: string, number: string, isSandbox: boolean): Promise<0 | 1 | 2> => {
  if (await possesses(tx, account, number, false)) return 2
  return isSandbox && (await possesses(tx, account, number, true)) ? 1 : 0
}

/**
 * Deletes another account's channel of a number that the account possesses and the other one does not. A connection to
 * the sandbox proves nothing, and gives way even to a number that the sandbox sold.
 */
const displaceUnproved = async (
  tx: Tx,
  account: string,
  number: string,
  isSandbox: (account: string) => boolean,
): Promise<void> => {
  const found = await store.ofNumber(tx, number, account, false)
  if (!found) return
  // A phone that is being paired is waited for: it proves possession.
  await store.lockLink(tx, found.account_id, found.id)
  const own = await proofStrength(tx, account, number, isSandbox(account))
  const needed = proofOf(found.platform) === 'simulated' ? 1 : 2
  if (own < needed || own <= (await proofStrength(tx, found.account_id, number, isSandbox(found.account_id)))) return
  await deleteChannel(tx, found.account_id, found.id, 'another account proved possession of the number')
}

/**
 * Creates a channel from a number of an account; it connects at once. A channel that another account made of the number
 * without possessing it gives way to an account that possesses it.
 * @param isSandbox whether numbers sold by the sandbox count as proved for an account
 * @returns its id
 * @throws the 403 Problem if the number is a channel already, or its possession is not proved
 */
export const makeChannel = async (
  tx: Tx,
  changes: InvalidationBus,
  account: string,
  {
    connection,
    number,
    name,
    isSandbox,
  }: {
    connection: { id: string; kind: string }
    number: string
    name: string
    isSandbox: (account: string) => boolean
  },
): Promise<string> => {
  const id = uuid()
  await assertOpen(tx, account)
  await lockNumber(tx, number)
  if (!(await isProved(tx, account, number, connection, isSandbox(account)))) throw refusals.numberUnproved(number)
  await displaceUnproved(tx, account, number, isSandbox)
  const country = mainCountryOf(number) ?? ''
  const created = await store.create(tx, {
    account_id: account,
    id,
    connection_id: connection.id,
    platform: connection.kind,
    phone_number: number,
    friendly_name: name,
    iso_country_code: country,
    timezones: timeZonesOf(number.slice(1)),
  })
  // Clients match these words (completions.md part 8).
  if (!created) throw refusals.numberTaken(number)
  await addChannelCallerId(tx, account, { channel: id, number, name, country })
  await changes.invalidate(tx, 'msgapp')
  return id
}

/** Deletes a channel and publishes it. Its messages stay readable. */
export const deleteChannel = async (tx: Tx, account: string, id: string, reason: string): Promise<void> => {
  await transition(tx, null, null, [{ channel: id, phase: 'disconnected', reason, isEnd: true }])
  await store.remove(tx, account, id)
  await removeChannelCallerId(tx, account, id)
  await deleteCredentials(tx, id)
  await invalidateTopic(tx, 'msgapp')
}

/**
 * Deletes the channel of a number that changes hands in this transaction. With `endsProofs` also ends its proofs:
 * after a purchase those of other accounts, after a release all.
 */
export const endChannel = async (
  tx: Tx,
  number: string,
  { account, own, endsProofs, reason }: { account: string; own: boolean; endsProofs: boolean; reason: string },
): Promise<void> => {
  await lockNumber(tx, number)
  const found = await store.ofNumber(tx, number, account, own)
  if (found) await deleteChannel(tx, found.account_id, found.id, reason)
  if (endsProofs) await endPossession(tx, number, own ? null : account)
}

/** Deletes channels whose phone was not paired in time: nothing proves their number, which others may need. */
export const expireUnpaired = async (tx: Tx): Promise<void> => {
  const networks = chatKinds.filter((kind) => proofOf(kind) === 'pairing')
  const reason = `the number was not paired within ${unpairedChannelHours} hours`
  for (const { account_id: account, id } of await store.lockUnpaired(tx, networks, unpairedChannelHours, 200))
    await deleteChannel(tx, account, id, reason)
}

/** Counts enabled channels by network and status, for metrics. */
export const countChannels = (db: Db): Promise<store.Count[]> => store.countAll(db)

/** Whether a connection carries channels of accounts other than these. */
export const isCarrying = (sql: Sql, connection: string, except: readonly string[] = []): Promise<boolean> =>
  store.isUsed(sql, connection, except)

/**
 * Deletes all channels of an account: they are disconnected, and their messages stay readable.
 * @returns how many
 */
export const deleteChannels = async (tx: Tx, account: string, reason: string): Promise<number> => {
  const ids = await store.idsOf(tx, account)
  for (const id of ids) await deleteChannel(tx, account, id, reason)
  return ids.length
}
