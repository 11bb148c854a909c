import type { ConcatenationMode } from '@trunkline/phone/segments.ts'
import { type Address, noTlvs, type ShortMessagePdu, tags } from '@trunkline/smpp/pdu.ts'
import { type MessageState, messageStates, receiptClass, receiptText } from '@trunkline/smpp/receipt.ts'
import { dataCodings, encodeText } from '@trunkline/smpp/text-encoding.ts'
import { type Concatenation, concat8, concat16, sarTlvs, udhIndicator } from '@trunkline/smpp/user-data.ts'

/** data_coding of Latin-1 (SMPP 3.4, 5.2.19). */
const latin1 = 3

/** A delivery to the platform. Numbers are E.164 with `+`; times are Unix milliseconds. */
type Common = { readonly id: number; readonly due: number; readonly source: string; readonly destination: string }

export type DeliveryReceipt = Common & {
  readonly kind: 'receipt'
  readonly carrierId: string
  readonly state: MessageState
  readonly submitted: number
  readonly beginning: string
}

export type HandsetSms = Common & {
  readonly kind: 'text'
  readonly text: string
  readonly encoding: 'gsm7' | 'ucs2' | 'latin1'
  readonly concat: Concatenation | null
  readonly long: ConcatenationMode
}

export type Delivery = DeliveryReceipt | HandsetSms

const international = (number: string): Address => ({ ton: 1, npi: 1, address: number.replace('+', '') })

const header = ({ concat, long }: HandsetSms): Buffer | null => {
  if (!concat || long === 'sar' || long === 'payload') return null
  return long === 'udh8' ? concat8(concat) : concat16(concat)
}

const message = (
  { source, destination }: Common,
  sequence: number,
): Omit<ShortMessagePdu, 'shortMessage' | 'tlvs'> => ({
  command: 'deliver_sm',
  sequence,
  status: 0,
  serviceType: '',
  source: international(source),
  destination: international(destination),
  esmClass: 0,
  protocolId: 0,
  priority: 0,
  schedule: '',
  validity: '',
  registered: 0,
  replaceIfPresent: 0,
  dataCoding: dataCodings.gsm7,
  defaultMessageId: 0,
})

/**
 * Builds the deliver_sm of a receipt (SMPP 3.4, appendix B, with the two parameters of 4.6.1) or of a handset's
 * message.
 */
export const deliverSmOf = (delivery: Delivery, sequence: number): ShortMessagePdu => {
  const common = message(delivery, sequence)
  if (delivery.kind === 'text') {
    const { encoding } = delivery
    const text = encoding === 'latin1' ? Buffer.from(delivery.text, 'latin1') : encodeText(delivery.text, encoding)
    const udh = header(delivery)
    return {
      ...common,
      esmClass: udh ? udhIndicator : 0,
      dataCoding: encoding === 'latin1' ? latin1 : dataCodings[encoding],
      shortMessage: udh ? Buffer.concat([udh, text]) : text,
      tlvs: delivery.concat && delivery.long === 'sar' ? new Map(sarTlvs(delivery.concat)) : noTlvs,
    }
  }
  const { carrierId, state, submitted, due, beginning } = delivery
  const error = state === 'DELIVERED' ? null : '001'
  const text = receiptText({ carrierId, state, error }, new Date(submitted), new Date(due), beginning)
  return {
    ...common,
    esmClass: receiptClass,
    shortMessage: encodeText(text, 'gsm7'),
    tlvs: new Map([
      [tags.receipted_message_id, Buffer.from(`${carrierId}\0`, 'latin1')],
      [tags.message_state, Buffer.from([messageStates[state].code])],
    ]),
  }
}
