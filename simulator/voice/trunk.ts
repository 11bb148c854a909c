import type { IncomingCall } from '@trunkline/sip/dialog/incoming-call.ts'
import { DigestServer } from '@trunkline/sip/digest/digest-server.ts'
import { callIdOf, contactsOf, expiresOf, fromOf, readNameAddr } from '@trunkline/sip/fields.ts'
import { type Header, header, type SipRequest } from '@trunkline/sip/message.ts'
import type { ResponseOptions } from '@trunkline/sip/response.ts'
import { openTcp } from '@trunkline/sip/transport/tcp.ts'
import { openUdp } from '@trunkline/sip/transport/udp.ts'
import { escapeUser, printUri, type SipUri, uriOf, userOf } from '@trunkline/sip/uri.ts'
import type { RequestOptions } from '@trunkline/sip/user-agent/request.ts'
import { UserAgent } from '@trunkline/sip/user-agent/user-agent.ts'
import { errorStack, errorText } from '../../src/platform/lib/error-text.ts'
import { uuid } from '../../src/platform/lib/id.ts'
import { numberOf } from '../responses.ts'
import type { CallItem, CallLog } from './call-log.ts'
import { relayCall } from './call-relay.ts'
import { type CallBehaviour, type Deps, HandsetCall, type TalkSettings } from './handset-call.ts'

/** SIP user of the trunk's only customer. */
export const customerUser = 'trunkline'
const address = '127.0.0.1'
const realm = 'sandbox.invalid'
/** Maximum seconds of a registration. */
const maxRegistrationSeconds = 600
const maxCalls = 1_000

export type TrunkSettings = {
  readonly log: CallLog
  readonly password: string
  /** Port for UDP and TCP; 0 for any free one. */
  readonly port: number
  /** Behaviour of a called handset. */
  behaviourOf(number: string): TalkSettings & { readonly manner: CallBehaviour }
}

const blank = { state: 'ringing', status: 0, answeredAt: null, endedAt: null, digits: '', tones: [] } as const

/** Carrier side of a SIP trunk with all handsets behind it. The only customer registers with it. */
export class SandboxTrunk {
  private readonly settings: TrunkSettings
  private readonly agent: UserAgent
  private readonly digest: DigestServer
  /** Active calls by id. */
  private readonly calls = new Map<string, HandsetCall>()
  private binding: { readonly contact: SipUri; readonly until: number } | null = null
  /** Runs only during calls: fifty ticks a second would cost an idle sandbox half a per cent of a core. */
  private ticker: NodeJS.Timeout | null = null
  private lastTick = performance.now()
  /** Numbers of the platform; calls to them return to it. */
  private readonly platformNumbers = new Set<string>()
  port = 0

  private constructor(settings: TrunkSettings) {
    this.settings = settings
    const { password } = settings
    this.digest = new DigestServer({ realm, secret: password, now: Date.now, algorithms: ['SHA-256', 'MD5'] })
    this.agent = new UserAgent({
      name: 'Trunkline-Sandbox',
      handlers: {
        onInvite: (call) => this.handleInvite(call),
        onRegister: (request) => this.register(request),
        onError: (error) => void process.stderr.write(`sandbox trunk: ${errorStack(error)}\n`),
      },
    })
  }

  /** @throws Error when the port is taken */
  static async open(settings: TrunkSettings): Promise<SandboxTrunk> {
    const trunk = new SandboxTrunk(settings)
    await trunk.listen(10)
    return trunk
  }

  get state() {
    return { registered: this.registered() !== null, calls: this.calls.size }
  }

  /** Updates which numbers belong to the platform. */
  provision(lines: Iterable<readonly [number: string, ours: boolean]>): void {
    for (const [number, ours] of lines)
      if (ours) this.platformNumbers.add(number)
      else this.platformNumbers.delete(number)
  }

  /** An active call. */
  activeCall(id: string): HandsetCall | null {
    return this.calls.get(id) ?? null
  }

  /** Places a call from a handset to a platform number. @returns the call's id */
  call(number: string, to: string, talk: TalkSettings): string {
    const id = uuid()
    const item: CallItem = { ...blank, number, direction: 'outbound', peer: to, id, callId: id, at: Date.now() }
    const telephone = this.open(item, talk)
    const requestTo = this.ask(number, to)
    if (!requestTo) telephone.fail(480)
    else {
      telephone.dial({ ...requestTo, callId: id }).catch((error: unknown) => {
        process.stderr.write(`sandbox trunk: ${errorText(error)}\n`)
        telephone.fail(500)
      })
    }
    return id
  }

  async close(): Promise<void> {
    this.stopTicker()
    await this.agent.close()
    this.settings.log.close()
  }

  private async listen(attempts: number): Promise<void> {
    const { transports, timers } = this.agent
    const udp = await openUdp({ address, port: this.settings.port }, transports)
    this.port = udp.sentBy.port ?? 0
    try {
      transports.add(await openTcp({ address, port: this.port }, transports, timers))
      transports.add(udp)
    } catch (error) {
      await udp.close()
      // A port chosen by the system for UDP may be in use for TCP.
      if (this.settings.port !== 0 || attempts <= 1) throw error
      await this.listen(attempts - 1)
    }
  }

  /** Request for a call to the customer; null while not registered. */
  private ask(number: string, to: string): RequestOptions | null {
    const contact = this.registered()
    if (!contact) return null
    const from = `<sip:${escapeUser(number)}@${address}>`
    const uri = printUri({ ...contact, user: escapeUser(to) })
    return { uri, from, via: printUri(contact), headers: [['P-Asserted-Identity', from]] }
  }

  private registered(): SipUri | null {
    return this.binding && this.binding.until > Date.now() ? this.binding.contact : null
  }

  private open(item: CallItem, talk: TalkSettings): HandsetCall {
    const parts: Deps = { agent: this.agent, log: this.settings.log, address }
    const telephone = new HandsetCall(parts, item, talk, () => this.calls.delete(item.id))
    this.calls.set(item.id, telephone)
    if (!this.ticker) {
      this.lastTick = performance.now()
      this.ticker = setInterval(() => this.tick(), 20)
    }
    return telephone
  }

  /** Response to a request that does not authenticate as the customer; null when it does. */
  private challenge(request: SipRequest): ResponseOptions | null {
    const claim = this.digest.claim(request)
    const verdict =
      claim?.username === customerUser ? this.digest.verify(request, claim, this.settings.password) : 'bad'
    if (verdict === 'good') return null
    const challenges = this.digest.challenge(verdict === 'stale').map((value): Header => ['WWW-Authenticate', value])
    return { status: 401, headers: challenges }
  }

  private register(request: SipRequest): ResponseOptions {
    const challenge = this.challenge(request)
    if (challenge) return challenge
    const contacts = contactsOf(request)
    const [first] = contacts === '*' ? [] : contacts
    const seconds = Math.min(maxRegistrationSeconds, (first && expiresOf(request, first)) ?? maxRegistrationSeconds)
    const contact = first && uriOf(first.uri)
    if (contacts === '*' || seconds === 0) this.binding = null
    else if (contact) this.binding = { contact, until: Date.now() + seconds * 1_000 }
    const bound = this.registered()
    return { status: 200, headers: bound ? [['Contact', `<${printUri(bound)}>;expires=${seconds}`]] : [] }
  }

  private async handleInvite(call: IncomingCall): Promise<void> {
    const challenge = this.challenge(call.invite)
    const uri = uriOf(call.invite.uri)
    const number = numberOf(uri && userOf(uri))
    if (challenge) call.refuse(challenge)
    else if (number === null) call.refuse({ status: 404 })
    else if (this.platformNumbers.has(number)) this.relayToPlatform(call, number)
    else if (this.calls.size >= maxCalls) call.refuse({ status: 503, headers: [['Retry-After', '10']] })
    else {
      const { manner, ...talk } = this.settings.behaviourOf(number)
      const callId = callIdOf(call.invite)
      const item: CallItem = {
        ...{ ...blank, number, direction: 'inbound', peer: callerOf(call.invite), id: uuid(), callId, at: Date.now() },
      }
      await this.open(item, talk).handleInvite(call, manner)
    }
  }

  private relayToPlatform(call: IncomingCall, number: string): void {
    const ask = this.ask(callerOf(call.invite), number)
    if (ask) relayCall(this.agent, call, ask)
    else call.refuse({ status: 480 })
  }

  /** Late timer calls on a busy machine are made up for, up to 200 ms. */
  private tick(): void {
    const now = performance.now()
    for (this.lastTick = Math.max(this.lastTick, now - 200); this.lastTick <= now; this.lastTick += 20)
      for (const telephone of this.calls.values()) telephone.tick()
    if (this.calls.size === 0) this.stopTicker()
  }

  private stopTicker(): void {
    if (this.ticker) clearInterval(this.ticker)
    this.ticker = null
  }
}

/** The calling number: the asserted identity (RFC 3325), otherwise From. */
const callerOf = (invite: SipRequest): string => {
  const asserted = header(invite, 'P-Asserted-Identity')
  const uri = uriOf(asserted === null ? fromOf(invite).uri : readNameAddr(asserted).uri)
  const user = uri && userOf(uri)
  return numberOf(user) ?? user ?? ''
}
