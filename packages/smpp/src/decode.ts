import { type CommandName, commandIds, headerLength, type MalformedPdu, type Pdu, statuses } from './pdu.ts'
import { PduReader } from './pdu-reader.ts'

const isCommand = (name: string): name is CommandName => Object.hasOwn(commandIds, name)

const commands = new Map<number, CommandName>(
  Object.entries(commandIds).flatMap(([name, id]) => (isCommand(name) ? [[id, name] as const] : [])),
)

/** Sizes of C-octet strings, their NUL included (SMPP 3.4, 4.1 to 4.12). */
const sizes = { systemId: 16, password: 9, systemType: 13, range: 41, service: 6, address: 21, time: 17, messageId: 65 }
const alertAddress = 65

const decodeMessage = (
  command: 'submit_sm' | 'deliver_sm',
  sequence: number,
  status: number,
  reader: PduReader,
): Pdu => {
  const serviceType = reader.text(sizes.service)
  const source = reader.address(sizes.address)
  const destination = reader.address(sizes.address)
  const esmClass = reader.byte()
  const protocolId = reader.byte()
  const priority = reader.byte()
  const schedule = reader.text(sizes.time)
  const validity = reader.text(sizes.time)
  const registered = reader.byte()
  const replaceIfPresent = reader.byte()
  const dataCoding = reader.byte()
  const defaultMessageId = reader.byte()
  const shortMessage = reader.octets(reader.byte())
  return {
    command,
    sequence,
    status,
    serviceType,
    source,
    destination,
    esmClass,
    protocolId,
    priority,
    schedule,
    validity,
    registered,
    replaceIfPresent,
    dataCoding,
    defaultMessageId,
    shortMessage,
    tlvs: reader.tlvs(),
  }
}

const decodeReplacement = (sequence: number, status: number, reader: PduReader): Pdu => {
  const messageId = reader.text(sizes.messageId)
  const source = reader.address(sizes.address)
  const schedule = reader.text(sizes.time)
  const validity = reader.text(sizes.time)
  const registered = reader.byte()
  const defaultMessageId = reader.byte()
  const shortMessage = reader.octets(reader.byte())
  return {
    command: 'replace_sm',
    sequence,
    status,
    messageId,
    source,
    schedule,
    validity,
    registered,
    defaultMessageId,
    shortMessage,
  }
}

/**
 * Decodes the body of a command. A response that refuses may lack its body (4.1.2, 4.4.2). Responses are decoded
 * leniently because their status matters: a response that counted as lost would send the message twice.
 */
const decodeBody = (command: CommandName, sequence: number, status: number, reader: PduReader): Pdu => {
  switch (command) {
    case 'submit_sm':
    case 'deliver_sm':
      return decodeMessage(command, sequence, status, reader)
    case 'submit_sm_resp':
    case 'deliver_sm_resp':
    case 'data_sm_resp': {
      const messageId = reader.lenientText()
      return { command, sequence, status, messageId, tlvs: reader.lenientTlvs() }
    }
    case 'generic_nack':
    case 'unbind':
    case 'unbind_resp':
    case 'enquire_link':
    case 'enquire_link_resp':
    case 'cancel_sm_resp':
    case 'replace_sm_resp':
      return { command, sequence, status }
    case 'bind_receiver':
    case 'bind_transmitter':
    case 'bind_transceiver': {
      const systemId = reader.text(sizes.systemId)
      const password = reader.text(sizes.password)
      const systemType = reader.text(sizes.systemType)
      const version = reader.byte()
      return { command, sequence, status, systemId, password, systemType, version, range: reader.address(sizes.range) }
    }
    case 'bind_receiver_resp':
    case 'bind_transmitter_resp':
    case 'bind_transceiver_resp': {
      const systemId = reader.lenientText()
      return { command, sequence, status, systemId, tlvs: reader.lenientTlvs() }
    }
    case 'data_sm': {
      const serviceType = reader.text(sizes.service)
      const source = reader.address(alertAddress)
      const destination = reader.address(alertAddress)
      const esmClass = reader.byte()
      const registered = reader.byte()
      const dataCoding = reader.byte()
      const tlvs = reader.tlvs()
      return { command, sequence, status, serviceType, source, destination, esmClass, registered, dataCoding, tlvs }
    }
    case 'query_sm': {
      const messageId = reader.text(sizes.messageId)
      return { command, sequence, status, messageId, source: reader.address(sizes.address) }
    }
    case 'query_sm_resp': {
      if (reader.left === 0 && status !== 0) {
        return { command, sequence, status, messageId: '', finalDate: '', state: 0, error: 0 }
      }
      const messageId = reader.text(sizes.messageId)
      const finalDate = reader.text(sizes.time)
      const state = reader.byte()
      return { command, sequence, status, messageId, finalDate, state, error: reader.byte() }
    }
    case 'cancel_sm': {
      const serviceType = reader.text(sizes.service)
      const messageId = reader.text(sizes.messageId)
      const source = reader.address(sizes.address)
      return {
        command,
        sequence,
        status,
        serviceType,
        messageId,
        source,
        destination: reader.address(sizes.address),
      }
    }
    case 'replace_sm':
      return decodeReplacement(sequence, status, reader)
    case 'outbind': {
      const systemId = reader.text(sizes.systemId)
      return { command, sequence, status, systemId, password: reader.text(sizes.password) }
    }
    case 'alert_notification': {
      const source = reader.address(alertAddress)
      const esme = reader.address(alertAddress)
      return { command, sequence, status, source, esme, tlvs: reader.tlvs() }
    }
  }
}

/**
 * Decodes one frame, including its header. The frame has at least 16 octets and the length that its header states.
 * Octet fields are views of the frame. Never throws: an invalid body or unknown command yields `MalformedPdu` with the
 * status that answers it.
 */
export const decodePdu = (frame: Buffer): Pdu | MalformedPdu => {
  const command = commands.get(frame.readUInt32BE(4))
  const status = frame.readUInt32BE(8)
  const sequence = frame.readUInt32BE(12)
  if (command === undefined) return { command: null, sequence, fault: statuses.ESME_RINVCMDID, frame }
  const reader = new PduReader(frame, headerLength)
  const pdu = decodeBody(command, sequence, status, reader)
  return reader.fault ? { command, sequence, fault: reader.fault, frame } : pdu
}

export const isMalformed = (pdu: Pdu | MalformedPdu): pdu is MalformedPdu => 'fault' in pdu

/** True for PDUs that answer one of ours. */
export const isResponse = (pdu: Pdu): boolean => commandIds[pdu.command] >= 0x80000000
