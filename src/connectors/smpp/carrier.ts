import type { CarrierState, SmsCarrier, SmsEvents, SmsPart, SubmitResult } from '../port.ts'
import { Binds } from './binds.ts'
import type { Link, Lost } from './codec/link.ts'
import { headerOf, type Pdu, statuses, statusName } from './codec/pdu.ts'
import { keptId } from './codec/receipt.ts'
import { Intake, type SmppLog } from './intake.ts'
import { Pace } from './pace.ts'
import { Senders } from './senders.ts'
import type { Session } from './session.ts'
import type { SmppSettings } from './settings.ts'
import { partsOf, submitOf } from './short-message.ts'

/** How long a closing connection waits for what is in flight. */
const drainMs = 4_000

/** Refusals after which the same submit may succeed later; those of congestion slow us down too. */
const congestionStatuses: ReadonlySet<number> = new Set([statuses.ESME_RTHROTTLED, statuses.ESME_RMSGQFUL])

/** Seconds after which a submit that found a system error, or no link, is worth another try. */
const retrySeconds = 0.5

/** Parts of one destination under way keep to one bind, so that they cannot overtake each other. */
type UnderWay = { readonly session: Session; parts: number }

/** A connection to a carrier: its binds, its pace, and what comes back over them. */
class Carrier implements SmsCarrier {
  private readonly settings: SmppSettings
  private readonly events: SmsEvents
  private readonly log: SmppLog
  private readonly pace: Pace
  private readonly senders: Senders
  private readonly intake: Intake
  private readonly binds: Binds
  /** More than one bind sends. */
  private readonly spreads: boolean
  private readonly underWay = new Map<string, UnderWay>()
  private since = Date.now()
  private wasBound = false
  private inFlight = 0
  /** Somebody was told that there is no room. */
  private full = false
  private telling = false
  private refill: NodeJS.Timeout | null = null
  private closing: Promise<void> | null = null
  private drained: (() => void) | null = null

  constructor(settings: SmppSettings, events: SmsEvents, log: SmppLog, traces: boolean) {
    this.settings = settings
    this.events = events
    this.log = log
    this.intake = new Intake(settings, events, log, () => this.drained?.())
    this.senders = new Senders(settings.tps_per_sender)
    const { host, port } = settings
    this.binds = new Binds(settings, {
      request: (link, pdu) => this.request(link, pdu),
      malformed: ({ fault, frame }) =>
        // The header alone (SMPP 3.4, 3.2): what follows may be the text of a message.
        log('malformed', {
          host,
          port,
          fault: statusName(fault),
          header: frame.toString('hex', 0, 16),
          bytes: frame.length,
        }),
      ...(traces && {
        trace: (bind, direction, frame) => log('pdu', { bind, direction, ...headerOf(frame) }),
      }),
      changed: () => this.changed(),
      down: ({ bind, lastError }, lasted) => {
        if (lasted > 0) this.intake.renew()
        if (!this.closing) log('down', { host, port, bind, reason: lastError ?? '' })
      },
    })
    const sending = this.binds.sessions.filter(({ bind }) => bind !== 'receiver').length
    this.spreads = sending > 1
    this.pace = new Pace(settings.tps, (settings.window ?? 10) * sending, performance.now())
    this.binds.start()
  }

  state(): CarrierState {
    const binds = this.binds.sessions.map(({ state }) => state)
    const main = binds.filter(({ bind }) => bind !== 'receiver' || this.settings.bind === 'receiver')
    const first = main[0]
    const state = (['bound', 'connecting', 'down'] as const).find((one) => main.some((bind) => bind.state === one))
    const errors = binds.filter(({ lastError }) => lastError !== null).sort((a, b) => b.since - a.since)
    return {
      state: state ?? first?.state ?? 'down',
      since: this.since,
      lastError: errors[0]?.lastError ?? null,
      fatal: main.some(({ fatal }) => fatal) && state !== 'bound',
      inFlight: this.inFlight,
      window: Math.floor(this.pace.window(performance.now())),
      submitted: binds.reduce((sum, { submitted }) => sum + submitted, 0),
      binds,
    }
  }

  room(): number {
    if (this.closing) return 0
    const now = performance.now()
    let windows = 0
    for (const session of this.binds.sessions) windows += session.room
    const room = Math.max(0, Math.min(windows, this.pace.window(now) - this.inFlight, this.pace.available(now)))
    if (room === 0 && this.binds.anyBound) this.awaitRoom(now)
    return room
  }

  async submit(part: SmsPart): Promise<SubmitResult> {
    const early = this.early(part)
    if (early) return early
    const session = this.choose(part.destination)
    if (!session) return this.later('the window is full', 0)
    const now = performance.now()
    const parts = partsOf(part, this.settings)
    this.pace.take(now, parts)
    this.senders.take(part.source, parts, now)
    this.begin(part.destination, session)
    this.full ||= this.room() === 0
    const answer = await session.submit((sequence) => submitOf(part, sequence, this.settings))
    this.finish(part.destination)
    if (this.inFlight === 0) this.drained?.()
    if (this.full) this.tellSoon()
    return this.resultOf(answer)
  }

  close(): Promise<void> {
    this.closing ??= this.leave()
    return this.closing
  }

  private async leave(): Promise<void> {
    this.binds.stop()
    if (this.refill) clearTimeout(this.refill)
    if (this.binds.anyBound) await this.drain()
    await this.binds.leave()
  }

  /** Waits for what is in flight, both ways. */
  private async drain(): Promise<void> {
    if (this.inFlight === 0 && this.intake.size === 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, drainMs)
      this.drained = () => {
        if (this.inFlight > 0 || this.intake.size > 0) return
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /** Why the part cannot go now, or null. */
  private early({ source }: SmsPart): SubmitResult | null {
    if (this.closing || !this.binds.anyBound) return this.later('the link is down', 0)
    const now = performance.now()
    if (this.room() === 0) return this.later('the window is full', this.pace.wait(now))
    const wait = this.senders.wait(source, now)
    return wait > 0 ? this.later('the sender has had its share', wait) : null
  }

  private later(reason: string, ms: number, status = 0): SubmitResult {
    return { outcome: 'retry', status, reason, seconds: ms > 0 ? ms / 1_000 : retrySeconds }
  }

  /** The bind that the destination's parts are on, else the one with the most room. */
  private choose(destination: string): Session | null {
    const held = this.underWay.get(destination)?.session
    if (held?.isBound) return held.room > 0 ? held : null
    let best: Session | null = null
    for (const session of this.binds.sessions) if (session.room > (best?.room ?? 0)) best = session
    return best
  }

  private begin(destination: string, session: Session): void {
    this.inFlight++
    if (!this.spreads) return
    const held = this.underWay.get(destination)
    this.underWay.set(destination, { session, parts: (held?.parts ?? 0) + 1 })
  }

  private finish(destination: string): void {
    this.inFlight--
    if (!this.spreads) return
    const held = this.underWay.get(destination)
    if (held && --held.parts === 0) this.underWay.delete(destination)
  }

  private resultOf(answer: Pdu | Lost): SubmitResult {
    if (answer.command === 'lost') {
      const { reason } = answer
      return answer.written ? { outcome: 'unknown', reason } : this.later(reason, 0)
    }
    const { command, status } = answer
    if (command === 'submit_sm_resp' && status === 0)
      return { outcome: 'accepted', carrierId: keptId(answer.messageId) }
    if (command !== 'submit_sm_resp' && command !== 'generic_nack') {
      return { outcome: 'unknown', reason: `the answer was a ${command}` }
    }
    const reason = statusName(status)
    if (congestionStatuses.has(status)) {
      const now = performance.now()
      this.pace.cut(now)
      return this.later(reason, this.pace.wait(now), status)
    }
    if (status === statuses.ESME_RSYSERR) return this.later(reason, 0, status)
    return { outcome: 'refused', status, reason }
  }

  private request(link: Link, pdu: Pdu): void {
    if (pdu.command === 'deliver_sm' || pdu.command === 'data_sm') void this.intake.take(link, pdu)
    else if (pdu.command !== 'alert_notification' && pdu.command !== 'outbind') {
      link.refuse(pdu.command, pdu.sequence, statuses.ESME_RINVBNDSTS)
    }
  }

  private changed(): void {
    const { host, port } = this.settings
    const isBound = this.state().state === 'bound'
    if (isBound !== this.wasBound) {
      this.since = Date.now()
      if (isBound) this.log('bound', { host, port })
      this.wasBound = isBound
    }
    this.events.changed()
  }

  private awaitRoom(now: number): void {
    this.full = true
    const wait = this.pace.wait(now)
    if (wait === 0 || this.refill) return
    this.refill = setTimeout(() => {
      this.refill = null
      this.tellRoom()
    }, wait)
  }

  /** Once for all answers of this turn, so that whoever fills the window fills it whole. */
  private tellSoon(): void {
    if (this.telling) return
    this.telling = true
    setImmediate(() => this.tellRoom())
  }

  private tellRoom(): void {
    this.telling = false
    if (!this.full || this.room() === 0) return
    this.full = false
    this.events.changed()
  }
}

/**
 * Connects to a carrier over SMPP 3.4 and stays connected until closed. Nothing here throws or rejects: a bind that
 * cannot be had shows in `state()`, a part that it could not carry in its `SubmitResult`.
 * @param traces logs the header of every PDU
 */
export const connectSmpp = (
  settings: SmppSettings,
  events: SmsEvents,
  log: SmppLog = () => {},
  traces = false,
): SmsCarrier => new Carrier(settings, events, log, traces)
