import { canonicalNumber, numberForms } from '@trunkline/phone/number-forms.ts'
import type { Tx } from '../../../platform/db/sql.ts'
import { maxPartsPerCarrierId, minHandsetDigits } from '../limits.ts'
import type { TokenPart } from '../part-tokens.ts'
import type { CarrierReceipt } from './carrier-receipt.ts'

/**
 * Finds the message part of a receipt. Carriers write one id in different forms: with or without leading zeros, in
 * upper or lower case. Some respond to a submit in hexadecimal and report in decimal, or the reverse.
 */
export type ReceiptCorrelator = {
  find(tx: Tx, receipts: readonly CarrierReceipt[]): Promise<MatchedPart[]>
  /** Returns the id as indexed, in the learned form of the connection; null while none is learned. */
  keyOf(receipt: CarrierReceipt): string | null
}

/** A part and the index of its receipt. */
export type MatchedPart = { n: number; account_id: string; message_id: string; part: number; parts: number }

type NumberedReceipt = CarrierReceipt & { n: number }

type IdForm = 'text' | 'decimal' | 'hex'

/** Normalises an id as the index does. */
export const normalizeId = (id: string): string => id.toLowerCase().replace(/^0+/, '')

/** Returns the ids that the submit response may have used for the id of a receipt, each with its form. */
export const idForms = (id: string): { key: string; form: IdForm }[] => {
  const key = normalizeId(id)
  const forms: { key: string; form: IdForm }[] = [{ key, form: 'text' }]
  // Ids of more than 64 bits are names, not numbers.
  if (/^[0-9]{1,20}$/.test(key)) forms.push({ key: BigInt(key).toString(16), form: 'hex' })
  if (/^[0-9a-f]{1,16}$/.test(key)) forms.push({ key: BigInt(`0x${key}`).toString(10), form: 'decimal' })
  return forms
}

type Key = { n: number; connection: string; key: string; form: IdForm }
type Row = MatchedPart & { form: IdForm; contact: string; number: string }

/** Returns the parts for the keys, with their recipients; the newest first if a carrier reused an id. */
const partsOf = (tx: Tx, keys: readonly Key[]) => tx.many<Row>`
  select g.n, g.form, p.account_id, p.message_id, p.part, p.parts, m.contact, m.number
  from unnest(${keys.map((k) => k.n)}::integer[], ${keys.map((k) => k.connection)}::uuid[],
    ${keys.map((k) => k.key)}::text[], ${keys.map((k) => k.form)}::text[]) as g (n, connection_id, key, form)
  cross join lateral (
    select account_id, message_id, part, parts, sent_at from sms_parts
    where connection_id = g.connection_id and ltrim(lower(carrier_id), '0') = g.key
    order by sent_at desc limit ${maxPartsPerCarrierId}
  ) p
  cross join lateral (
    select contact, number from sms_messages
    where account_id = p.account_id and id >= p.message_id and id <= p.message_id order by id limit 1) m
  order by g.form <> 'text', p.sent_at desc`

/** Returns the digits without +, 00 or a national 0, with which the E.164 form ends; null if there are too few. */
const numberSuffix = (number: string | undefined): string | null => {
  const digits = number && /^\+?\d+$/.test(number) ? number.replace(/^\+?0*/, '') : ''
  return digits.length >= minHandsetDigits ? digits : null
}

/**
 * Returns the possible suffixes of the handset's number: from the source of the receipt, or from its destination, as
 * some carriers repeat the addresses of the submit. Both are null if the receipt names no handset; then only its id
 * counts.
 */
export const handsetSuffixes = ({ handset, number }: CarrierReceipt): readonly [string | null, string | null] => {
  const source = numberSuffix(handset)
  return source === null ? [null, null] : [source, numberSuffix(number)]
}

/** Returns whether one of the known forms of a number ends with one of the suffixes: networks report former forms. */
const matchesSuffix = (contact: string, ends: readonly (string | null)[]): boolean => {
  const forms = numberForms(contact)
  return ends.some((end) => end !== null && (contact.endsWith(end) || forms.some((form) => form.endsWith(end))))
}

/** Returns the ids that a submit response may have used for each receipt. */
const keysOf = (receipts: readonly NumberedReceipt[]): Key[] =>
  receipts.flatMap(({ n, connection, carrierId }) => idForms(carrierId).map((form) => ({ n, connection, ...form })))

/** Returns whether an address is that number: a form of it in E.164, else digits with which a form ends. */
const isNumber = (number: string, address: string | undefined): boolean =>
  address?.startsWith('+')
    ? canonicalNumber(address) === canonicalNumber(number)
    : matchesSuffix(number, [numberSuffix(address)])

/**
 * Finds the parts of receipts that a handset may have written: it knows or guesses ids, but cannot send from the number
 * of another handset. A part therefore matches if it went to the source of the receipt, or if the receipt repeats both
 * numbers of the submit.
 */
export const findPartsOfHandsets = async (tx: Tx, receipts: readonly CarrierReceipt[]): Promise<MatchedPart[]> => {
  const numbered = receipts.map((receipt, n) => ({ ...receipt, n }))
  const rows = await partsOf(tx, keysOf(numbered))
  return numbered.flatMap(({ n, handset, number }) => {
    const row = rows.find(
      (one) =>
        one.n === n &&
        (isNumber(one.contact, handset) || (isNumber(one.contact, number) && isNumber(one.number, handset))),
    )
    return row ? [row] : []
  })
}

/** Makes a correlator that learns the id form of each connection and tries that form first. */
export const makeReceiptCorrelator = (): ReceiptCorrelator => {
  const learned = new Map<string, IdForm>()

  const usualOf = ({ connection, carrierId }: CarrierReceipt) => {
    const usual = learned.get(connection)
    return usual && idForms(carrierId).find(({ form }) => form === usual)
  }

  /** Returns, for each receipt, the first part whose recipient matches, or that `isEnough` accepts without a
   *  handset. */
  const fitting = (
    rows: readonly Row[],
    receipts: readonly NumberedReceipt[],
    isEnough: (row: Row) => boolean,
  ): Row[] => {
    const byReceipt = Map.groupBy(rows, ({ n }) => n)
    return receipts.flatMap((receipt) => {
      const ends = handsetSuffixes(receipt)
      const hasHandset = ends[0] !== null
      const own = byReceipt.get(receipt.n) ?? []
      const row = own.find((one) => (hasHandset ? matchesSuffix(one.contact, ends) : isEnough(one)))
      return row ? [row] : []
    })
  }

  /** Finds parts by the learned form of the connection. */
  const findUsual = async (tx: Tx, receipts: readonly NumberedReceipt[]): Promise<Row[]> => {
    const keys = receipts.flatMap((receipt) => {
      const usual = usualOf(receipt)
      return usual ? [{ n: receipt.n, connection: receipt.connection, ...usual }] : []
    })
    return keys.length > 0 ? fitting(await partsOf(tx, keys), receipts, () => true) : []
  }

  /**
   * Finds parts by every form, for the handset that the receipt names. Another form of a number may be the id of
   * another message, perhaps of another account. Without a handset, only an id in its original form matches.
   */
  const findAny = async (tx: Tx, receipts: readonly NumberedReceipt[]): Promise<Row[]> => {
    const rows = await partsOf(tx, keysOf(receipts))
    const found = fitting(rows, receipts, ({ form }) => form === 'text')
    for (const { n, form } of found) {
      const receipt = receipts.find((one) => one.n === n)
      if (!receipt) continue
      const ends = handsetSuffixes(receipt)
      const forms = new Set(
        rows.filter((row) => row.n === n && matchesSuffix(row.contact, ends)).map((row) => row.form),
      )
      // An ambiguous match teaches no form.
      if (forms.size === 1) learned.set(receipt.connection, form)
    }
    return found
  }

  return {
    keyOf: (receipt) => usualOf(receipt)?.key ?? null,
    find: async (tx, receipts) => {
      if (receipts.length === 0) return []
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

const hasToken = (receipt: NumberedReceipt): receipt is NumberedReceipt & { ours: TokenPart } =>
  receipt.ours !== undefined

/** Counts parts of unknown fate as accepted, under the ids of their receipts. @returns the keys of those that it changed */
const confirmParts = async (
  tx: Tx,
  parts: readonly (MatchedPart & { carrierId: string })[],
): Promise<ReadonlySet<string>> => {
  if (parts.length === 0) return new Set()
  const rows = await tx.many<{ message_id: string; part: number }>`
    update sms_parts p set carrier_id = f.carrier_id, status = 'sent', updated_at = (select app_now())
    from (
      select g.carrier_id, s.place
      from unnest(${parts.map((p) => p.account_id)}::uuid[], ${parts.map((p) => p.message_id)}::uuid[],
        ${parts.map((p) => p.part)}::smallint[], ${parts.map((p) => p.carrierId)}::text[])
        as g (account_id, message_id, part, carrier_id)
      cross join lateral (
        select ctid as place from sms_parts
        where account_id = g.account_id and message_id = g.message_id and part >= g.part and part <= g.part
        order by part limit 1) s
    ) f
    where p.ctid = f.place and p.status = 'doubtful'
    returning p.message_id, p.part`
  return new Set(rows.map(partKey))
}

const partKey = ({ message_id, part }: Pick<MatchedPart, 'message_id' | 'part'>): string => `${message_id} ${part}`

/**
 * Finds the parts that the tokens of receipts name. A part whose submit got no response counts as accepted from now on,
 * under the id of the receipt. One that is being submitted is not found: its receipt waits for the response.
 * The messages must be locked.
 * @returns the parts, and whether the receipt was the first to confirm them
 */
export const findOwnParts = async (
  tx: Tx,
  receipts: readonly NumberedReceipt[],
): Promise<(MatchedPart & { isAdopted: boolean })[]> => {
  const own = receipts.filter(hasToken)
  if (own.length === 0) return []
  const rows = await tx.many<MatchedPart & { status: string }>`
    select g.n, p.account_id, p.message_id, p.part, p.parts, p.status
    from unnest(${own.map(({ n }) => n)}::integer[], ${own.map(({ connection }) => connection)}::uuid[],
      ${own.map(({ ours }) => ours.account)}::uuid[], ${own.map(({ ours }) => ours.message)}::uuid[],
      ${own.map(({ ours }) => ours.part)}::smallint[]) as g (n, connection_id, account_id, message_id, part)
    cross join lateral (
      select account_id, message_id, part, parts, status, connection_id from sms_parts
      where account_id = g.account_id and message_id = g.message_id and part >= g.part and part <= g.part
      order by part limit 1) p
    where p.connection_id = g.connection_id and p.status <> 'sending'`
  const ids = new Map(own.map(({ n, carrierId }) => [n, carrierId]))
  const doubtful = rows.filter(({ status }) => status === 'doubtful')
  const firsts = new Map(doubtful.map((row) => [partKey(row), { ...row, carrierId: ids.get(row.n) ?? '' }]))
  const confirmed = await confirmParts(tx, [...firsts.values()])
  rows.sort((a, b) => a.n - b.n)
  return rows.flatMap(({ status, ...row }) => {
    const isAdopted = confirmed.has(partKey(row))
    return status === 'doubtful' && !isAdopted ? [] : [{ ...row, isAdopted }]
  })
}

/**
 * Matches receipts of unknown id to parts submitted without a response, on routes that do not resubmit. The receipt
 * must be between the same two numbers over the same connection. The part gets its id and counts as accepted.
 * @param seconds age limit of the submit: no receipt for an older part is under way
 */
export const adoptDoubtfulParts = async (
  tx: Tx,
  receipts: readonly NumberedReceipt[],
  seconds: number,
): Promise<MatchedPart[]> => {
  const found: MatchedPart[] = []
  for (const { n, connection, carrierId, handset, number } of receipts) {
    if (!handset || !number) continue
    const row = await tx.maybe<Omit<MatchedPart, 'n'>>`
      update sms_parts p set carrier_id = ${carrierId}, status = 'sent', updated_at = (select app_now())
      from (
        select d.account_id, d.message_id, d.part from sms_parts d
        cross join lateral (
          select number, contact from sms_messages where account_id = d.account_id and id = d.message_id offset 0) m
        where d.connection_id = ${connection} and ltrim(lower(d.carrier_id), '0') is null and d.status = 'doubtful'
          and d.sent_at > app_now() - make_interval(secs => ${seconds})
          and m.number = any (${[number, ...numberForms(number)]}::text[])
          and m.contact = any (${[handset, ...numberForms(handset)]}::text[])
        order by d.sent_at, d.part limit 1
      ) f
      where (p.account_id, p.message_id, p.part) >= (f.account_id, f.message_id, f.part)
        and (p.account_id, p.message_id, p.part) <= (f.account_id, f.message_id, f.part)
        -- Another receipt may have taken the part while this statement waited for its row.
        and p.status = 'doubtful'
      returning p.account_id, p.message_id, p.part, p.parts`
    if (row) found.push({ n, ...row })
  }
  return found
}
