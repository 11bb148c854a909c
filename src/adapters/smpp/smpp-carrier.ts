import { headerOf, type Pdu, statuses, statusName } from '@trunkline/smpp/pdu.ts'
import { storedId } from '@trunkline/smpp/receipt.ts'
import type { LostRequest, SmppLink } from '@trunkline/smpp/smpp-link.ts'
import { Pacer } from '../../platform/lib/pacer.ts'
import { SenderLimiter } from '../../platform/lib/sender-limiter.ts'
import type {
  CarrierState,
  QueriedPart,
  QueryResult,
  SmsCarrier,
  SmsEvents,
  SmsPart,
  SubmitResult,
  UnsentReason,
} from '../../ports/sms.ts'
import { BindPool } from './bind-pool.ts'
import { InboundHandler, type SmppLog } from './inbound-handler.ts'
import { drainTimeoutMs, submitRetrySeconds } from './limits.ts'
import { queriedState, wordsOf } from './receipt-states.ts'
import { addressOf, countSubmittedParts, submitOf } from './short-message.ts'
import type { SmppSession } from './smpp-session.ts'
import type { SmppSettings } from './smpp-settings.ts'

/** Refusals after which the same submit may succeed later; those of congestion also slow the pace. */
const congestionStatuses: ReadonlySet<number> = new Set([statuses.ESME_RTHROTTLED, statuses.ESME_RMSGQFUL])

/** Statuses after which the same query may be answered later. */
const busyStatuses: ReadonlySet<number> = new Set([...congestionStatuses, statuses.ESME_RSYSERR])

/** Parts in flight to one destination stay on one bind, so that they cannot overtake each other. */
type DestinationLoad = { readonly session: SmppSession; parts: number }

const retrySeconds = (ms: number): number => (ms > 0 ? ms / 1_000 : submitRetrySeconds)

/** Nothing was sent. */
const unsent = (reason: UnsentReason, ms: number): SubmitResult => ({
  outcome: 'retry',
  wasSent: false,
  reason,
  seconds: retrySeconds(ms),
})

/** The carrier answered that it is busy. */
const busy = (reason: string, ms: number): SubmitResult => ({
  outcome: 'retry',
  wasSent: true,
  reason,
  seconds: retrySeconds(ms),
})

const unanswered = (detail: string): SubmitResult => ({ outcome: 'unknown', reason: 'unanswered', detail })

type SmppOptions = {
  /** Logs the header of every PDU. */
  readonly traces?: boolean
  /** See `SmsDeps`. */
  readonly mayCountFormerLinks?: () => boolean
}

/** A connection to a carrier: its binds, its pace and its inbound traffic. */
class SmppCarrier implements SmsCarrier {
  readonly query?: (part: QueriedPart) => Promise<QueryResult>
  private readonly settings: SmppSettings
  private readonly events: SmsEvents
  private readonly log: SmppLog
  private readonly pacer: Pacer
  private readonly senderLimits: SenderLimiter
  private readonly inboundHandler: InboundHandler
  private readonly binds: BindPool
  /** More than one bind can send. */
  private readonly hasSeveralSenders: boolean
  private readonly destinations = new Map<string, DestinationLoad>()
  private since = Date.now()
  private wasBound = false
  private inFlight = 0
  /** A caller learned that there is no capacity. */
  private isFull = false
  private isNotifying = false
  private refillTimer: NodeJS.Timeout | null = null
  private closing: Promise<void> | null = null
  private onDrained: (() => void) | null = null

  constructor(settings: SmppSettings, events: SmsEvents, log: SmppLog, options: SmppOptions) {
    this.settings = settings
    this.events = events
    this.log = log
    this.inboundHandler = new InboundHandler(settings, events, log, () => this.onDrained?.())
    this.senderLimits = new SenderLimiter(settings.tps_per_sender)
    if (settings.query_sm !== false && settings.bind !== 'receiver') this.query = (part) => this.ask(part)
    const { host, port } = settings
    this.binds = new BindPool(settings, {
      request: (link, pdu) => this.request(link, pdu),
      malformed: ({ fault, frame }) =>
        // The header alone (SMPP 3.4, 3.2): the rest may contain message text.
        log('malformed', {
          host,
          port,
          fault: statusName(fault),
          header: frame.toString('hex', 0, 16),
          bytes: frame.length,
        }),
      mayCountFormerLinks: options.mayCountFormerLinks ?? (() => false),
      ...(options.traces && {
        trace: (bind, direction, frame) => log('pdu', { bind, direction, ...headerOf(frame) }),
      }),
      changed: () => this.changed(),
      down: ({ name: bind, lastError }, lasted) => {
        if (lasted > 0) this.inboundHandler.renewLinkId()
        if (!this.closing) log('down', { host, port, bind, reason: lastError ?? '' })
      },
    })
    const sending = this.binds.sessions.filter(({ bind }) => bind !== 'receiver').length
    this.hasSeveralSenders = sending > 1
    this.pacer = new Pacer(settings.tps, (settings.window ?? 10) * sending, performance.now())
    this.binds.start()
  }

  state(): CarrierState {
    const links = this.binds.sessions.map(({ state }) => state)
    const main = links.filter(({ name }) => name !== 'receiver' || this.settings.bind === 'receiver')
    const first = main[0]
    const state = (['up', 'connecting', 'down'] as const).find((one) => main.some((link) => link.state === one))
    const errors = links.filter(({ lastError }) => lastError !== null).sort((a, b) => b.since - a.since)
    return {
      state: state ?? first?.state ?? 'down',
      since: this.since,
      lastError: errors[0]?.lastError ?? null,
      fatal: main.some(({ fatal }) => fatal) && state !== 'up',
      inFlight: this.inFlight,
      window: Math.floor(this.pacer.window(performance.now())),
      submitted: links.reduce((sum, { submitted }) => sum + submitted, 0),
      links,
    }
  }

  isUp(): boolean {
    const { bind: wanted } = this.settings
    return this.binds.sessions.some(({ bind, isBound }) => isBound && (bind !== 'receiver' || wanted === 'receiver'))
  }

  freeWindow(): number {
    if (this.closing) return 0
    const now = performance.now()
    let windows = 0
    for (const session of this.binds.sessions) windows += session.freeWindow
    const room = Math.max(0, Math.min(windows, this.pacer.window(now) - this.inFlight, this.pacer.available(now)))
    if (room === 0 && this.binds.anyBound) this.awaitCapacity(now)
    return room
  }

  async submit(part: SmsPart): Promise<SubmitResult> {
    const refusal = this.refusalOf(part)
    if (refusal) return refusal
    const session = this.chooseSession(part.destination)
    if (!session) return unsent('no_capacity', 0)
    const now = performance.now()
    const parts = countSubmittedParts(part, this.settings)
    this.pacer.consume(now, parts)
    this.senderLimits.consume(part.source, parts, now)
    this.startPart(part.destination, session)
    this.isFull ||= this.freeWindow() === 0
    const answer = await session.submit((sequence) => submitOf(part, sequence, this.settings))
    this.finishPart(part.destination)
    if (this.inFlight === 0) this.onDrained?.()
    if (this.isFull) this.notifySoon()
    return this.resultOf(answer)
  }

  /** Sends a query_sm (4.8), which counts as a part. */
  private async ask({ carrierId, source }: QueriedPart): Promise<QueryResult> {
    // A query waits for nothing: submits go first.
    const session = this.closing || this.freeWindow() === 0 ? null : this.chooseSession('')
    if (!session) return { outcome: 'retry' }
    const { source_ton, source_npi } = this.settings
    this.pacer.consume(performance.now())
    this.inFlight++
    this.isFull ||= this.freeWindow() === 0
    const answer = await session.query((sequence) => ({
      command: 'query_sm',
      sequence,
      status: 0,
      messageId: carrierId,
      source: addressOf(source, source_ton, source_npi),
    }))
    this.inFlight--
    if (this.inFlight === 0) this.onDrained?.()
    if (this.isFull) this.notifySoon()
    return this.queryResultOf(answer)
  }

  close(): Promise<void> {
    this.closing ??= this.shutDown()
    return this.closing
  }

  private async shutDown(): Promise<void> {
    this.binds.stop()
    if (this.refillTimer) clearTimeout(this.refillTimer)
    if (this.binds.anyBound) await this.drain()
    await this.binds.close()
  }

  /** Waits for requests in flight in both directions. */
  private async drain(): Promise<void> {
    if (this.inFlight === 0 && this.inboundHandler.size === 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, drainTimeoutMs)
      this.onDrained = () => {
        if (this.inFlight > 0 || this.inboundHandler.size > 0) return
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Why the part cannot be sent now, or null. */
  private refusalOf({ source }: SmsPart): SubmitResult | null {
    if (this.closing || !this.binds.anyBound) return unsent('link_down', 0)
    const now = performance.now()
    if (this.freeWindow() === 0) return unsent('no_capacity', this.pacer.waitMs(now))
    const wait = this.senderLimits.waitMs(source, now)
    return wait > 0 ? unsent('sender_rate_limit', wait) : null
  }

  /** The bind of the destination's parts in flight, else the one with the most free window. */
  private chooseSession(destination: string): SmppSession | null {
    const held = this.destinations.get(destination)?.session
    if (held?.isBound) return held.freeWindow > 0 ? held : null
    let best: SmppSession | null = null
    for (const session of this.binds.sessions) if (session.freeWindow > (best?.freeWindow ?? 0)) best = session
    return best
  }

  private startPart(destination: string, session: SmppSession): void {
    this.inFlight++
    if (!this.hasSeveralSenders) return
    const held = this.destinations.get(destination)
    this.destinations.set(destination, { session, parts: (held?.parts ?? 0) + 1 })
  }

  private finishPart(destination: string): void {
    this.inFlight--
    if (!this.hasSeveralSenders) return
    const held = this.destinations.get(destination)
    if (held && --held.parts === 0) this.destinations.delete(destination)
  }

  private resultOf(answer: Pdu | LostRequest): SubmitResult {
    if (answer.command === 'lost') {
      return answer.written ? unanswered(answer.reason) : unsent('link_down', 0)
    }
    const { command, status } = answer
    if (command === 'submit_sm_resp' && status === 0)
      return { outcome: 'accepted', carrierId: storedId(answer.messageId) }
    if (command !== 'submit_sm_resp' && command !== 'generic_nack') return unanswered(`the answer was a ${command}`)
    const reason = statusName(status)
    if (congestionStatuses.has(status)) {
      const now = performance.now()
      this.pacer.slowDown(now)
      return busy(reason, this.pacer.waitMs(now))
    }
    if (status === statuses.ESME_RSYSERR) return busy(reason, 0)
    return { outcome: 'refused', reason }
  }

  private queryResultOf(answer: Pdu | LostRequest): QueryResult {
    if (answer.command === 'lost')
      return answer.written ? { outcome: 'refused', reason: 'unanswered', isUnsupported: false } : { outcome: 'retry' }
    if (answer.command === 'query_sm_resp' && answer.status === 0) {
      const state = queriedState(answer.state, wordsOf(this.settings))
      return { outcome: 'state', state, error: answer.error === 0 ? null : String(answer.error) }
    }
    if (busyStatuses.has(answer.status)) {
      if (congestionStatuses.has(answer.status)) this.pacer.slowDown(performance.now())
      return { outcome: 'retry' }
    }
    const isUnsupported = answer.status === statuses.ESME_RINVCMDID
    return { outcome: 'refused', reason: statusName(answer.status), isUnsupported }
  }

  private request(link: SmppLink, pdu: Pdu): void {
    if (pdu.command === 'deliver_sm' || pdu.command === 'data_sm') void this.inboundHandler.handle(link, pdu)
    else if (pdu.command !== 'alert_notification' && pdu.command !== 'outbind') {
      link.refuse(pdu.command, pdu.sequence, statuses.ESME_RINVBNDSTS)
    }
  }

  private changed(): void {
    const { host, port } = this.settings
    const isBound = this.isUp()
    if (isBound !== this.wasBound) {
      this.since = Date.now()
      if (isBound) this.log('bound', { host, port })
      this.wasBound = isBound
    }
    this.events.changed()
  }

  private awaitCapacity(now: number): void {
    this.isFull = true
    const wait = this.pacer.waitMs(now)
    if (wait === 0 || this.refillTimer) return
    this.refillTimer = setTimeout(() => {
      this.refillTimer = null
      this.notifyCapacity()
    }, wait)
  }

  /** Notifies once for all responses of this turn, so that one round of submits fills the window. */
  private notifySoon(): void {
    if (this.isNotifying) return
    this.isNotifying = true
    setImmediate(() => this.notifyCapacity())
  }

  private notifyCapacity(): void {
    this.isNotifying = false
    if (!this.isFull || this.freeWindow() === 0) return
    this.isFull = false
    this.events.changed()
  }
}

/**
 * Connects to a carrier over SMPP 3.4 and stays connected until closed. Nothing here throws or rejects. `state()` shows
 * a bind that failed; the `SubmitResult` shows a part that was not sent.
 */
export const connectSmpp = (
  settings: SmppSettings,
  events: SmsEvents,
  log: SmppLog = () => {},
  options: SmppOptions = {},
): SmsCarrier => new SmppCarrier(settings, events, log, options)
