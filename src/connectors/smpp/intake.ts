import { randomUUID } from 'node:crypto'
import { errorText } from '../../lib/error-text.ts'
import { masked } from '../../lib/phone.ts'
import type { SmsEvents } from '../port.ts'
import type { Link } from './codec/link.ts'
import { type Data, type Message, noTlvs, statuses } from './codec/pdu.ts'
import { isReceipt, readReceipt } from './codec/receipt.ts'
import type { SmppSettings } from './settings.ts'
import { inboundOf, numberOf } from './short-message.ts'

/** What is worth a line in the log: an event's name and its details. */
export type SmppLog = (event: string, details: Record<string, string | number>) => void

/** Inbound messages and receipts that may wait for their commit at a time; more are put off with a temporary error. */
const most = 1_000

/** What a carrier's binds bring: each is answered once it is kept. */
export class Intake {
  private readonly settings: SmppSettings
  private readonly events: SmsEvents
  private readonly log: SmppLog
  private readonly emptied: () => void
  private waiting = 0
  /** Another one after every broken bind: what comes again then comes over another life. */
  private life = randomUUID()

  /** @param emptied called whenever nothing waits any more */
  constructor(settings: SmppSettings, events: SmsEvents, log: SmppLog, emptied: () => void) {
    this.settings = settings
    this.events = events
    this.log = log
    this.emptied = emptied
  }

  /** A bind broke: the carrier may send again what it had sent over it. */
  renew(): void {
    this.life = randomUUID()
  }

  get size(): number {
    return this.waiting
  }

  /** Answers once what came is kept, or that it could not be (5.1.3: a temporary error makes the carrier send again). */
  async take(link: Link, pdu: Message | Data): Promise<void> {
    const command = pdu.command === 'data_sm' ? 'data_sm_resp' : 'deliver_sm_resp'
    if (this.waiting >= most) {
      link.refuse(pdu.command, pdu.sequence, statuses.ESME_RX_T_APPN)
      return
    }
    this.waiting++
    let status: number = statuses.ESME_ROK
    try {
      await this.keep(pdu)
    } catch (error) {
      status = statuses.ESME_RX_T_APPN
      this.log('not-kept', { reason: errorText(error) })
    }
    this.waiting--
    link.send({ command, sequence: pdu.sequence, status, messageId: '', tlvs: noTlvs })
    if (this.waiting === 0) this.emptied()
  }

  private async keep(pdu: Message | Data): Promise<void> {
    const receipt = isReceipt(pdu) ? readReceipt(pdu) : null
    const { calling_code: code } = this.settings
    const [handset, number] = [numberOf(pdu.source, code), numberOf(pdu.destination, code)]
    if (receipt) await this.events.receipt({ ...receipt, handset, number })
    else if (!isReceipt(pdu)) await this.events.inbound({ ...inboundOf(pdu, this.settings), link: this.life })
    else this.log('receipt-without-id', { from: masked(pdu.source.address) })
  }
}
