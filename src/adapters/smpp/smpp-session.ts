import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { type BindPdu, type MalformedPdu, type Pdu, statuses, statusName } from '@trunkline/smpp/pdu.ts'
import { type LostRequest, SmppLink } from '@trunkline/smpp/smpp-link.ts'
import type { CarrierLink } from '../../ports/sms.ts'
import { maxUnansweredSubmits, unbindTimeoutMs } from './limits.ts'
import type { SmppSettings } from './smpp-settings.ts'

export type BindType = 'transceiver' | 'transmitter' | 'receiver'

/** What one bind reports to its connection. */
export type SmppSessionEvents = {
  /** A request of the carrier, which must be answered through the link. */
  request(link: SmppLink, pdu: Pdu): void
  malformed(bad: MalformedPdu): void
  trace?: ((bind: BindType, direction: 'in' | 'out', frame: Buffer) => void) | undefined
  /** Whether the carrier may still count the binds of another process. */
  mayCountFormerLinks(): boolean
  changed(): void
  bound(): void
  /** The bind ended or failed. `lasted` is how long it was up, ms; 0 if it never was. */
  down(session: SmppSession, lasted: number): void
}

const versions = { '3.3': 0x33, '3.4': 0x34, '5.0': 0x50 } as const

/** Refusals of the account itself (5.1.3). */
const accountStatuses: ReadonlySet<number> = new Set([
  statuses.ESME_RBINDFAIL,
  statuses.ESME_RINVPASWD,
  statuses.ESME_RINVSYSID,
  statuses.ESME_RINVSYSTYP,
])

/** Refusals of a further bind while the carrier counts those of a process that is gone. */
const boundStatuses: ReadonlySet<number> = new Set([statuses.ESME_RBINDFAIL, statuses.ESME_RALYBND])

/** One bind to a carrier. `connect` makes one attempt and `down` reports its end; the owner decides when to retry. */
export class SmppSession {
  readonly bind: BindType
  private readonly settings: SmppSettings
  private readonly events: SmppSessionEvents
  /** The link once it is bound. */
  private link: SmppLink | null = null
  private socket: Socket | null = null
  private phase: CarrierLink['state'] = 'down'
  private since = Date.now()
  private lastError: string | null = null
  private fatal = false
  private wasBound = false
  private isFormerCounted = false
  private submitted = 0
  private inFlight = 0
  private lostInARow = 0

  constructor(bind: BindType, settings: SmppSettings, events: SmppSessionEvents) {
    this.bind = bind
    this.settings = settings
    this.events = events
  }

  get state(): CarrierLink {
    const { bind, since, lastError, fatal, inFlight, submitted } = this
    return { name: bind, state: this.phase, since, lastError, fatal, inFlight, submitted }
  }

  get isBound(): boolean {
    return this.phase === 'up'
  }

  /** The carrier refused the last attempt while it may still count the binds of another process. */
  get waitsForFormerLinks(): boolean {
    return this.isFormerCounted
  }

  /** How many more submits its window allows. */
  get freeWindow(): number {
    if (!this.link || this.bind === 'receiver') return 0
    return Math.max(0, (this.settings.window ?? 10) - this.inFlight)
  }

  /** Starts to connect and bind, unless an attempt is under way or the bind is up. */
  connect(): void {
    if (this.phase !== 'down') return
    this.phase = 'connecting'
    this.isFormerCounted = false
    this.since = Date.now()
    const socket = this.openSocket()
    if (!socket) return
    this.socket = socket
    const responseMs = (this.settings.response_seconds ?? 10) * 1_000
    const enquireMs = (this.settings.enquire_seconds ?? 30) * 1_000
    const timer = setTimeout(() => socket.destroy(new Error('no bind in time')), responseMs)
    const { trace } = this.events
    const link = new SmppLink(
      socket,
      { responseMs, enquireMs },
      {
        request: (pdu) => this.events.request(link, pdu),
        malformed: this.events.malformed,
        write: () => {},
        ...(trace && { trace: (direction, frame) => trace(this.bind, direction, frame) }),
        closed: (reason) => {
          clearTimeout(timer)
          this.handleDown(reason)
        },
      },
    )
    socket.once(this.settings.tls ? 'secureConnect' : 'connect', () => void this.sendBind(link, timer))
  }

  /** Sends a submit. Resolves to its response, or to `lost`. */
  async submit(make: (sequence: number) => Pdu): Promise<Pdu | LostRequest> {
    const { link } = this
    if (!link) return { command: 'lost', reason: 'the link is down', written: false }
    this.submitted++
    this.inFlight++
    const answer = await link.request(make)
    this.inFlight--
    this.lostInARow = answer.command === 'lost' ? this.lostInARow + 1 : 0
    if (this.lostInARow >= maxUnansweredSubmits && link.isOpen)
      link.destroy(`${maxUnansweredSubmits} submits in a row were not answered`)
    return answer
  }

  /** Sends a query in the window of the submits. Unlike a submit, one without a response says nothing about the bind. */
  async query(make: (sequence: number) => Pdu): Promise<Pdu | LostRequest> {
    const { link } = this
    if (!link) return { command: 'lost', reason: 'the link is down', written: false }
    this.inFlight++
    const answer = await link.request(make)
    this.inFlight--
    return answer
  }

  /** Unbinds and closes, without waiting for submits in flight. */
  async close(): Promise<void> {
    const { link } = this
    if (link) {
      const unbound = link.request((sequence) => ({ command: 'unbind', sequence, status: 0 }))
      const timer = setTimeout(() => link.destroy('closed'), unbindTimeoutMs)
      await unbound
      clearTimeout(timer)
      link.destroy('closed')
    }
    this.phase = 'closed'
    this.socket?.destroy()
    this.setPhase('closed')
  }

  /** Null when the settings allow no socket, for example with a port out of range or an invalid certificate. */
  private openSocket(): Socket | null {
    const { host, port, tls, tls_ca: ca, tls_server_name: name } = this.settings
    try {
      if (!tls) return connectTcp({ host, port })
      const servername = name ?? (isIP(host) ? undefined : host)
      return connectTls({ host, port, ...(ca && { ca }), ...(servername && { servername }) })
    } catch (error) {
      setImmediate(() => this.handleDown(error instanceof Error ? error.message : String(error)))
      return null
    }
  }

  private async sendBind(link: SmppLink, timer: NodeJS.Timeout): Promise<void> {
    const { system_id: systemId, password, system_type: systemType = '', address_range: range = '' } = this.settings
    const version = versions[this.settings.interface_version ?? '3.4']
    const command: BindPdu['command'] = `bind_${this.bind}`
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
    else if (answer.command !== `${command}_resp` || answer.status !== 0) this.bindRefused(link, answer.status)
    else {
      this.link = link
      this.lastError = null
      this.fatal = false
      this.wasBound = true
      this.lostInARow = 0
      this.setPhase('up')
      this.events.bound()
    }
  }

  /** After the account has worked, a general "bind failed" may mean that the carrier still holds the broken bind. */
  private bindRefused(link: SmppLink, status: number): void {
    this.isFormerCounted = boundStatuses.has(status) && this.events.mayCountFormerLinks()
    const mayPass = this.isFormerCounted || (this.wasBound && status === statuses.ESME_RBINDFAIL)
    this.fatal = accountStatuses.has(status) && !mayPass
    link.destroy(`bind refused: ${statusName(status)}`)
  }

  private handleDown(reason: string): void {
    if (this.phase === 'closed') return
    const lasted = this.phase === 'up' ? Math.max(1, Date.now() - this.since) : 0
    this.link = null
    this.lastError = reason
    this.setPhase('down')
    this.events.down(this, lasted)
  }

  private setPhase(phase: CarrierLink['state']): void {
    this.phase = phase
    this.since = Date.now()
    this.events.changed()
  }
}
