import {
  type Address,
  type CommandName,
  commandIds,
  headerLength,
  type Message,
  type Pdu,
  type Replace,
  type Tlvs,
  tags,
} from './pdu.ts'

/** sm_length is one octet whose highest value is 254 (SMPP 3.4, 5.2.21). */
const maxShortMessage = 254

/** One PDU is written here at a time, then copied out: text without an allocation of its own. Grows, never shrinks. */
let scratch = Buffer.allocUnsafeSlow(4_096)
let end = 0

const need = (octets: number): void => {
  if (end + octets <= scratch.length) return
  const larger = Buffer.allocUnsafeSlow(Math.max(scratch.length * 2, end + octets))
  scratch.copy(larger, 0, 0, end)
  scratch = larger
}

const byte = (value: number): void => {
  need(1)
  scratch[end++] = value
}

/** A C-octet string. Written by a loop: for the short strings of a PDU it beats Buffer's own writing three times. */
const text = (value: string): void => {
  need(value.length + 1)
  for (let i = 0; i < value.length; i++) scratch[end++] = value.charCodeAt(i)
  scratch[end++] = 0
}

const address = (value: Address): void => {
  byte(value.ton)
  byte(value.npi)
  text(value.address)
}

const octets = (value: Buffer): void => {
  need(value.length)
  value.copy(scratch, end)
  end += value.length
}

const tlv = (tag: number, value: Buffer): void => {
  need(4)
  scratch.writeUInt16BE(tag, end)
  scratch.writeUInt16BE(value.length, end + 2)
  end += 4
  octets(value)
}

const tlvs = (values: Tlvs): void => {
  if (values.size === 0) return
  for (const [tag, value] of values) tlv(tag, value)
}

const shortMessage = (pdu: Message | Replace): void => {
  const fits = pdu.shortMessage.length <= maxShortMessage
  byte(fits ? pdu.shortMessage.length : 0)
  if (fits) octets(pdu.shortMessage)
  else tlv(tags.message_payload, pdu.shortMessage)
}

const body = (pdu: Pdu): void => {
  switch (pdu.command) {
    case 'submit_sm':
    case 'deliver_sm':
      text(pdu.serviceType)
      address(pdu.source)
      address(pdu.destination)
      byte(pdu.esmClass)
      byte(pdu.protocolId)
      byte(pdu.priority)
      text(pdu.schedule)
      text(pdu.validity)
      byte(pdu.registered)
      byte(pdu.replaceIfPresent)
      byte(pdu.dataCoding)
      byte(pdu.defaultMessageId)
      shortMessage(pdu)
      tlvs(pdu.tlvs)
      break
    case 'submit_sm_resp':
    case 'deliver_sm_resp':
    case 'data_sm_resp':
      text(pdu.messageId)
      tlvs(pdu.tlvs)
      break
    case 'bind_receiver':
    case 'bind_transmitter':
    case 'bind_transceiver':
      text(pdu.systemId)
      text(pdu.password)
      text(pdu.systemType)
      byte(pdu.version)
      address(pdu.range)
      break
    case 'bind_receiver_resp':
    case 'bind_transmitter_resp':
    case 'bind_transceiver_resp':
      text(pdu.systemId)
      tlvs(pdu.tlvs)
      break
    case 'data_sm':
      text(pdu.serviceType)
      address(pdu.source)
      address(pdu.destination)
      byte(pdu.esmClass)
      byte(pdu.registered)
      byte(pdu.dataCoding)
      tlvs(pdu.tlvs)
      break
    case 'query_sm':
      text(pdu.messageId)
      address(pdu.source)
      break
    case 'query_sm_resp':
      text(pdu.messageId)
      text(pdu.finalDate)
      byte(pdu.state)
      byte(pdu.error)
      break
    case 'cancel_sm':
      text(pdu.serviceType)
      text(pdu.messageId)
      address(pdu.source)
      address(pdu.destination)
      break
    case 'replace_sm':
      text(pdu.messageId)
      address(pdu.source)
      text(pdu.schedule)
      text(pdu.validity)
      byte(pdu.registered)
      byte(pdu.defaultMessageId)
      shortMessage(pdu)
      break
    case 'outbind':
      text(pdu.systemId)
      text(pdu.password)
      break
    case 'alert_notification':
      address(pdu.source)
      address(pdu.esme)
      tlvs(pdu.tlvs)
      break
  }
}

/**
 * The octets of a PDU, header included. Fields are written as they are: that texts are Latin-1, hold no NUL and keep to
 * the standard's sizes is the caller's part.
 */
export const encode = (pdu: Pdu): Buffer => {
  end = headerLength
  body(pdu)
  scratch.writeUInt32BE(end, 0)
  scratch.writeUInt32BE(commandIds[pdu.command], 4)
  scratch.writeUInt32BE(pdu.status, 8)
  scratch.writeUInt32BE(pdu.sequence, 12)
  return Buffer.from(scratch.subarray(0, end))
}

/** The header alone that refuses a request: its own answer, or generic_nack for a request that has none. */
export const refusal = (command: CommandName | null, sequence: number, status: number): Buffer => {
  const hasAnswer = command !== null && command !== 'outbind' && command !== 'alert_notification'
  const header = Buffer.allocUnsafe(headerLength)
  header.writeUInt32BE(headerLength, 0)
  header.writeUInt32BE(hasAnswer ? (commandIds[command] | 0x80000000) >>> 0 : commandIds.generic_nack, 4)
  header.writeUInt32BE(status, 8)
  header.writeUInt32BE(sequence, 12)
  return header
}
