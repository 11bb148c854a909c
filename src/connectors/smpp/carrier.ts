import type { BindState, CarrierState, SmsCarrier, SmsEvents, SmsPart, SubmitResult } from '../port.ts'
import { BackOff, spread } from './backoff.ts'
import type { Link, Lost } from './codec/link.ts'
import { type Malformed, type Pdu, statuses, statusName } from './codec/pdu.ts'
import { Intake, type SmppLog } from './intake.ts'
import { Pace } from './pace.ts'
import { Senders } from './senders.ts'
import { Session } from './session.ts'
import type { SmppSettings } from './settings.ts'
import { partsOf, submitOf } from './short-message.ts'

/** How long a closing connection waits for what is in flight. */
const drainMs = 4_000

/** How long a bind must have lasted for the next failure to count as the first. */
const steadyMs = 10_000

/** A carrier that refuses the account is not asked again soon: it may block the address. */
const refusedMs = 300_000

/** Between the binds of a connection when they start together. */
const nextBindMs = 20

/** Refusals after which the same submit may succeed later; those of congestion slow us down too. */
const congestionStatuses: ReadonlySet<number> = new Set([statuses.ESME_RTHROTTLED, statuses.ESME_RMSGQFUL])

/** Seconds after which a submit that found a system error, or no link, is worth another try. */
const retrySeconds = 0.5

/** The binds that settings ask for. */
const bindsOf = ({ bind = 'transceiver', binds = 1 }: SmppSettings): BindState['bind'][] => {
  const one = bind === 'pair' ? (['transmitter', 'receiver'] as const) : [bind]
  return Array.from({ length: binds }, () => one).flat()
}

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
  private readonly sessions: readonly Session[]
  private readonly backOffs: ReadonlyMap<Session, BackOff>
  /** For the attempts made while no bind stands. */
  private readonly backOff: BackOff
  private readonly timers = new Map<Session, NodeJS.Timeout>()
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

  constructor(settings: SmppSettings, events: SmsEvents, log: SmppLog) {
    this.settings = settings
    this.events = events
    this.log = log
    this.intake = new Intake(settings, events, log, () => this.drained?.())
    this.senders = new Senders(settings.tps_per_sender)
    const { host, port, reconnect_seconds: most } = settings
    const binds = {
      request: (link: Link, pdu: Pdu) => this.request(link, pdu),
      malformed: ({ fault, frame }: Malformed) =>
        log('malformed', { host, port, fault: statusName(fault), pdu: frame.toString('hex', 0, 1_024) }),
      changed: () => this.changed(),
      bound: () => this.startOthers(),
      down: (session: Session, lasted: number) => this.down(session, lasted),
    }
    this.sessions = bindsOf(settings).map((bind) => new Session(bind, settings, binds))
    this.backOff = new BackOff(host, most)
    this.backOffs = new Map(this.sessions.map((session) => [session, new BackOff(host, most)]))
    const sending = this.sessions.filter(({ bind }) => bind !== 'receiver').length
    this.pace = new Pace(settings.tps, (settings.window ?? 10) * sending, performance.now())
    this.sessions[0]?.connect()
  }

  state(): CarrierState {
    const binds = this.sessions.map(({ state }) => state)
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
      submitted: binds.reduce((sum, { submitted }) => sum + submitted, 0),
      binds,
    }
  }

  room(): number {
    if (this.closing) return 0
    const now = performance.now()
    const windows = this.sessions.reduce((sum, session) => sum + session.room, 0)
    const room = Math.max(0, Math.min(windows, this.pace.window(now) - this.inFlight, this.pace.available(now)))
    if (room === 0 && this.sessions.some(({ isBound }) => isBound)) this.awaitRoom(now)
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
    for (const timer of this.timers.values()) clearTimeout(timer)
    if (this.refill) clearTimeout(this.refill)
    if (this.sessions.some(({ isBound }) => isBound)) await this.drain()
    await Promise.all(this.sessions.map((session) => session.leave()))
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
    if (this.closing || !this.sessions.some(({ isBound }) => isBound)) return this.later('the link is down', 0)
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
    for (const session of this.sessions) if (session.room > (best?.room ?? 0)) best = session
    return best
  }

  private begin(destination: string, session: Session): void {
    this.inFlight++
    const held = this.underWay.get(destination)
    this.underWay.set(destination, { session, parts: (held?.parts ?? 0) + 1 })
  }

  private finish(destination: string): void {
    this.inFlight--
    const held = this.underWay.get(destination)
    if (held && --held.parts === 0) this.underWay.delete(destination)
  }

  private resultOf(answer: Pdu | Lost): SubmitResult {
    if (answer.command === 'lost') {
      const { reason } = answer
      return answer.written ? { outcome: 'unknown', reason } : this.later(reason, 0)
    }
    const { command, status } = answer
    if (command === 'submit_sm_resp' && status === 0) return { outcome: 'accepted', carrierId: answer.messageId }
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

  /** Once one bind stands, the others may try too, one after the other. */
  private startOthers(): void {
    let delay = 0
    for (const session of this.sessions) {
      if (session.isBound || this.timers.has(session)) continue
      this.schedule(session, spread(delay))
      delay += nextBindMs
    }
  }

  /**
   * While no bind stands, one at a time tries, each in its turn: ten binds with a wrong password are one wrong password,
   * and a carrier that comes back is not met by all of them at once.
   */
  private down(session: Session, lasted: number): void {
    if (this.closing) return
    const { host, port } = this.settings
    if (lasted > 0) this.intake.renew()
    const { lastError, fatal } = session.state
    this.log('down', { host, port, bind: session.bind, reason: lastError ?? '' })
    const alone = !this.sessions.some(({ isBound }) => isBound)
    const backOff = alone ? this.backOff : (this.backOffs.get(session) ?? this.backOff)
    if (lasted > steadyMs) backOff.reset()
    const delay = fatal ? spread(refusedMs) : backOff.next()
    if (!alone) return this.schedule(session, delay)
    for (const timer of this.timers.values()) clearTimeout(timer)
    this.timers.clear()
    this.schedule(this.sessions[(this.sessions.indexOf(session) + 1) % this.sessions.length] ?? session, delay)
  }

  private schedule(session: Session, delay: number): void {
    const attempt = () => {
      this.timers.delete(session)
      session.connect()
    }
    clearTimeout(this.timers.get(session))
    this.timers.set(session, setTimeout(attempt, delay))
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
 */
export const connectSmpp = (settings: SmppSettings, events: SmsEvents, log: SmppLog = () => {}): SmsCarrier =>
  new Carrier(settings, events, log)
