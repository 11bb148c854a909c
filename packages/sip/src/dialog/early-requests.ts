import type { SipRequest } from '../message.ts'
import type { ResponseOptions } from '../response.ts'
import type { ServerTransaction } from '../transaction/server-transaction.ts'
import type { Dialog } from './dialog.ts'
import type { DialogContext } from './dialog-context.ts'

/** Requests of the peer before the final response to the INVITE; the same as those of a session. */
export type EarlyEvents = {
  /** An UPDATE or PRACK with an offer, once the first offer is answered. */
  offered(request: SipRequest): ResponseOptions | Promise<ResponseOptions>
  info(request: SipRequest): ResponseOptions | Promise<ResponseOptions>
}

type Deps = {
  readonly context: DialogContext
  readonly dialog: Dialog
  readonly events: EarlyEvents
  /** Our role in the INVITE. */
  readonly side: Dialog['side']
}

/**
 * Answers requests within an early dialog (RFC 3261, 14.2; RFC 3262; RFC 3311). Offers are taken once the offer of the
 * INVITE has its answer, in a reliable provisional response.
 */
export class EarlyRequests {
  private readonly deps: Deps
  /** The offer of the INVITE has its answer. */
  private isAnswered = false
  private isAnswering = false

  constructor(deps: Deps) {
    this.deps = deps
  }

  /** Notes the answer to the offer of the INVITE. */
  answered(): void {
    this.isAnswered = true
  }

  handle(transaction: ServerTransaction): void {
    this.responseTo(transaction.request).then(
      (answer) => this.reply(transaction, answer),
      (error: unknown) => {
        this.deps.context.onError(error)
        transaction.reply({ status: 500 })
      },
    )
  }

  private reply(transaction: ServerTransaction, answer: ResponseOptions): void {
    const { request, flow } = transaction
    const { context, dialog } = this.deps
    if (request.method !== 'UPDATE' || answer.status >= 300) {
      transaction.reply(answer)
      return
    }
    dialog.refresh(request)
    const headers = [['Contact', context.contact(flow)] as const, ['Allow', context.allow] as const]
    transaction.reply({ ...answer, headers: [...headers, ...(answer.headers ?? [])] })
  }

  private async responseTo(request: SipRequest): Promise<ResponseOptions> {
    const { context, events, side } = this.deps
    switch (request.method) {
      case 'UPDATE':
      case 'PRACK':
        return request.body.length === 0 ? { status: 200 } : this.responseToOffer(request)
      case 'INVITE':
        // Each side may have one INVITE under way.
        return side === 'caller' ? { status: 491 } : this.retryLater()
      case 'INFO':
        return events.info(request)
      case 'OPTIONS':
        return { status: 200, headers: [['Allow', context.allow]] }
      default:
        return { status: 405, headers: [['Allow', context.allow]] }
    }
  }

  /** RFC 3311, 5.2: one offer at a time. */
  private async responseToOffer(request: SipRequest): Promise<ResponseOptions> {
    if (!this.isAnswered) return this.deps.side === 'caller' ? { status: 491 } : this.retryLater()
    if (this.isAnswering) return this.retryLater()
    this.isAnswering = true
    try {
      return await this.deps.events.offered(request)
    } finally {
      this.isAnswering = false
    }
  }

  private retryLater(): ResponseOptions {
    return { status: 500, headers: [['Retry-After', String(Math.floor(this.deps.context.random() * 10))]] }
  }
}
