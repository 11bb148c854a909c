import type { Logger } from 'pino'
import type { SmsInbound } from '../connectors/port.ts'
import { type Batcher, makeBatcher } from '../db/batch.ts'
import type { Db, Tx } from '../db/sql.ts'
import { uuid } from '../lib/id.ts'
import { e164, masked } from '../lib/phone.ts'
import { isGsm } from '../lib/segments.ts'
import * as store from './store.ts'
import * as waiting from './waiting.ts'

/** A text from a handset with the connection that it came over. */
export type CarrierInbound = SmsInbound & { connection: string }

type Whole = { source: string; destination: string; text: string }

const isPart = (message: CarrierInbound): message is waiting.Part => message.concat !== null

/** Joins the parts that have come; gives the texts that are whole now. */
const join = async (tx: Tx, parts: waiting.Part[]): Promise<Whole[]> => {
  if (parts.length === 0) return []
  await waiting.keep(tx, parts)
  const whole = await waiting.takeWhole(tx, parts)
  return whole.map(({ source, destination, texts }) => ({ source, destination, text: texts.join('') }))
}

/** Text as PostgreSQL can keep it: binary messages may hold U+0000, and broken ones half a surrogate pair. */
const kept = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed()

/** A sender is a number where it can be one, else the carrier's word for it (short codes, names). */
const sender = (source: string): string => e164(source) ?? source

/** Takes texts in, many to a transaction: kept before the carrier hears that we have them. */
export const makeInbound = (db: Db, log: Logger): Batcher<CarrierInbound, true> =>
  makeBatcher((given) =>
    db.begin(async (tx) => {
      const messages = given.map((one) => ({ ...one, text: kept(one.text), source: kept(one.source) }))
      const numbers = [...new Set(messages.map(({ destination }) => destination))]
      const channels = new Map((await store.receivers(tx, numbers)).map((row) => [row.phone_number, row]))
      const ours = messages.filter(({ destination }) => {
        if (channels.has(destination)) return true
        log.warn({ destination: masked(destination) }, 'a text came for a number that is not ours')
        return false
      })
      const texts: Whole[] = [...ours.filter((message) => !isPart(message)), ...(await join(tx, ours.filter(isPart)))]
      const rows = texts.flatMap(({ source, destination, text }) => {
        const channel = channels.get(destination)
        if (!channel) return []
        const encoding = isGsm(text) ? ('gsm7' as const) : ('ucs2' as const)
        const { account_id: account, id } = channel
        return [{ account, id: uuid(), channel: id, number: destination, contact: sender(source), text, encoding }]
      })
      if (rows.length > 0) await store.receive(tx, rows)
      return messages.map(() => true as const)
    }),
  )
