import type { SmsInbound, SmsPart } from '../port.ts'
import { type Address, type Data, type Message, noTlvs } from './codec/pdu.ts'
import { codings, encodeText } from './codec/text.ts'
import { concat8, concat16, readUserData, sarTlvs, udhIndicator } from './codec/user-data.ts'
import type { SmppSettings } from './settings.ts'

/** registered_delivery: a receipt for success and for failure (SMPP 3.4, 5.2.17). */
const receiptWanted = 1

/** Type of number and numbering plan (5.2.5, 5.2.6): international E.164; a short code is network specific; letters are
 *  alphanumeric. */
export const addressOf = (number: string): Address => {
  if (number.startsWith('+')) return { ton: 1, npi: 1, address: number.slice(1) }
  if (/^\d+$/.test(number)) return { ton: number.length > 8 ? 1 : 3, npi: number.length > 8 ? 1 : 0, address: number }
  return { ton: 5, npi: 0, address: number.slice(0, 11) }
}

/** The number as we write it: with `+` when it is international by its type, or cannot be anything else by its length. */
export const numberOf = ({ ton, address }: Address): string => {
  if (!/^\d+$/.test(address)) return address
  const digits = ton === 1 ? address.replace(/^00/, '') : address
  return ton === 1 || (digits.length > 8 && !digits.startsWith('0')) ? `+${digits}` : digits
}

/** The submit_sm of a part. In the mode `payload` a part is the whole text. */
export const submitOf = (part: SmsPart, sequence: number, setting: SmppSettings['long'] = 'udh8'): Message => {
  const long = part.long ?? setting
  const text = encodeText(part.text, part.encoding)
  const isLong = part.parts > 1
  const hasHeader = isLong && (long === 'udh8' || long === 'udh16')
  const header = hasHeader ? (long === 'udh8' ? concat8(part) : concat16(part)) : null
  return {
    command: 'submit_sm',
    sequence,
    status: 0,
    serviceType: '',
    source: addressOf(part.source),
    destination: addressOf(part.destination),
    esmClass: hasHeader ? udhIndicator : 0,
    protocolId: 0,
    priority: 0,
    schedule: '',
    validity: '',
    registered: receiptWanted,
    replaceIfPresent: 0,
    dataCoding: codings[part.encoding],
    defaultMessageId: 0,
    shortMessage: header ? Buffer.concat([header, text]) : text,
    tlvs: isLong && long === 'sar' ? new Map(sarTlvs(part)) : noTlvs,
  }
}

/** What a handset sent. */
export const inboundOf = (pdu: Message | Data): SmsInbound => ({
  source: numberOf(pdu.source),
  destination: numberOf(pdu.destination),
  ...readUserData(pdu),
})
