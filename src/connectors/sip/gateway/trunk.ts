import { BlockList, isIP, isIPv4 } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { readNetwork } from '../../../lib/outbound-address.ts'
import type { VoiceTrunk, VoiceTrunkState } from '../../voice-port.ts'
import type { Agent } from '../codec/agent/agent.ts'
import type { Ask } from '../codec/agent/ask.ts'
import type { Outcome } from '../codec/agent/exchange.ts'
import { Registration, type RegistrationState } from '../codec/agent/registration.ts'
import { DigestClient } from '../codec/digest/client.ts'
import { fromOf, toOf } from '../codec/fields.ts'
import type { SipRequest } from '../codec/message.ts'
import { type Flow, hostOf, type Trust } from '../codec/transport/flow.ts'
import { escapeUser, uriOf, userOf } from '../codec/uri.ts'
import { toTrunk } from './numbers.ts'

/** A trunk that does not say a word for so long is passed over, ms. */
const patienceMs = 4_000

/** How long it may take to sign off, ms. */
const farewellMs = 2_000

/** What a registration depends on. */
const registrationOf = ({ host, port, transport, username, password, register, domain, ...its }: VoiceTrunk) => {
  if (!register || username === null || password === null) return null
  const { authority, serverName } = its
  return { host, port, transport, username, password, domain, authority, serverName }
}

/** The calls under way over a trunk; it outlives the trunk's settings. */
export class Load {
  calls = 0

  /** Another call. @returns what takes it back, once */
  take(): () => void {
    this.calls++
    let isTaken = true
    return () => {
      if (isTaken) this.calls--
      isTaken = false
    }
  }
}

/** The host that trunks see when they want no other one, and Unix milliseconds. */
export type TrunkGround = { readonly domain: string; now(): number }

/** One trunk as it runs: pinged, registered where it wants that, and known by its addresses. */
export class Trunk {
  readonly settings: VoiceTrunk
  private readonly agent: Agent
  private readonly now: () => number
  private readonly domain: string
  private readonly digest: DigestClient | null
  private registration: Registration | null = null
  private readonly named = new BlockList()
  /** Where its host was last found. */
  private found: ReadonlySet<string> = new Set()
  private registered: boolean | null = null
  private state: Omit<VoiceTrunkState, 'registered' | 'calls' | 'inFlight' | 'submitted'>
  private stopPing = () => {}
  private stopped: Promise<unknown> | null = null
  readonly load: Load
  private attempts = 0

  /** @param before the same trunk as it ran until now: it is stopped, but a registration that stays as it is goes on */
  constructor(settings: VoiceTrunk, agent: Agent, { domain, now }: TrunkGround, load: Load, before: Trunk | null) {
    const { username, password, addresses } = settings
    this.settings = settings
    this.agent = agent
    this.now = now
    this.load = load
    this.domain = settings.domain ?? domain
    this.digest = username !== null && password !== null ? new DigestClient({ username, password }) : null
    this.state = { state: 'connecting', since: now(), lastError: null, pingMs: null, pingedAt: null }
    for (const network of addresses.flatMap((text) => readNetwork(text) ?? []))
      this.named.addSubnet(network.base, network.bits, network.family)
    // It is found there until its name has been asked for again.
    if (before?.settings.host === settings.host) this.found = before.found
    this.register(before)
    void this.ping()
  }

  get status(): VoiceTrunkState {
    return { ...this.state, registered: this.registered, calls: this.load.calls, inFlight: 0, submitted: this.attempts }
  }

  /** How many more calls it takes. */
  get room(): number {
    return (this.settings.channels ?? Number.POSITIVE_INFINITY) - this.load.calls
  }

  isFrom(address: string): boolean {
    return this.found.has(address) || this.named.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
  }

  /** How much a request looks like one of this trunk rather than of another one at the same address. */
  likeness(request: SipRequest, { port }: Flow): number {
    const { host, domain, username } = this.settings
    const [from, ...to] = [fromOf(request).uri, toOf(request).uri, request.uri].map((uri) => uriOf(uri))
    const isNamed = to.some((uri) => uri && domain !== null && uri.host === domain.toLowerCase())
    const isCalled = to.some((uri) => uri && username !== null && userOf(uri) === username)
    const isSelf = from?.host === host.toLowerCase() && !isIP(host)
    return (
      Number(isNamed) * 8 + Number(isCalled) * 4 + Number(isSelf) * 2 + Number(port === (this.settings.port ?? 5060))
    )
  }

  /** An INVITE to a number behind it, with what the callee is shown; both of E.164. */
  ask(number: string, callerId: string): Ask {
    this.attempts++
    const user = (text: string) => escapeUser(toTrunk(this.settings, text))
    const from = `<sip:${user(callerId)}@${this.domain}>`
    return {
      ...{ uri: `sip:${user(number)}@${this.host}`, from, ...this.way, patienceMs },
      // RFC 3325: whom we vouch for.
      headers: [['P-Asserted-Identity', from]],
      ...(this.digest ? { digest: this.digest } : {}),
    }
  }

  options(): Promise<Outcome> {
    return this.agent.request('OPTIONS', {
      ...{ uri: `sip:${this.host}`, from: `<sip:ping@${this.domain}>`, ...this.way, patienceMs },
      ...(this.digest ? { digest: this.digest } : {}),
    })
  }

  /** Finds its own addresses by its name: from there it may call us. Those that were found before stay good when nobody can be asked. */
  async locate(): Promise<readonly string[]> {
    try {
      const targets = await this.agent.locate(this.uri)
      this.found = new Set(targets.map(({ address }) => address))
      return [...this.found]
    } catch {
      return []
    }
  }

  stop(): Promise<unknown> {
    this.stopped ??= this.end()
    return this.stopped
  }

  private end(): Promise<unknown> {
    this.stopPing()
    this.state = { ...this.state, state: 'closed', since: this.now() }
    // Nobody waits long for a carrier that is not there: its registration ends by itself.
    const patience = new Promise<void>((resolve) => this.agent.timers.after(farewellMs, resolve))
    return Promise.race([this.registration?.stop(), patience])
  }

  private get host(): string {
    const { host, port } = this.settings
    return `${isIP(host) ? hostOf(host) : host}${port === null ? '' : `:${port}`}`
  }

  private get uri(): string {
    return `sip:${this.host};transport=${this.settings.transport}`
  }

  /** Where requests of ours go to, and what is believed there: another trunk at the same host may believe something else. */
  private get way(): { via: string; trust: Trust } {
    const { authority, serverName } = this.settings
    return { via: this.uri, trust: { ca: authority, name: serverName } }
  }

  private register(before: Trunk | null): void {
    const wanted = registrationOf(this.settings)
    const isKept = before !== null && isDeepStrictEqual(wanted, registrationOf(before.settings))
    if (wanted) this.registered = false
    if (isKept) {
      this.registration = before.registration
      before.registration = null
      this.registration?.follow((state) => this.changed(state))
    } else if (before === null) this.signOn(wanted)
    // Its farewell names the same Contact: said later, it would take this registration back.
    else void before.stop().then(() => this.signOn(wanted))
  }

  private signOn(wanted: ReturnType<typeof registrationOf>): void {
    if (wanted === null || this.stopped) return
    const { username, password, domain, host } = wanted
    this.registration = new Registration(this.agent, {
      registrar: `sip:${this.host}`,
      address: `<sip:${escapeUser(username)}@${domain ?? host}>`,
      ...{ credentials: { username, password }, ...this.way },
      changed: (state) => this.changed(state),
    })
  }

  private changed(state: RegistrationState): void {
    this.registered = state.state === 'registered'
    if ('reason' in state) this.state = { ...this.state, lastError: state.reason }
  }

  /** OPTIONS, as long as it runs: any answer is a sign of life. */
  private async ping(): Promise<void> {
    await this.locate()
    const began = this.agent.timers.now()
    const outcome = await this.options()
    if (this.stopped) return
    this.pinged(outcome, Math.round(this.agent.timers.now() - began))
    this.stopPing = this.agent.timers.after(this.settings.pingSeconds * 1_000, () => void this.ping())
  }

  private pinged(outcome: Outcome, pingMs: number): void {
    const at = this.now()
    const isUp = outcome.outcome === 'answered'
    const state = isUp ? 'up' : 'down'
    const since = this.state.state === state ? this.state.since : at
    this.state = isUp
      ? { ...this.state, state, since, pingMs, pingedAt: at }
      : { ...this.state, state, since, lastError: outcome.reason }
    if (isUp) this.found = new Set([...this.found, outcome.flow.address])
  }
}
