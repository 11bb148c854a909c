import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { BindState } from '../port.ts'
import { Link, type Lost } from './codec/link.ts'
import { type Bind, type Malformed, type Pdu, statuses, statusName } from './codec/pdu.ts'
import type { SmppSettings } from './settings.ts'

/** What one bind tells the connection that it belongs to. */
export type SessionEvents = {
  /** A request of the carrier's, to be answered through the link. */
  request(link: Link, pdu: Pdu): void
  malformed(bad: Malformed): void
  trace?: ((bind: BindState['bind'], direction: 'in' | 'out', frame: Buffer) => void) | undefined
  changed(): void
  bound(): void
  /** The bind ended, or could not be had. `lasted` is how long it stood, ms; 0 when it never did. */
  down(session: Session, lasted: number): void
}

const versions = { '3.3': 0x33, '3.4': 0x34, '5.0': 0x50 } as const

const unbindMs = 1_000

/** Submits in a row that a carrier leaves unanswered: then the bind is made anew, as the session may be stuck. */
const mostUnanswered = 3

/** Refusals of the account itself (5.1.3). */
const accountStatuses: ReadonlySet<number> = new Set([
  statuses.ESME_RBINDFAIL,
  statuses.ESME_RINVPASWD,
  statuses.ESME_RINVSYSID,
  statuses.ESME_RINVSYSTYP,
])

/** One bind to a carrier. Connects when it is told to, and tells when it is down: when to try again is not its matter. */
export class Session {
  readonly bind: BindState['bind']
  private readonly settings: SmppSettings
  private readonly events: SessionEvents
  /** The link once it is bound. */
  private link: Link | null = null
  private socket: Socket | null = null
  private phase: BindState['state'] = 'down'
  private since = Date.now()
  private lastError: string | null = null
  private fatal = false
  private wasBound = false
  private submitted = 0
  private inFlight = 0
  private lost = 0

  constructor(bind: BindState['bind'], settings: SmppSettings, events: SessionEvents) {
    this.bind = bind
    this.settings = settings
    this.events = events
  }

  get state(): BindState {
    const { bind, since, lastError, fatal, inFlight, submitted } = this
    return { bind, state: this.phase, since, lastError, fatal, inFlight, submitted }
  }

  get isBound(): boolean {
    return this.phase === 'bound'
  }

  /** How many more submits its window takes. */
  get room(): number {
    if (!this.link || this.bind === 'receiver') return 0
    return Math.max(0, (this.settings.window ?? 10) - this.inFlight)
  }

  /** Begins an attempt to connect and bind, unless one is under way or the bind stands. */
  connect(): void {
    if (this.phase !== 'down') return
    this.phase = 'connecting'
    this.since = Date.now()
    const socket = this.open()
    if (!socket) return
    this.socket = socket
    const responseMs = (this.settings.response_seconds ?? 10) * 1_000
    const enquireMs = (this.settings.enquire_seconds ?? 30) * 1_000
    const timer = setTimeout(() => socket.destroy(new Error('no bind in time')), responseMs)
    const { trace } = this.events
    const link = new Link(
      socket,
      { responseMs, enquireMs },
      {
        request: (pdu) => this.events.request(link, pdu),
        malformed: this.events.malformed,
        write: () => {},
        ...(trace && { trace: (direction, frame) => trace(this.bind, direction, frame) }),
        closed: (reason) => {
          clearTimeout(timer)
          this.down(reason)
        },
      },
    )
    socket.once(this.settings.tls ? 'secureConnect' : 'connect', () => void this.introduce(link, timer))
  }

  /** Sends a submit; its answer, or `lost`. */
  async submit(make: (sequence: number) => Pdu): Promise<Pdu | Lost> {
    const { link } = this
    if (!link) return { command: 'lost', reason: 'the link is down', written: false }
    this.submitted++
    this.inFlight++
    const answer = await link.request(make)
    this.inFlight--
    this.lost = answer.command === 'lost' ? this.lost + 1 : 0
    if (this.lost >= mostUnanswered && link.isOpen) link.destroy(`${mostUnanswered} submits in a row were not answered`)
    return answer
  }

  /** Unbinds and lets go, whatever is in flight. */
  async leave(): Promise<void> {
    const { link } = this
    if (link) {
      const unbound = link.request((sequence) => ({ command: 'unbind', sequence, status: 0 }))
      const timer = setTimeout(() => link.destroy('closed'), unbindMs)
      await unbound
      clearTimeout(timer)
      link.destroy('closed')
    }
    this.phase = 'closed'
    this.socket?.destroy()
    this.enter('closed')
  }

  /** Null when the settings do not even allow a socket: a port out of range, a certificate that is none. */
  private open(): Socket | null {
    const { host, port, tls, tls_ca: ca, tls_server_name: name } = this.settings
    try {
      if (!tls) return connectTcp({ host, port })
      const servername = name ?? (isIP(host) ? undefined : host)
      return connectTls({ host, port, ...(ca && { ca }), ...(servername && { servername }) })
    } catch (error) {
      setImmediate(() => this.down(error instanceof Error ? error.message : String(error)))
      return null
    }
  }

  private async introduce(link: Link, timer: NodeJS.Timeout): Promise<void> {
    const { system_id: systemId, password, system_type: systemType = '', address_range: range = '' } = this.settings
    const version = versions[this.settings.interface_version ?? '3.4']
    const command: Bind['command'] = `bind_${this.bind}`
    const answer = await link.request((sequence) => ({
      command,
      sequence,
      status: 0,
      systemId,
      password,
      systemType,
      version,
      range: { ton: 0, npi: 0, address: this.bind === 'transmitter' ? '' : range },
    }))
    clearTimeout(timer)
    if (answer.command === 'lost') link.destroy(answer.reason)
    else if (answer.command !== `${command}_resp` || answer.status !== 0) this.refused(link, answer.status)
    else {
      this.link = link
      this.lastError = null
      this.fatal = false
      this.wasBound = true
      this.lost = 0
      this.enter('bound')
      this.events.bound()
    }
  }

  /** A general "bind failed" after the account has worked may mean that the carrier still holds the bind that broke. */
  private refused(link: Link, status: number): void {
    const mayPass = this.wasBound && status === statuses.ESME_RBINDFAIL
    this.fatal = accountStatuses.has(status) && !mayPass
    link.destroy(`bind refused: ${statusName(status)}`)
  }

  private down(reason: string): void {
    if (this.phase === 'closed') return
    const lasted = this.phase === 'bound' ? Math.max(1, Date.now() - this.since) : 0
    this.link = null
    this.lastError = reason
    this.enter('down')
    this.events.down(this, lasted)
  }

  private enter(phase: BindState['state']): void {
    this.phase = phase
    this.since = Date.now()
    this.events.changed()
  }
}
