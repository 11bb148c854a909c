import { randomUUID } from 'node:crypto'
import { maskNumber } from '@trunkline/phone/phone.ts'
import { type DataPdu, noTlvs, type ShortMessagePdu, statuses, tags } from '@trunkline/smpp/pdu.ts'
import { isReceipt, looksLikeReceipt, type ReadReceipt, readReceipt, type StateWords } from '@trunkline/smpp/receipt.ts'
import type { SmppLink } from '@trunkline/smpp/smpp-link.ts'
import { messageOctets } from '@trunkline/smpp/user-data.ts'
import { errorText } from '../../platform/lib/error-text.ts'
import type { SmsEvents, SmsReceipt, UnparsedReceipt } from '../../ports/sms.ts'
import { maxPendingInbound, maxUnparsedOctets, maxUnparsedParameterOctets, maxUnparsedParameters } from './limits.ts'
import { receiptStates, wordsOf } from './receipt-states.ts'
import { inboundOf, normaliseNumber } from './short-message.ts'
import type { SmppSettings } from './smpp-settings.ts'

const hex = (value: number): string => `0x${value.toString(16).padStart(2, '0')}`

const tagNames = new Map<number, string>(Object.entries(tags).map(([name, tag]) => [tag, name]))

/** Returns the labels of a message and its optional parameters but the payload, in hexadecimal. */
const fieldsOf = ({ esmClass, dataCoding, tlvs }: ShortMessagePdu | DataPdu): Record<string, string> => {
  const parameters = [...tlvs].filter(([tag]) => tag !== tags.message_payload).slice(0, maxUnparsedParameters)
  return {
    esm_class: hex(esmClass),
    data_coding: hex(dataCoding),
    ...Object.fromEntries(
      parameters.map(([tag, value]) => [
        tagNames.get(tag) ?? `0x${tag.toString(16).padStart(4, '0')}`,
        value.toString('hex', 0, maxUnparsedParameterOctets),
      ]),
    ),
  }
}

/** Logs an event's name and its details. */
export type SmppLog = (event: string, details: Record<string, string | number>) => void

/** The inbound messages and receipts of a carrier's binds. Each is acknowledged once it is persisted. */
export class InboundHandler {
  private readonly settings: SmppSettings
  private readonly events: SmsEvents
  private readonly log: SmppLog
  private readonly onEmpty: () => void
  private readonly words: StateWords
  private waiting = 0
  /** Identifies the period between broken binds: repeated messages arrive under another id. */
  private linkId = randomUUID()

  /** @param emptied called whenever the last pending message has been answered */
  constructor(settings: SmppSettings, events: SmsEvents, log: SmppLog, emptied: () => void) {
    this.settings = settings
    this.words = wordsOf(settings)
    this.events = events
    this.log = log
    this.onEmpty = emptied
  }

  /** A bind broke: the carrier may repeat what it had sent over it. */
  renewLinkId(): void {
    this.linkId = randomUUID()
  }

  get size(): number {
    return this.waiting
  }

  /** Answers once the PDU is persisted, or with a temporary error (5.1.3), after which the carrier sends it again. */
  async handle(link: SmppLink, pdu: ShortMessagePdu | DataPdu): Promise<void> {
    const command = pdu.command === 'data_sm' ? 'data_sm_resp' : 'deliver_sm_resp'
    if (this.waiting >= maxPendingInbound) {
      link.refuse(pdu.command, pdu.sequence, statuses.ESME_RX_T_APPN)
      return
    }
    this.waiting++
    let status: number = statuses.ESME_ROK
    try {
      await this.persist(pdu)
    } catch (error) {
      status = statuses.ESME_RX_T_APPN
      this.log('persist-failed', { reason: errorText(error) })
    }
    this.waiting--
    link.send({ command, sequence: pdu.sequence, status, messageId: '', tlvs: noTlvs })
    if (this.waiting === 0) this.onEmpty()
  }

  private async persist(pdu: ShortMessagePdu | DataPdu): Promise<void> {
    if (isReceipt(pdu)) return this.persistReceipt(pdu)
    if (this.settings.receipts_without_esm_class && looksLikeReceipt(pdu)) {
      const read = readReceipt(pdu, this.words)
      if (read && (await this.events.receiptIfSent(this.receiptOf(pdu, read)))) {
        if (read.state === null) await this.keepUnparsed(pdu, 'unknown_state')
        return
      }
    }
    await this.events.inbound({ ...inboundOf(pdu, this.settings), link: this.linkId })
  }

  private async persistReceipt(pdu: ShortMessagePdu | DataPdu): Promise<void> {
    const read = readReceipt(pdu, this.words)
    if (read) await this.events.receipt(this.receiptOf(pdu, read))
    if (!read?.state) await this.keepUnparsed(pdu, read ? 'unknown_state' : 'no_id')
  }

  private receiptOf(pdu: ShortMessagePdu | DataPdu, { carrierId, state, error }: ReadReceipt): SmsReceipt {
    return { carrierId, state: receiptStates[state ?? 'UNKNOWN'], error, ...this.numbersOf(pdu) }
  }

  private numbersOf({ source, destination }: ShortMessagePdu | DataPdu): { handset: string; number: string } {
    const { calling_code: code } = this.settings
    return { handset: normaliseNumber(source, code), number: normaliseNumber(destination, code) }
  }

  private async keepUnparsed(pdu: ShortMessagePdu | DataPdu, reason: UnparsedReceipt['reason']): Promise<void> {
    const event = reason === 'no_id' ? 'receipt-without-id' : 'receipt-of-unknown-state'
    this.log(event, { from: maskNumber(pdu.source.address) })
    const octets = messageOctets(pdu).subarray(0, maxUnparsedOctets)
    await this.events.unparsed({ reason, ...this.numbersOf(pdu), octets, fields: fieldsOf(pdu) })
  }
}
