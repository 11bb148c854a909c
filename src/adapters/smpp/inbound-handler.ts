import { randomUUID } from 'node:crypto'
import { maskNumber } from '@trunkline/phone/phone.ts'
import { type DataPdu, noTlvs, type ShortMessagePdu, statuses } from '@trunkline/smpp/pdu.ts'
import { isReceipt, type MessageState, readReceipt } from '@trunkline/smpp/receipt.ts'
import type { SmppLink } from '@trunkline/smpp/smpp-link.ts'
import { errorText } from '../../platform/lib/error-text.ts'
import type { ReceiptState, SmsEvents } from '../../ports/sms.ts'
import { maxPendingInbound } from './limits.ts'
import { inboundOf, normaliseNumber } from './short-message.ts'
import type { SmppSettings } from './smpp-settings.ts'

/** State of a part by message_state (5.2.28). */
const receiptStates: Record<MessageState, ReceiptState> = {
  ENROUTE: 'enroute',
  DELIVERED: 'delivered',
  EXPIRED: 'expired',
  DELETED: 'undelivered',
  UNDELIVERABLE: 'undelivered',
  ACCEPTED: 'accepted',
  UNKNOWN: 'unknown',
  REJECTED: 'rejected',
}

/** Logs an event's name and its details. */
export type SmppLog = (event: string, details: Record<string, string | number>) => void

/** The inbound messages and receipts of a carrier's binds. Each is acknowledged once it is persisted. */
export class InboundHandler {
  private readonly settings: SmppSettings
  private readonly events: SmsEvents
  private readonly log: SmppLog
  private readonly onEmpty: () => void
  private waiting = 0
  /** Identifies the period between broken binds: repeated messages arrive under another id. */
  private linkId = randomUUID()

  /** @param emptied called whenever the last pending message has been answered */
  constructor(settings: SmppSettings, events: SmsEvents, log: SmppLog, emptied: () => void) {
    this.settings = settings
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
    const receipt = isReceipt(pdu) ? readReceipt(pdu) : null
    const { calling_code: code } = this.settings
    const [handset, number] = [normaliseNumber(pdu.source, code), normaliseNumber(pdu.destination, code)]
    if (receipt) await this.events.receipt({ ...receipt, state: receiptStates[receipt.state], handset, number })
    else if (!isReceipt(pdu)) await this.events.inbound({ ...inboundOf(pdu, this.settings), link: this.linkId })
    else this.log('receipt-without-id', { from: maskNumber(pdu.source.address) })
  }
}
