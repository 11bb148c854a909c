import type { Tx } from '../db/sql.ts'
import type { CarrierReceipt } from './receipts.ts'

/**
 * Finds the part that a receipt speaks of. Carriers write one id in two ways: with or without leading zeros, in either
 * case; and some answer a submit in hexadecimal and report in decimal, or the other way about.
 */
export type Matcher = {
  find(tx: Tx, receipts: readonly CarrierReceipt[]): Promise<Found[]>
  /** The id as the index has it, in the way that the connection is known to write; null while it is not. */
  keyOf(receipt: CarrierReceipt): string | null
}

/** A part, and the place of the receipt that speaks of it. */
export type Found = { n: number; account_id: string; message_id: string; part: number; parts: number }

type Numbered = CarrierReceipt & { n: number }

type Form = 'text' | 'decimal' | 'hex'

/** As the index has it. */
export const plain = (id: string): string => id.toLowerCase().replace(/^0+/, '')

/** The ways in which the id of a receipt may stand in the answer to the submit, by the form that it had there. */
export const formsOf = (id: string): { key: string; form: Form }[] => {
  const key = plain(id)
  const forms: { key: string; form: Form }[] = [{ key, form: 'text' }]
  // Ids of more than 64 bits are names, not numbers.
  if (/^[0-9]{1,20}$/.test(key)) forms.push({ key: BigInt(key).toString(16), form: 'hex' })
  if (/^[0-9a-f]{1,16}$/.test(key)) forms.push({ key: BigInt(`0x${key}`).toString(10), form: 'decimal' })
  return forms
}

type Key = { n: number; connection: string; key: string; form: Form }
type Row = Found & { form: Form; contact: string }

/** Parts of one id at a carrier that are looked at: carriers use their ids again. */
const mostOfId = 4

/** The parts under the keys with the numbers that they went to: of several with one id at a carrier, the newest first. */
const partsOf = (tx: Tx, keys: readonly Key[]) => tx.many<Row>`
  select g.n, g.form, p.account_id, p.message_id, p.part, p.parts, m.contact
  from unnest(${keys.map((k) => k.n)}::integer[], ${keys.map((k) => k.connection)}::uuid[],
    ${keys.map((k) => k.key)}::text[], ${keys.map((k) => k.form)}::text[]) as g (n, connection_id, key, form)
  cross join lateral (
    select account_id, message_id, part, parts, sent_at from sms_parts
    where connection_id = g.connection_id and ltrim(lower(carrier_id), '0') = g.key
    order by sent_at desc limit ${mostOfId}
  ) p
  cross join lateral (
    select contact from sms_messages where account_id = p.account_id and id = p.message_id offset 0) m
  order by g.form <> 'text', p.sent_at desc`

/** The fewest digits that name a handset; a receipt with fewer, or with none, names none. */
const fewestDigits = 7

/** The digits of a number without +, 00 or a national 0: those that its E.164 form ends with; null where there are too few. */
const endOf = (number: string | undefined): string | null => {
  const digits = number && /^\+?\d+$/.test(number) ? number.replace(/^\+?0*/, '') : ''
  return digits.length >= fewestDigits ? digits : null
}

/**
 * How the handset's number ends that a receipt may speak of: its source, or its destination, as some carriers repeat the
 * addresses of the submit. Both null when the receipt names no handset: then its id alone counts.
 */
export const handsetsOf = ({ handset, number }: CarrierReceipt): readonly [string | null, string | null] => {
  const source = endOf(handset)
  return source === null ? [null, null] : [source, endOf(number)]
}

const isOf = (contact: string, ends: readonly (string | null)[]): boolean =>
  ends.some((end) => end !== null && contact.endsWith(end))

/** A matcher that learns how each connection writes its ids, and then looks for them in that way first. */
export const makeMatcher = (): Matcher => {
  const learned = new Map<string, Form>()

  const usualOf = ({ connection, carrierId }: CarrierReceipt) => {
    const usual = learned.get(connection)
    return usual && formsOf(carrierId).find(({ form }) => form === usual)
  }

  /** The first part for each receipt whose handset fits, or whose receipt names none. */
  const fitting = (rows: readonly Row[], receipts: readonly Numbered[], isEnough: (row: Row) => boolean): Row[] => {
    const byReceipt = Map.groupBy(rows, ({ n }) => n)
    return receipts.flatMap((receipt) => {
      const ends = handsetsOf(receipt)
      const hasHandset = ends[0] !== null
      const own = byReceipt.get(receipt.n) ?? []
      const row = own.find((one) => (hasHandset ? isOf(one.contact, ends) : isEnough(one)))
      return row ? [row] : []
    })
  }

  /** By the way that the connection is known to write. */
  const findUsual = async (tx: Tx, receipts: readonly Numbered[]): Promise<Row[]> => {
    const keys = receipts.flatMap((receipt) => {
      const usual = usualOf(receipt)
      return usual ? [{ n: receipt.n, connection: receipt.connection, ...usual }] : []
    })
    return keys.length > 0 ? fitting(await partsOf(tx, keys), receipts, () => true) : []
  }

  /**
   * By every way, of the handset that the receipt names. A number read in another way may be the id of another text, perhaps
   * another account's: without a handset only an id that stands as it was answered finds its part.
   */
  const findAny = async (tx: Tx, receipts: readonly Numbered[]): Promise<Row[]> => {
    const keys = receipts.flatMap(({ n, connection, carrierId }) =>
      formsOf(carrierId).map((form) => ({ n, connection, ...form })),
    )
    const rows = await partsOf(tx, keys)
    const found = fitting(rows, receipts, ({ form }) => form === 'text')
    for (const { n, form } of found) {
      const receipt = receipts.find((one) => one.n === n)
      if (!receipt) continue
      const ends = handsetsOf(receipt)
      const forms = new Set(rows.filter((row) => row.n === n && isOf(row.contact, ends)).map((row) => row.form))
      // Where another way fits as well, and nothing tells them apart, nothing is learned.
      if (forms.size === 1) learned.set(receipt.connection, form)
    }
    return found
  }

  return {
    keyOf: (receipt) => usualOf(receipt)?.key ?? null,
    find: async (tx, receipts) => {
      const numbered = receipts.map((receipt, n) => ({ ...receipt, n }))
      const usual = await findUsual(tx, numbered)
      if (usual.length === receipts.length) return usual
      const known = new Set(usual.map(({ n }) => n))
      return [
        ...usual,
        ...(await findAny(
          tx,
          numbered.filter(({ n }) => !known.has(n)),
        )),
      ]
    },
  }
}

/**
 * For parts that were submitted without an answer, on routes that submit no part twice unasked: a receipt whose id nobody
 * knows, between the same two numbers over the same connection, tells the id and that the carrier has the part.
 * @param seconds parts submitted longer ago are left: no receipt for them is under way any more
 */
export const adopt = async (tx: Tx, receipts: readonly Numbered[], seconds: number): Promise<Found[]> => {
  const found: Found[] = []
  for (const { n, connection, carrierId, handset, number } of receipts) {
    if (!handset || !number) continue
    const row = await tx.maybe<Omit<Found, 'n'>>`
      update sms_parts p set carrier_id = ${carrierId}, status = 'sent', updated_at = (select app_now())
      from (
        select d.account_id, d.message_id, d.part from sms_parts d
        cross join lateral (
          select number, contact from sms_messages where account_id = d.account_id and id = d.message_id offset 0) m
        where d.connection_id = ${connection} and ltrim(lower(d.carrier_id), '0') is null and d.status = 'doubtful'
          and d.sent_at > app_now() - make_interval(secs => ${seconds})
          and m.number = ${number} and m.contact = ${handset}
        order by d.sent_at, d.part limit 1
      ) f
      where (p.account_id, p.message_id, p.part) >= (f.account_id, f.message_id, f.part)
        and (p.account_id, p.message_id, p.part) <= (f.account_id, f.message_id, f.part)
      returning p.account_id, p.message_id, p.part, p.parts`
    if (row) found.push({ n, ...row })
  }
  return found
}
