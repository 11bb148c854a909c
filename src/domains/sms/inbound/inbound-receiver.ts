import { e164 } from '@trunkline/phone/phone.ts'
import { isGsm } from '@trunkline/phone/segments.ts'
import { type Batcher, makeBatcher } from '../../../platform/db/batcher.ts'
import type { Db, Tx } from '../../../platform/db/sql.ts'
import { Problem } from '../../../platform/http/problem.ts'
import { print, uuid } from '../../../platform/lib/id.ts'
import type { LinkDeps } from '../../../platform/lib/signed-links.ts'
import { storable } from '../../../platform/lib/storable.ts'
import type { InboundMedia } from '../../../ports/sms.ts'
import { findBlocked } from '../../contacts/blocking/ops.ts'
import { charge } from '../../ledger/ops.ts'
import { makeMediaLinks } from '../../msgapp/media/ops.ts'
import type { Prices } from '../../prices/ops.ts'
import { smsDrivers } from '../drivers.ts'
import { publishEvents } from '../message-presenter.ts'
import { inboundFiles, storeFiles } from '../mms/inbound-media.ts'
import { presentFile } from '../mms/media-presenter.ts'
import { keywordOf } from '../opt-outs/keywords.ts'
import { storeKeywords } from '../opt-outs/store.ts'
import * as store from '../store.ts'
import type { CarrierInbound } from './carrier-inbound.ts'
import { withoutDuplicates } from './dedup-store.ts'
import * as waiting from './reassembly-store.ts'
import type { ReportUnattributed } from './unattributed-reporter.ts'

/** A reassembled message; incomplete if some parts never arrived. */
export type ReassembledMessage = {
  connection: string
  source: string
  destination: string
  text: string
  isIncomplete: boolean
  /** Its files (MMS). Default: none. */
  media?: readonly InboundMedia[]
}

export type InboundDeps = LinkDeps & { readonly stray: ReportUnattributed; readonly prices: Prices }

const isPart = (message: CarrierInbound): message is waiting.InboundPart => message.concat !== null

/** Joins the text of parts in order. Each part is decoded alone if an earlier version stored one of them, or the
 *  connection was deleted. */
const joinText = ({ kept, kind }: waiting.JoinedParts): string => {
  const raws = kept.flatMap(({ part, octets, coding }) =>
    octets === null || coding === null ? [] : [{ part, octets: Buffer.from(octets, 'hex'), coding }],
  )
  const driver = kind === null ? undefined : smsDrivers.get(kind)
  const joined = raws.length === kept.length ? driver?.joinParts?.(raws) : undefined
  return joined ?? kept.map(({ text }) => text).join('')
}

const reassembledFrom = (joined: waiting.JoinedParts, isIncomplete: boolean): ReassembledMessage => {
  const { connection_id: connection, source, destination } = joined
  return { connection, source, destination, text: storable(joinText(joined)), isIncomplete }
}

/** Stores parts and returns the messages that are complete now. */
const reassemble = async (tx: Tx, parts: waiting.InboundPart[]): Promise<ReassembledMessage[]> => {
  if (parts.length === 0) return []
  await waiting.storeParts(tx, parts)
  const whole = await waiting.takeComplete(tx, parts)
  return whole.map((one) => reassembledFrom(one, false))
}

/** Returns a sender in E.164 if possible, otherwise as the carrier wrote it (short codes, names). */
const normalizeSender = (source: string): string => e164(source) ?? source

/** Charges an inbound message. A message that the balance does not cover is delivered free of charge. */
const chargeInbound = async (tx: Tx, prices: Prices, row: store.ReceivedMessage): Promise<store.ReceivedMessage> => {
  const price = prices.of('sms_in', row.number) ?? 0
  if (price === 0) return row
  try {
    await charge(tx, row.account, price, 'sms', { kind: 'sms_in', reference: print('SMI', row.id), limitedKeys: null })
    return { ...row, price }
  } catch (error) {
    if (error instanceof Problem) return row
    throw error
  }
}

/** Adds links to files, which may be fetched only after their event. */
const withFiles = (received: readonly store.EventRow[], rows: readonly store.ReceivedMessage[], deps: LinkDeps) => {
  const sent = new Map(rows.flatMap(({ id, media }) => (media.length > 0 ? [[id, media] as const] : [])))
  if (sent.size === 0) return received
  const links = makeMediaLinks(deps)
  return received.map((row) => {
    const media = sent.get(row.id)?.map((file) => presentFile(links, row.account_id, file))
    return media ? { ...row, media } : row
  })
}

/** Stores reassembled messages, with their opt-outs and events in one transaction. */
export const receive = async (tx: Tx, texts: readonly ReassembledMessage[], deps: InboundDeps): Promise<void> => {
  if (texts.length === 0) return
  const { stray, prices } = deps
  const numbers = [...new Set(texts.map(({ destination }) => destination))]
  const channels = new Map((await store.receivingChannels(tx, numbers)).map((row) => [row.phone_number, row]))
  const rows: store.ReceivedMessage[] = []
  for (const { connection, source, destination, text, isIncomplete, media } of texts) {
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
      contact: normalizeSender(source),
      text,
      encoding: isGsm(text) ? 'gsm7' : 'ucs2',
      price: 0,
      isIncomplete,
      isBlocked: false,
      connection,
      media: inboundFiles(media),
    })
  }
  if (rows.length === 0) return
  const isBlocked = await findBlocked(
    tx,
    rows.map(({ account, contact }) => ({ account, number: contact })),
  )
  // Balances are locked in the order of accounts (docs/locks.md).
  const paid = new Map<string, store.ReceivedMessage>()
  for (const row of [...rows].sort((a, b) => (a.account < b.account ? -1 : 1)))
    paid.set(row.id, await chargeInbound(tx, prices, row))
  const ready = rows.map((row): store.ReceivedMessage => {
    const charged = paid.get(row.id) ?? row
    // Files of blocked contacts are not fetched.
    return isBlocked(row.account, row.contact) ? { ...charged, isBlocked: true, media: [] } : charged
  })
  const received = await store.receive(tx, ready)
  await storeFiles(tx, ready)
  await storeKeywords(
    tx,
    rows.map(({ account, number, contact, text }) => ({ account, number, contact, keyword: keywordOf(text) })),
  )
  // Texts of blocked contacts are in the log alone.
  const shown = received.filter((row) => row.sub_status !== 'blocked')
  await publishEvents(tx, withFiles(shown, ready, deps))
}

/** Receives messages, many in a transaction; each is committed before the carrier gets its response. */
export const makeInboundReceiver = (db: Db, parts: InboundDeps): Batcher<CarrierInbound, true> =>
  makeBatcher((given) =>
    db.begin(async (tx) => {
      const messages = given.map((one) => ({ ...one, text: storable(one.text), source: storable(one.source) }))
      const fresh = await withoutDuplicates(tx, messages)
      const single = fresh.filter((message) => !isPart(message)).map((one) => ({ ...one, isIncomplete: false }))
      await receive(tx, [...single, ...(await reassemble(tx, fresh.filter(isPart)))], parts)
      return messages.map(() => true as const)
    }),
  )

/** Stores the received parts of messages whose other parts did not arrive within a day. */
export const receiveIncomplete = async (tx: Tx, parts: InboundDeps): Promise<void> => {
  const stale = await waiting.takeStale(tx)
  await receive(
    tx,
    stale.map((one) => reassembledFrom(one, true)),
    parts,
  )
}
