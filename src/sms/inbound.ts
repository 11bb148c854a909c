import type { SmsInbound } from '../connectors/port.ts'
import { type Batcher, makeBatcher } from '../db/batch.ts'
import type { Db, Tx } from '../db/sql.ts'
import { Problem } from '../http/problem.ts'
import { charge } from '../ledger/ops.ts'
import { print, uuid } from '../lib/id.ts'
import { e164 } from '../lib/phone.ts'
import { isGsm } from '../lib/segments.ts'
import type { Prices } from '../prices/ops.ts'
import { textOfParts } from './carriers.ts'
import * as optout from './optout.ts'
import { unseen } from './seen.ts'
import { tell } from './shown.ts'
import * as store from './store.ts'
import type { Stray } from './strays.ts'
import * as waiting from './waiting.ts'

/** A text from a handset with the connection that it came over. */
export type CarrierInbound = SmsInbound & { connection: string }

/** A text all of whose parts came, or will never come. */
export type Whole = { connection: string; source: string; destination: string; text: string; isIncomplete: boolean }

export type InboundParts = { stray: Stray; prices: Prices }

const isPart = (message: CarrierInbound): message is waiting.Part => message.concat !== null

/** The text of parts in order, each decoded alone where an earlier version kept one of them. */
const joined = (kept: readonly waiting.Kept[]): string => {
  const raws = kept.flatMap(({ part, octets, coding }) =>
    octets === null || coding === null ? [] : [{ part, octets: Buffer.from(octets, 'hex'), coding }],
  )
  return raws.length === kept.length ? textOfParts(raws) : kept.map(({ text }) => text).join('')
}

const wholeOf = (
  { connection_id: connection, source, destination, kept }: waiting.Joined,
  isIncomplete: boolean,
): Whole => ({ connection, source, destination, text: storable(joined(kept)), isIncomplete })

/** Joins the parts that have come; gives the texts that are whole now. */
const join = async (tx: Tx, parts: waiting.Part[]): Promise<Whole[]> => {
  if (parts.length === 0) return []
  await waiting.keep(tx, parts)
  const whole = await waiting.takeWhole(tx, parts)
  return whole.map((one) => wholeOf(one, false))
}

/** Text as PostgreSQL can keep it: binary messages may hold U+0000, and broken ones half a surrogate pair. */
const storable = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed()

/** A sender is a number where it can be one, else the carrier's word for it (short codes, names). */
const sender = (source: string): string => e164(source) ?? source

/** Takes the price of an inbound text; one that the balance does not cover arrives all the same, for nothing. */
const priced = async (tx: Tx, prices: Prices, row: store.Received): Promise<store.Received> => {
  const price = prices.of('sms_in', row.number) ?? 0
  if (price === 0) return row
  try {
    await charge(tx, row.account, price, 'sms', { kind: 'sms_in', reference: print('SMI', row.id) })
    return { ...row, price }
  } catch (error) {
    if (error instanceof Problem) return row
    throw error
  }
}

/** Keeps whole texts, in one transaction with what they ask for and what is told of them. */
export const receive = async (tx: Tx, texts: readonly Whole[], { stray, prices }: InboundParts): Promise<void> => {
  if (texts.length === 0) return
  const numbers = [...new Set(texts.map(({ destination }) => destination))]
  const channels = new Map((await store.receivers(tx, numbers)).map((row) => [row.phone_number, row]))
  const rows: store.Received[] = []
  for (const { connection, source, destination, text, isIncomplete } of texts) {
    const channel = channels.get(destination)
    if (!channel) {
      stray(connection, destination)
      continue
    }
    rows.push({
      account: channel.account_id,
      id: uuid(),
      channel: channel.id,
      number: destination,
      contact: sender(source),
      text,
      encoding: isGsm(text) ? 'gsm7' : 'ucs2',
      price: 0,
      isIncomplete,
    })
  }
  if (rows.length === 0) return
  // By account, the order in which acceptance locks balances too.
  const paid = new Map<string, store.Received>()
  for (const row of [...rows].sort((a, b) => (a.account < b.account ? -1 : 1)))
    paid.set(row.id, await priced(tx, prices, row))
  const received = await store.receive(
    tx,
    rows.map((row) => paid.get(row.id) ?? row),
  )
  await optout.keep(
    tx,
    rows.map(({ account, number, contact, text }) => ({ account, number, contact, wish: optout.wishOf(text) })),
  )
  await tell(tx, received)
}

/** Takes texts in, many to a transaction: kept before the carrier hears that we have them. */
export const makeInbound = (db: Db, parts: InboundParts): Batcher<CarrierInbound, true> =>
  makeBatcher((given) =>
    db.begin(async (tx) => {
      const messages = given.map((one) => ({ ...one, text: storable(one.text), source: storable(one.source) }))
      const fresh = await unseen(tx, messages)
      const single = fresh.filter((message) => !isPart(message)).map((one) => ({ ...one, isIncomplete: false }))
      await receive(tx, [...single, ...(await join(tx, fresh.filter(isPart)))], parts)
      return messages.map(() => true as const)
    }),
  )

/** Keeps what came of texts of which the other parts did not come within a day. */
export const receiveIncomplete = async (tx: Tx, parts: InboundParts): Promise<void> => {
  const stale = await waiting.takeStale(tx)
  await receive(
    tx,
    stale.map((one) => wholeOf(one, true)),
    parts,
  )
}
