import { e164, nationalNumber } from '../../lib/phone.ts'
import { countParts, type LongMode } from '../../lib/segments.ts'
import type { SmsInbound, SmsPart } from '../port.ts'
import { type Address, type Data, type Message, noTlvs } from './codec/pdu.ts'
import { codings, encodeText } from './codec/text.ts'
import { concat8, concat16, readUserData, sarTlvs, udhIndicator } from './codec/user-data.ts'
import type { SmppSettings } from './settings.ts'

/** data_coding of Latin-1 (5.2.19). */
const latin1 = 3

/** registered_delivery: a receipt for success and for failure (SMPP 3.4, 5.2.17). */
const receiptWanted = 1

/** Type of number and numbering plan (5.2.5, 5.2.6): international E.164; a short code is network specific; letters are
 *  alphanumeric. A carrier may want another type and plan for numbers. */
export const addressOf = (number: string, ton?: number, npi?: number): Address => {
  if (number.startsWith('+')) return { ton: ton ?? 1, npi: npi ?? 1, address: number.slice(1) }
  if (!/^\d+$/.test(number)) return { ton: 5, npi: 0, address: number.slice(0, 11) }
  const isLong = number.length > 8
  return { ton: ton ?? (isLong ? 1 : 3), npi: npi ?? (isLong ? 1 : 0), address: number }
}

/** Types of number (5.2.5). */
const types = { international: 1, national: 2 } as const

/** A 00 before a number that has the length of E.164: the international prefix. */
const prefixed = /^00([1-9]\d{6,14})$/

/**
 * The number as we write it: with `+` when it is international by its type, or cannot be anything else by its length.
 * @param callingCode of the country whose national numbers are read too; where digits may be either, a number that is in
 *   use there wins
 */
export const numberOf = ({ ton, address }: Address, callingCode?: string): string => {
  if (!/^\d+$/.test(address)) return address
  if (ton === types.international) return `+${address.replace(/^00/, '')}`
  const [, international] = prefixed.exec(address) ?? []
  if (international) return `+${international}`
  const hasTrunkPrefix = address.startsWith('0')
  const isNational = ton === types.national || hasTrunkPrefix
  const national = callingCode === undefined ? null : nationalNumber(address, callingCode)
  if (national && (isNational || national.isValid)) return national.number
  if (address.length > 8 && !hasTrunkPrefix && (!national || e164(address))) return `+${address}`
  return national?.number ?? address
}

/** A message keeps to what it was planned by, whatever the connection says since. */
const tieOf = (part: SmsPart, { long = 'udh8' }: Partial<SmppSettings>): LongMode => part.long ?? long

/** How many parts a submit counts for: the carrier splits one whose text goes as message_payload. */
export const partsOf = (part: SmsPart, settings: SmppSettings): number =>
  tieOf(part, settings) === 'payload' ? countParts(part.text) : 1

const two = (value: number): string => String(Math.floor(value)).padStart(2, '0')

/** The longest validity that the relative form can say in days alone, seconds. */
const longestValidity = 31 * 86_400

/** validity_period in its relative form, which asks nothing of two clocks (7.1.1.2); empty for the carrier's own choice. */
export const validityOf = (seconds: number | undefined): string => {
  if (seconds === undefined) return ''
  const left = Math.min(Math.max(1, Math.ceil(seconds)), longestValidity)
  return `0000${two(left / 86_400)}${two((left / 3_600) % 24)}${two((left / 60) % 60)}${two(left % 60)}000R`
}

/** The submit_sm of a part. In the mode `payload` a part is the whole text. */
export const submitOf = (part: SmsPart, sequence: number, settings: Partial<SmppSettings> = {}): Message => {
  const { source_ton, source_npi, destination_ton, destination_npi, service_type = '', gsm_data_coding } = settings
  const text = encodeText(part.text, part.encoding)
  const isLong = part.parts > 1
  const long = tieOf(part, settings)
  const hasHeader = isLong && (long === 'udh8' || long === 'udh16')
  const header = hasHeader ? (long === 'udh8' ? concat8(part) : concat16(part)) : null
  return {
    command: 'submit_sm',
    sequence,
    status: 0,
    serviceType: service_type,
    source: addressOf(part.source, source_ton, source_npi),
    destination: addressOf(part.destination, destination_ton, destination_npi),
    esmClass: hasHeader ? udhIndicator : 0,
    protocolId: 0,
    priority: 0,
    schedule: '',
    validity: validityOf(part.validSeconds),
    registered: receiptWanted,
    replaceIfPresent: 0,
    dataCoding: part.encoding === 'gsm7' ? (gsm_data_coding ?? codings.gsm7) : codings.ucs2,
    defaultMessageId: 0,
    shortMessage: header ? Buffer.concat([header, text]) : text,
    tlvs: isLong && long === 'sar' ? new Map(sarTlvs(part)) : noTlvs,
  }
}

/** What a handset sent. */
export const inboundOf = (
  pdu: Message | Data,
  { alphabet, calling_code: callingCode }: Partial<SmppSettings> = {},
): SmsInbound => ({
  source: numberOf(pdu.source, callingCode),
  destination: numberOf(pdu.destination, callingCode),
  ...readUserData(alphabet === 'latin1' && pdu.dataCoding === codings.gsm7 ? { ...pdu, dataCoding: latin1 } : pdu),
})
