import { e164, nationalNumber } from '@trunkline/phone/phone.ts'
import { type ConcatenationMode, countParts } from '@trunkline/phone/segments.ts'
import { type Address, type DataPdu, noTlvs, type ShortMessagePdu } from '@trunkline/smpp/pdu.ts'
import { dataCodings, encodeText } from '@trunkline/smpp/text-encoding.ts'
import { concat8, concat16, readUserData, sarTlvs, udhIndicator, withShift } from '@trunkline/smpp/user-data.ts'
import type { SmsInbound, SmsPart } from '../../ports/sms.ts'
import { maxRelativeValiditySeconds } from './limits.ts'
import type { SmppSettings } from './smpp-settings.ts'

/** data_coding of Latin-1 (5.2.19). */
const latin1 = 3

/** registered_delivery: a receipt for success and for failure (SMPP 3.4, 5.2.17). */
const receiptRequested = 1

/**
 * Type of number and numbering plan (5.2.5, 5.2.6): international E.164; network specific for a short code;
 * alphanumeric for letters. A carrier may require another type and plan for numbers.
 */
export const addressOf = (number: string, ton?: number, npi?: number): Address => {
  if (number.startsWith('+')) return { ton: ton ?? 1, npi: npi ?? 1, address: number.slice(1) }
  if (!/^\d+$/.test(number)) return { ton: 5, npi: 0, address: number.slice(0, 11) }
  const isLong = number.length > 8
  return { ton: ton ?? (isLong ? 1 : 3), npi: npi ?? (isLong ? 1 : 0), address: number }
}

/** Types of number (5.2.5). */
const numberTypes = { international: 1, national: 2 } as const

/** The international prefix 00 before a number with the length of E.164. */
const internationalPrefix = /^00([1-9]\d{6,14})$/

/**
 * Normalises a number: with `+` when its type says international, or when its length allows nothing else.
 * @param callingCode of the country whose national numbers are also recognised; among ambiguous digits, a valid
 * national number wins
 */
export const normaliseNumber = ({ ton, address }: Address, callingCode?: string): string => {
  if (!/^\d+$/.test(address)) return address
  if (ton === numberTypes.international) return `+${address.replace(/^00/, '')}`
  const [, international] = internationalPrefix.exec(address) ?? []
  if (international) return `+${international}`
  const hasTrunkPrefix = address.startsWith('0')
  const isNational = ton === numberTypes.national || hasTrunkPrefix
  const national = callingCode === undefined ? null : nationalNumber(address, callingCode)
  if (national && (isNational || national.isValid)) return national.number
  if (address.length > 8 && !hasTrunkPrefix && (!national || e164(address))) return `+${address}`
  return national?.number ?? address
}

/** Concatenation mode of a part. Parts segmented for the short header have no room for the longer one, and one of several
 *  parts cannot go as a payload. */
const concatenationModeOf = (
  { parts, header }: Pick<SmsPart, 'parts' | 'header'>,
  { long = 'udh8' }: Partial<SmppSettings>,
): ConcatenationMode => {
  if (long === 'payload') return parts === 1 ? 'payload' : 'udh8'
  return header === 'udh8' ? 'udh8' : long
}

/** How many parts a submit counts for: the carrier splits a text sent as message_payload. */
export const countSubmittedParts = (part: SmsPart, settings: SmppSettings): number =>
  concatenationModeOf(part, settings) === 'payload' ? countParts(part.text) : 1

const twoDigits = (value: number): string => String(Math.floor(value)).padStart(2, '0')

/**
 * validity_period in its relative form, which needs no synchronised clocks (7.1.1.2); empty for the carrier's default.
 */
export const validityOf = (seconds: number | undefined): string => {
  if (seconds === undefined) return ''
  const left = Math.min(Math.max(1, Math.ceil(seconds)), maxRelativeValiditySeconds)
  return `0000${twoDigits(left / 86_400)}${twoDigits((left / 3_600) % 24)}${twoDigits((left / 60) % 60)}${twoDigits(left % 60)}000R`
}

/** Builds the submit_sm of a part. In the mode `payload` a part is the whole text. */
export const submitOf = (part: SmsPart, sequence: number, settings: Partial<SmppSettings> = {}): ShortMessagePdu => {
  const { source_ton, source_npi, destination_ton, destination_npi, service_type = '', gsm_data_coding } = settings
  const text = encodeText(part.text, part.encoding, part.shift)
  const isLong = part.parts > 1
  const long = concatenationModeOf(part, settings)
  const hasConcatenation = isLong && (long === 'udh8' || long === 'udh16')
  const concatenation = hasConcatenation ? (long === 'udh8' ? concat8(part) : concat16(part)) : null
  const header = part.shift ? withShift(concatenation, part.shift) : concatenation
  return {
    command: 'submit_sm',
    sequence,
    status: 0,
    serviceType: service_type,
    source: addressOf(part.source, source_ton, source_npi),
    destination: addressOf(part.destination, destination_ton, destination_npi),
    esmClass: header ? udhIndicator : 0,
    protocolId: 0,
    priority: 0,
    schedule: '',
    validity: validityOf(part.validSeconds),
    registered: receiptRequested,
    replaceIfPresent: 0,
    dataCoding: part.encoding === 'gsm7' ? (gsm_data_coding ?? dataCodings.gsm7) : dataCodings.ucs2,
    defaultMessageId: 0,
    shortMessage: header ? Buffer.concat([header, text]) : text,
    tlvs: isLong && long === 'sar' ? new Map(sarTlvs(part)) : noTlvs,
  }
}

/** Reads an inbound message. */
export const inboundOf = (
  pdu: ShortMessagePdu | DataPdu,
  { alphabet, calling_code: callingCode }: Partial<SmppSettings> = {},
): SmsInbound => ({
  source: normaliseNumber(pdu.source, callingCode),
  destination: normaliseNumber(pdu.destination, callingCode),
  ...readUserData(alphabet === 'latin1' && pdu.dataCoding === dataCodings.gsm7 ? { ...pdu, dataCoding: latin1 } : pdu),
})
