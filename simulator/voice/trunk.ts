import { Agent } from '../../src/connectors/sip/codec/agent/agent.ts'
import type { Ask } from '../../src/connectors/sip/codec/agent/ask.ts'
import type { IncomingCall } from '../../src/connectors/sip/codec/dialog/incoming.ts'
import { DigestServer } from '../../src/connectors/sip/codec/digest/server.ts'
import { callIdOf, contactsOf, expiresOf, fromOf, readNameAddr } from '../../src/connectors/sip/codec/fields.ts'
import { type Header, header, type SipRequest } from '../../src/connectors/sip/codec/message.ts'
import type { Answer } from '../../src/connectors/sip/codec/reply.ts'
import { openTcp } from '../../src/connectors/sip/codec/transport/tcp.ts'
import { openUdp } from '../../src/connectors/sip/codec/transport/udp.ts'
import { escapeUser, printUri, type SipUri, uriOf, userOf } from '../../src/connectors/sip/codec/uri.ts'
import { errorStack, errorText } from '../../src/lib/error-text.ts'
import { uuid } from '../../src/lib/id.ts'
import { numberOf } from '../answers.ts'
import type { CallBook, CallItem } from './calls.ts'
import { type CallManner, type Talk, Telephone } from './telephone.ts'
import { carryBack } from './transit.ts'

/** Whom the trunk knows, as a SIP user. */
export const customer = 'trunkline'
const address = '127.0.0.1'
const realm = 'sandbox.invalid'
/** What a registration lasts at most, seconds. */
const mostSeconds = 600
const mostCalls = 1_000

export type TrunkSettings = {
  readonly book: CallBook
  readonly password: string
  /** For UDP and TCP; 0 for any free one. */
  readonly port: number
  /** What a handset does when it is called. */
  manner(number: string): Talk & { readonly manner: CallManner }
}

const blank = { state: 'ringing', status: 0, answeredAt: null, endedAt: null, digits: '', tones: [] } as const

/** The carrier's side of a SIP trunk, with every handset behind it. It knows one customer, who registers with it. */
export class SandboxTrunk {
  private readonly settings: TrunkSettings
  private readonly agent: Agent
  private readonly digest: DigestServer
  /** Calls under way, by their ids. */
  private readonly telephones = new Map<string, Telephone>()
  private binding: { readonly contact: SipUri; readonly until: number } | null = null
  /** Only while there are calls: fifty looks a second cost a sandbox at rest half a per cent of a core. */
  private ticker: NodeJS.Timeout | null = null
  private ticked = performance.now()
  /** Numbers of the platform: a call to one of them goes back to it. */
  private readonly lines = new Set<string>()
  port = 0

  private constructor(settings: TrunkSettings) {
    this.settings = settings
    const { password } = settings
    this.digest = new DigestServer({ realm, secret: password, now: Date.now, algorithms: ['SHA-256', 'MD5'] })
    this.agent = new Agent({
      name: 'Trunkline-Sandbox',
      handlers: {
        onInvite: (call) => this.take(call),
        onRegister: (request) => this.register(request),
        fault: (error) => void process.stderr.write(`sandbox trunk: ${errorStack(error)}\n`),
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
    return { registered: this.registered() !== null, calls: this.telephones.size }
  }

  /** Says which numbers are the platform's, and which are no longer. */
  provision(lines: Iterable<readonly [number: string, ours: boolean]>): void {
    for (const [number, ours] of lines)
      if (ours) this.lines.add(number)
      else this.lines.delete(number)
  }

  /** A call under way. */
  telephone(id: string): Telephone | null {
    return this.telephones.get(id) ?? null
  }

  /** A handset calls a number of the platform. @returns the call's id */
  call(number: string, to: string, talk: Talk): string {
    const id = uuid()
    const item: CallItem = { ...blank, number, direction: 'outbound', peer: to, id, callId: id, at: Date.now() }
    const telephone = this.open(item, talk)
    const ask = this.ask(number, to)
    if (!ask) telephone.fail(480)
    else {
      telephone.dial({ ...ask, callId: id }).catch((error: unknown) => {
        process.stderr.write(`sandbox trunk: ${errorText(error)}\n`)
        telephone.fail(500)
      })
    }
    return id
  }

  async close(): Promise<void> {
    this.rest()
    await this.agent.close()
    this.settings.book.close()
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
      // A port of the system's choice is free for UDP, and may be taken for TCP.
      if (this.settings.port !== 0 || attempts <= 1) throw error
      await this.listen(attempts - 1)
    }
  }

  /** A call to the customer; null while it is not registered. */
  private ask(number: string, to: string): Ask | null {
    const contact = this.registered()
    if (!contact) return null
    const from = `<sip:${escapeUser(number)}@${address}>`
    const uri = printUri({ ...contact, user: escapeUser(to) })
    return { uri, from, via: printUri(contact), headers: [['P-Asserted-Identity', from]] }
  }

  private registered(): SipUri | null {
    return this.binding && this.binding.until > Date.now() ? this.binding.contact : null
  }

  private open(item: CallItem, talk: Talk): Telephone {
    const parts = { agent: this.agent, book: this.settings.book, address }
    const telephone = new Telephone(parts, item, talk, () => this.telephones.delete(item.id))
    this.telephones.set(item.id, telephone)
    if (!this.ticker) {
      this.ticked = performance.now()
      this.ticker = setInterval(() => this.tick(), 20)
    }
    return telephone
  }

  /** What a request is to be told whose sender does not show that it is the customer; null when it does. */
  private challenge(request: SipRequest): Answer | null {
    const claim = this.digest.claim(request)
    const verdict = claim?.username === customer ? this.digest.verify(request, claim, this.settings.password) : 'bad'
    if (verdict === 'good') return null
    const asked = this.digest.challenge(verdict === 'stale').map((value): Header => ['WWW-Authenticate', value])
    return { status: 401, headers: asked }
  }

  private register(request: SipRequest): Answer {
    const challenge = this.challenge(request)
    if (challenge) return challenge
    const contacts = contactsOf(request)
    const [first] = contacts === '*' ? [] : contacts
    const seconds = Math.min(mostSeconds, (first && expiresOf(request, first)) ?? mostSeconds)
    const contact = first && uriOf(first.uri)
    if (contacts === '*' || seconds === 0) this.binding = null
    else if (contact) this.binding = { contact, until: Date.now() + seconds * 1_000 }
    const bound = this.registered()
    return { status: 200, headers: bound ? [['Contact', `<${printUri(bound)}>;expires=${seconds}`]] : [] }
  }

  private async take(call: IncomingCall): Promise<void> {
    const challenge = this.challenge(call.invite)
    const uri = uriOf(call.invite.uri)
    const number = numberOf(uri && userOf(uri))
    if (challenge) call.refuse(challenge)
    else if (number === null) call.refuse({ status: 404 })
    else if (this.lines.has(number)) this.carryBack(call, number)
    else if (this.telephones.size >= mostCalls) call.refuse({ status: 503, headers: [['Retry-After', '10']] })
    else {
      const { manner, ...talk } = this.settings.manner(number)
      const callId = callIdOf(call.invite)
      const item: CallItem = {
        ...{ ...blank, number, direction: 'inbound', peer: callerOf(call.invite), id: uuid(), callId, at: Date.now() },
      }
      await this.open(item, talk).take(call, manner)
    }
  }

  private carryBack(call: IncomingCall, number: string): void {
    const ask = this.ask(callerOf(call.invite), number)
    if (ask) carryBack(this.agent, call, ask)
    else call.refuse({ status: 480 })
  }

  /** A busy machine calls late: what is due is made up for, up to 200 ms. */
  private tick(): void {
    const now = performance.now()
    for (this.ticked = Math.max(this.ticked, now - 200); this.ticked <= now; this.ticked += 20)
      for (const telephone of this.telephones.values()) telephone.tick()
    if (this.telephones.size === 0) this.rest()
  }

  private rest(): void {
    if (this.ticker) clearInterval(this.ticker)
    this.ticker = null
  }
}

/** The number that the caller shows: whom the customer vouches for (RFC 3325), else From. */
const callerOf = (invite: SipRequest): string => {
  const asserted = header(invite, 'P-Asserted-Identity')
  const uri = uriOf(asserted === null ? fromOf(invite).uri : readNameAddr(asserted).uri)
  const user = uri && userOf(uri)
  return numberOf(user) ?? user ?? ''
}
