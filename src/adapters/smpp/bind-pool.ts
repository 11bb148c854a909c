import type { MalformedPdu, Pdu } from '@trunkline/smpp/pdu.ts'
import type { SmppLink } from '@trunkline/smpp/smpp-link.ts'
import { BackOff, jitter } from '../../platform/lib/backoff.ts'
import type { CarrierLink } from '../../ports/sms.ts'
import { bindSpacingMs, formerLinkRetryMs, refusedRetryMs, stableBindMs } from './limits.ts'
import { type BindType, SmppSession, type SmppSessionEvents } from './smpp-session.ts'
import type { SmppSettings } from './smpp-settings.ts'

export type BindPoolEvents = {
  request(link: SmppLink, pdu: Pdu): void
  malformed(bad: MalformedPdu): void
  trace?: SmppSessionEvents['trace']
  mayCountFormerLinks(): boolean
  changed(): void
  /** @param lasted how long the bind was up, ms; 0 if it never was */
  down(bind: CarrierLink, lasted: number): void
}

/** The binds that the settings require. */
const bindTypes = ({ bind = 'transceiver', binds = 1 }: SmppSettings): BindType[] => {
  const one = bind === 'pair' ? (['transmitter', 'receiver'] as const) : [bind]
  return Array.from({ length: binds }, () => one).flat()
}

/** The binds of one connection, and their retry schedule. */
export class BindPool {
  readonly sessions: readonly SmppSession[]
  private readonly events: BindPoolEvents
  private readonly backOffs: ReadonlyMap<SmppSession, BackOff>
  /** For the attempts made while no bind is up. */
  private readonly backOff: BackOff
  private readonly timers = new Map<SmppSession, NodeJS.Timeout>()
  private closed = false

  constructor(settings: SmppSettings, events: BindPoolEvents) {
    this.events = events
    const { host, reconnect_seconds: most } = settings
    const { request, malformed, changed, trace, mayCountFormerLinks } = events
    const own = {
      request,
      malformed,
      changed,
      trace,
      mayCountFormerLinks,
      bound: () => this.startOthers(),
      down: (session: SmppSession, lasted: number) => this.down(session, lasted),
    }
    this.sessions = bindTypes(settings).map((bind) => new SmppSession(bind, settings, own))
    this.backOff = new BackOff(host, most)
    this.backOffs = new Map(this.sessions.map((session) => [session, new BackOff(host, most)]))
  }

  get anyBound(): boolean {
    return this.sessions.some(({ isBound }) => isBound)
  }

  start(): void {
    this.sessions[0]?.connect()
  }

  /** Stops all further attempts. */
  stop(): void {
    this.closed = true
    for (const timer of this.timers.values()) clearTimeout(timer)
  }

  async close(): Promise<void> {
    this.stop()
    await Promise.all(this.sessions.map((session) => session.close()))
  }

  /** Once one bind is up, starts the others one after the other. */
  private startOthers(): void {
    if (this.closed) return
    let delay = 0
    for (const session of this.sessions) {
      if (session.isBound || this.timers.has(session)) continue
      this.schedule(session, jitter(delay))
      delay += bindSpacingMs
    }
  }

  /**
   * While no bind is up, one bind at a time tries, in turn. Ten binds with a wrong password thus make one attempt, and
   * a carrier that comes back does not meet all of them at once.
   */
  private down(session: SmppSession, lasted: number): void {
    const { state } = session
    this.events.down(state, lasted)
    if (this.closed) return
    const alone = !this.anyBound
    const backOff = alone ? this.backOff : (this.backOffs.get(session) ?? this.backOff)
    if (lasted > stableBindMs) backOff.reset()
    const retryMs = session.waitsForFormerLinks ? formerLinkRetryMs : state.fatal ? refusedRetryMs : null
    const delay = retryMs === null ? backOff.next() : jitter(retryMs)
    if (alone) {
      for (const timer of this.timers.values()) clearTimeout(timer)
      this.timers.clear()
    }
    const turn = this.sessions.indexOf(session) + (alone ? 1 : 0)
    this.schedule(this.sessions[turn % this.sessions.length] ?? session, delay)
  }

  private schedule(session: SmppSession, delay: number): void {
    const attempt = () => {
      this.timers.delete(session)
      session.connect()
    }
    clearTimeout(this.timers.get(session))
    this.timers.set(session, setTimeout(attempt, delay))
  }
}
