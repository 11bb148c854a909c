import { BackOff, spread } from '../../lib/backoff.ts'
import type { BindState } from '../port.ts'
import type { Link } from './codec/link.ts'
import type { Malformed, Pdu } from './codec/pdu.ts'
import { Session, type SessionEvents } from './session.ts'
import type { SmppSettings } from './settings.ts'

/** How long a bind must have lasted for the next failure to count as the first. */
const steadyMs = 10_000

/** A carrier that refuses the account is not asked again soon: it may block the address. */
const refusedMs = 300_000

/** Between binds that start together. */
const nextBindMs = 20

export type BindsEvents = {
  request(link: Link, pdu: Pdu): void
  malformed(bad: Malformed): void
  trace?: SessionEvents['trace']
  changed(): void
  /** @param lasted how long the bind stood, ms; 0 when it never did */
  down(bind: BindState, lasted: number): void
}

/** The binds that settings ask for. */
const wanted = ({ bind = 'transceiver', binds = 1 }: SmppSettings): BindState['bind'][] => {
  const one = bind === 'pair' ? (['transmitter', 'receiver'] as const) : [bind]
  return Array.from({ length: binds }, () => one).flat()
}

/** The binds of one connection, and when each of them tries again. */
export class Binds {
  readonly sessions: readonly Session[]
  private readonly events: BindsEvents
  private readonly backOffs: ReadonlyMap<Session, BackOff>
  /** For the attempts made while no bind stands. */
  private readonly backOff: BackOff
  private readonly timers = new Map<Session, NodeJS.Timeout>()
  private closed = false

  constructor(settings: SmppSettings, events: BindsEvents) {
    this.events = events
    const { host, reconnect_seconds: most } = settings
    const { request, malformed, changed, trace } = events
    const own = {
      request,
      malformed,
      changed,
      trace,
      bound: () => this.startOthers(),
      down: (session: Session, lasted: number) => this.down(session, lasted),
    }
    this.sessions = wanted(settings).map((bind) => new Session(bind, settings, own))
    this.backOff = new BackOff(host, most)
    this.backOffs = new Map(this.sessions.map((session) => [session, new BackOff(host, most)]))
  }

  get anyBound(): boolean {
    return this.sessions.some(({ isBound }) => isBound)
  }

  start(): void {
    this.sessions[0]?.connect()
  }

  /** Tries no more. */
  stop(): void {
    this.closed = true
    for (const timer of this.timers.values()) clearTimeout(timer)
  }

  async leave(): Promise<void> {
    this.stop()
    await Promise.all(this.sessions.map((session) => session.leave()))
  }

  /** Once one bind stands, the others may try too, one after the other. */
  private startOthers(): void {
    if (this.closed) return
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
    const { state } = session
    this.events.down(state, lasted)
    if (this.closed) return
    const alone = !this.anyBound
    const backOff = alone ? this.backOff : (this.backOffs.get(session) ?? this.backOff)
    if (lasted > steadyMs) backOff.reset()
    const delay = state.fatal ? spread(refusedMs) : backOff.next()
    if (alone) {
      for (const timer of this.timers.values()) clearTimeout(timer)
      this.timers.clear()
    }
    const turn = this.sessions.indexOf(session) + (alone ? 1 : 0)
    this.schedule(this.sessions[turn % this.sessions.length] ?? session, delay)
  }

  private schedule(session: Session, delay: number): void {
    const attempt = () => {
      this.timers.delete(session)
      session.connect()
    }
    clearTimeout(this.timers.get(session))
    this.timers.set(session, setTimeout(attempt, delay))
  }
}
