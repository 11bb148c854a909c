import { randomUUID } from 'node:crypto'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { LinkState, SmsCarrier, SmsEvents, SmsPart, SubmitResult } from '../port.ts'
import { Link, type LinkSettings, type Lost } from './codec/link.ts'
import {
  type Bind,
  type Data,
  type Malformed,
  type Message,
  noTlvs,
  type Pdu,
  statuses,
  statusName,
} from './codec/pdu.ts'
import { isReceipt, readReceipt } from './codec/receipt.ts'
import { Pace } from './pace.ts'
import type { SmppSettings } from './settings.ts'
import { inboundOf, numberOf, submitOf } from './short-message.ts'

/** What is worth a line in the log: an event's name and its details. */
export type SmppLog = (event: string, details: Record<string, string | number>) => void

/** interface_version of SMPP 3.4 (5.2.4). */
const version = 0x34

/** Inbound messages and receipts that may wait for their commit at a time; more are put off with a temporary error. */
const maxInbound = 1_000

const closeMs = 5_000
const unbindMs = 1_000

/** How long a bind must have lasted for the next failure to count as the first. */
const steadyMs = 10_000

/** A carrier that refuses the account (5.1.3) is not asked again soon: it may block the address. */
const refusedMs = 300_000
const credentialStatuses: ReadonlySet<number> = new Set([
  statuses.ESME_RBINDFAIL,
  statuses.ESME_RINVPASWD,
  statuses.ESME_RINVSYSID,
])

/** Refusals after which the same submit may succeed later. */
const congestionStatuses: ReadonlySet<number> = new Set([statuses.ESME_RTHROTTLED, statuses.ESME_RMSGQFUL])

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || host.startsWith('127.')

/** One ESME: keeps one bind to a carrier alive and carries messages over it. */
class Session implements SmsCarrier {
  private readonly settings: SmppSettings
  private readonly events: SmsEvents
  private readonly log: SmppLog
  private readonly timing: LinkSettings
  private readonly pace: Pace
  /** The link once it is bound. */
  private link: Link | null = null
  private socket: Socket | null = null
  private phase: LinkState['state'] = 'connecting'
  private since = Date.now()
  private lastError: string | null = null
  private attempts = 0
  private submitted = 0
  private inFlight = 0
  private inbound = 0
  /** Somebody was told that there is no room. */
  private full = false
  private telling = false
  private closing: Promise<void> | null = null
  private retry: NodeJS.Timeout | null = null
  private refill: NodeJS.Timeout | null = null
  private drained: (() => void) | null = null
  private nextDelay: number | null = null
  /** Names this bind among all binds there ever were. */
  private life = ''

  constructor(settings: SmppSettings, events: SmsEvents, log: SmppLog) {
    this.settings = settings
    this.events = events
    this.log = log
    this.timing = {
      responseMs: (settings.response_seconds ?? 10) * 1_000,
      enquireMs: (settings.enquire_seconds ?? 30) * 1_000,
    }
    this.pace = new Pace(settings.tps, settings.window ?? 10, performance.now())
    this.connect()
  }

  state(): LinkState {
    return {
      state: this.phase,
      since: this.since,
      lastError: this.lastError,
      inFlight: this.inFlight,
      submitted: this.submitted,
    }
  }

  room(): number {
    if (!this.link || this.closing || this.settings.bind === 'receiver') return 0
    const now = performance.now()
    const room = Math.max(0, Math.min(this.pace.window(now) - this.inFlight, this.pace.available(now)))
    if (room === 0) this.awaitRoom(now)
    return room
  }

  async submit(part: SmsPart): Promise<SubmitResult> {
    const link = this.link
    if (!link || this.closing) return { outcome: 'retry', status: 0, reason: 'the link is down' }
    if (this.room() === 0) return { outcome: 'retry', status: 0, reason: 'the window is full' }
    this.pace.take(performance.now())
    this.submitted++
    this.inFlight++
    this.full ||= this.room() === 0
    const answer = await link.request((sequence) => submitOf(part, sequence, this.settings.long))
    this.inFlight--
    if (this.inFlight === 0) this.drained?.()
    if (this.full) this.tellSoon()
    return this.resultOf(answer)
  }

  close(): Promise<void> {
    this.closing ??= this.leave()
    return this.closing
  }

  private async leave(): Promise<void> {
    if (this.retry) clearTimeout(this.retry)
    if (this.refill) clearTimeout(this.refill)
    const link = this.link
    if (link) {
      await this.drain()
      const unbound = link.request((sequence) => ({ command: 'unbind', sequence, status: 0 }))
      const timer = setTimeout(() => link.destroy('closed'), unbindMs)
      await unbound
      clearTimeout(timer)
      link.destroy('closed')
    }
    this.socket?.destroy()
    this.enter('closed')
  }

  /** Waits for what is in flight, both ways. */
  private async drain(): Promise<void> {
    if (this.inFlight === 0 && this.inbound === 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, closeMs - unbindMs)
      this.drained = () => {
        if (this.inFlight > 0 || this.inbound > 0) return
        clearTimeout(timer)
        resolve()
      }
    })
  }

  private connect(): void {
    this.retry = null
    if (this.phase !== 'connecting') this.enter('connecting')
    const socket = this.open()
    if (!socket) return
    this.socket = socket
    const timer = setTimeout(() => socket.destroy(new Error('no bind in time')), this.timing.responseMs)
    const link = new Link(socket, this.timing, {
      request: (pdu) => this.request(link, pdu),
      malformed: (bad) => this.quarantine(bad),
      write: () => {},
      closed: (reason) => {
        clearTimeout(timer)
        this.down(reason)
      },
    })
    socket.once(this.settings.tls ? 'secureConnect' : 'connect', () => void this.bind(link, timer))
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

  private async bind(link: Link, timer: NodeJS.Timeout): Promise<void> {
    const { bind = 'transceiver', system_id: systemId, password, system_type: systemType = '' } = this.settings
    const command: Bind['command'] = `bind_${bind}`
    const range = { ton: 0, npi: 0, address: '' }
    const answer = await link.request((sequence) => ({
      command,
      sequence,
      status: 0,
      systemId,
      password,
      systemType,
      version,
      range,
    }))
    clearTimeout(timer)
    if (answer.command === 'lost') {
      link.destroy(answer.reason)
      return
    }
    if (answer.command !== `${command}_resp` || answer.status !== 0) {
      if (credentialStatuses.has(answer.status)) this.nextDelay = refusedMs
      link.destroy(`bind refused: ${statusName(answer.status)}`)
      return
    }
    this.link = link
    this.life = randomUUID()
    this.lastError = null
    this.log('smpp.bound', { host: this.settings.host, port: this.settings.port })
    this.enter('bound')
  }

  private down(reason: string): void {
    if (this.phase === 'bound' && Date.now() - this.since > steadyMs) this.attempts = 0
    this.link = null
    this.lastError = reason
    if (this.closing) return
    this.log('smpp.down', { host: this.settings.host, port: this.settings.port, reason })
    this.enter('down')
    this.retry = setTimeout(() => this.connect(), this.delay())
  }

  /** 1, 2, 4 … 60 s, ±20 %; on loopback 0.2 s first and 2 s at most, since nobody is far away. */
  private delay(): number {
    const near = isLoopback(this.settings.host)
    const most = (this.settings.reconnect_seconds ?? (near ? 2 : 60)) * 1_000
    const backOff = near && this.attempts === 0 ? 200 : Math.min(most, 1_000 * 2 ** (this.attempts - (near ? 1 : 0)))
    this.attempts = Math.min(this.attempts + 1, 20)
    const base = this.nextDelay ?? backOff
    this.nextDelay = null
    return base * (0.8 + Math.random() * 0.4)
  }

  private enter(state: LinkState['state']): void {
    this.phase = state
    this.since = Date.now()
    this.events.changed()
  }

  private resultOf(answer: Pdu | Lost): SubmitResult {
    if (answer.command === 'lost') return { outcome: 'unknown', reason: answer.reason }
    if (answer.command === 'submit_sm_resp' && answer.status === 0) {
      return { outcome: 'accepted', carrierId: answer.messageId }
    }
    const { status } = answer
    const reason = statusName(status)
    if (congestionStatuses.has(status)) this.pace.cut(performance.now())
    const mayRetry = congestionStatuses.has(status) || status === statuses.ESME_RSYSERR
    return { outcome: mayRetry ? 'retry' : 'refused', status, reason }
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

  private request(link: Link, pdu: Pdu): void {
    if (pdu.command === 'deliver_sm' || pdu.command === 'data_sm') void this.receive(link, pdu)
    else if (pdu.command !== 'alert_notification' && pdu.command !== 'outbind') {
      link.refuse(pdu.command, pdu.sequence, statuses.ESME_RINVBNDSTS)
    }
  }

  /** Answers once what came is kept, or that it could not be (5.1.3: a temporary error makes the carrier send again). */
  private async receive(link: Link, pdu: Message | Data): Promise<void> {
    const command = pdu.command === 'data_sm' ? 'data_sm_resp' : 'deliver_sm_resp'
    if (this.inbound >= maxInbound) {
      link.refuse(pdu.command, pdu.sequence, statuses.ESME_RX_T_APPN)
      return
    }
    this.inbound++
    let status: number = statuses.ESME_ROK
    try {
      await this.keep(pdu)
    } catch (error) {
      status = statuses.ESME_RX_T_APPN
      this.log('smpp.not-kept', { reason: error instanceof Error ? error.message : String(error) })
    }
    this.inbound--
    link.send({ command, sequence: pdu.sequence, status, messageId: '', tlvs: noTlvs })
    if (this.inbound === 0) this.drained?.()
  }

  private async keep(pdu: Message | Data): Promise<void> {
    const receipt = isReceipt(pdu) ? readReceipt(pdu) : null
    const [handset, number] = [numberOf(pdu.source), numberOf(pdu.destination)]
    if (receipt) await this.events.receipt({ ...receipt, handset, number })
    else if (!isReceipt(pdu)) await this.events.inbound({ ...inboundOf(pdu), link: this.life })
    else this.log('smpp.receipt-without-id', { from: pdu.source.address })
  }

  private quarantine(bad: Malformed): void {
    this.log('smpp.malformed', { fault: statusName(bad.fault), pdu: bad.frame.toString('hex', 0, 1_024) })
  }
}

/**
 * Connects to a carrier over SMPP 3.4 and stays connected until closed. Nothing here throws or rejects: a link that
 * cannot be had shows in `state()`, a part that it could not carry in its `SubmitResult`.
 */
export const connectSmpp = (settings: SmppSettings, events: SmsEvents, log: SmppLog = () => {}): SmsCarrier =>
  new Session(settings, events, log)
