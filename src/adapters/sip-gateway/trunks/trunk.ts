import { BlockList, isIP, isIPv4 } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { DigestClient } from '@trunkline/sip/digest/digest-client.ts'
import { contactsOf, fromOf, type NameAddr, toOf } from '@trunkline/sip/fields.ts'
import type { SipRequest, SipResponse } from '@trunkline/sip/message.ts'
import { telephoneNumberOf } from '@trunkline/sip/telephone-number.ts'
import { type Flow, formatHost, type TlsTrust } from '@trunkline/sip/transport/flow.ts'
import { escapeUser, type SipUri, uriOf, userOf } from '@trunkline/sip/uri.ts'
import { Registration, type RegistrationState } from '@trunkline/sip/user-agent/registration.ts'
import type { RequestOptions } from '@trunkline/sip/user-agent/request.ts'
import type { RequestOutcome } from '@trunkline/sip/user-agent/uac.ts'
import type { UserAgent } from '@trunkline/sip/user-agent/user-agent.ts'
import { readNetwork } from '../../../platform/lib/outbound-address.ts'
import type { VoiceTrunk, VoiceTrunkChange, VoiceTrunkState } from '../../../ports/voice.ts'
import { trunkTimeoutMs, unregisterMs } from '../limits.ts'
import { fromTrunkNumber, toTrunkNumber } from './number-format.ts'

/** The settings that determine a registration. */
const registrationOf = ({ host, port, transport, username, password, register, domain, ...its }: VoiceTrunk) => {
  if (!register || username === null || password === null) return null
  const { authority, serverName } = its
  return { host, port, transport, username, password, domain, authority, serverName }
}

/** Contacts of a redirection, the preferred ones first (RFC 3261, 20.10). */
const byPreference = (contacts: readonly NameAddr[]): NameAddr[] =>
  contacts.toSorted((a, b) => Number(b.params.get('q') ?? 1) - Number(a.params.get('q') ?? 1))

/** True if a redirection leads to the dialled number, or to a user that is no number, such as a trunk group. */
const isSameNumber = (settings: VoiceTrunk, uri: string, dialled: string): boolean => {
  const [next, first] = [uri, dialled].map((one) => fromTrunkNumber(settings, telephoneNumberOf(one)?.user ?? ''))
  return next === first || !/^\+?[\d().\s-]*\d{3}/.test(next ?? '')
}

/** The active calls of a trunk; survives changes of the trunk's settings. */
export class TrunkLoad {
  calls = 0

  /** Counts another call. @returns a function that releases it, once */
  addCall(): () => void {
    this.calls++
    let isTaken = true
    return () => {
      if (isTaken) this.calls--
      isTaken = false
    }
  }
}

/** The host that trunks see if their settings name none, and Unix milliseconds. */
export type TrunkDeps = {
  readonly domain: string
  now(): number
  /** Called when a trunk goes down or comes back. */
  changed?(change: VoiceTrunkChange): void
}

/** One running trunk: pinged, registered if configured, and recognised by its addresses. */
export class Trunk {
  readonly settings: VoiceTrunk
  private readonly agent: UserAgent
  private readonly now: () => number
  private readonly domain: string
  private readonly report: (what: VoiceTrunkChange['what'], reason?: string) => void
  private readonly digest: DigestClient | null
  private registration: Registration | null = null
  private readonly networks = new BlockList()
  /** The addresses of its host at the last lookup. */
  private resolvedAddresses: ReadonlySet<string> = new Set()
  private registered: boolean | null = null
  /** Whether the last registration succeeded, for reports; null before the first answer. */
  private wasRegistered: boolean | null = null
  /** Route of our calls, as the registrar of the carrier wants it (RFC 3608). */
  private serviceRoutes: readonly string[] = []
  private state: Omit<VoiceTrunkState, 'registered' | 'calls' | 'inFlight' | 'submitted'>
  private stopPing = () => {}
  private stopped: Promise<unknown> | null = null
  readonly load: TrunkLoad
  private attempts = 0

  /** @param before the running trunk that this one replaces: it is stopped, but an unchanged registration continues */
  constructor(
    settings: VoiceTrunk,
    agent: UserAgent,
    { domain, now, changed }: TrunkDeps,
    load: TrunkLoad,
    before: Trunk | null,
  ) {
    const { username, password, addresses } = settings
    this.settings = settings
    this.agent = agent
    this.now = now
    this.load = load
    this.domain = settings.domain ?? domain
    this.report = (what, reason) => changed?.({ name: settings.name, what, reason: reason ?? null })
    this.digest = username !== null && password !== null ? new DigestClient({ username, password }) : null
    this.state = { state: 'connecting', since: now(), lastError: null, pingMs: null, pingedAt: null }
    for (const network of addresses.flatMap((text) => readNetwork(text) ?? []))
      this.networks.addSubnet(network.base, network.bits, network.family)
    // Valid until the name has been looked up again.
    if (before?.settings.host === settings.host) this.resolvedAddresses = before.resolvedAddresses
    this.register(before)
    void this.ping()
  }

  get status(): VoiceTrunkState {
    return { ...this.state, registered: this.registered, calls: this.load.calls, inFlight: 0, submitted: this.attempts }
  }

  /** Free channels. */
  get freeChannels(): number {
    return (this.settings.channels ?? Number.POSITIVE_INFINITY) - this.load.calls
  }

  isFrom(address: string): boolean {
    return this.resolvedAddresses.has(address) || this.networks.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
  }

  /** Scores how well a request matches this trunk among the trunks at the same address. */
  matchScore(request: SipRequest, { port }: Flow): number {
    const { host, domain, username } = this.settings
    const [from, ...to] = [fromOf(request).uri, toOf(request).uri, request.uri].map((uri) => uriOf(uri))
    const isNamed = to.some((uri) => uri && domain !== null && uri.host === domain.toLowerCase())
    const isCalled = to.some((uri) => uri && username !== null && userOf(uri) === username)
    const isSelf = from?.host === host.toLowerCase() && !isIP(host)
    return (
      Number(isNamed) * 8 + Number(isCalled) * 4 + Number(isSelf) * 2 + Number(port === (this.settings.port ?? 5060))
    )
  }

  /** An INVITE to a number behind the trunk, with the number to show; both E.164. */
  inviteRequest(number: string, callerId: string): RequestOptions {
    this.attempts++
    const user = (text: string) => escapeUser(toTrunkNumber(this.settings, text))
    const from = `<sip:${user(callerId)}@${this.domain}>`
    const [first] = this.serviceRoutes
    const via = first === undefined ? undefined : /<([^>]*)>/.exec(first)?.[1]
    return {
      ...{ uri: `sip:${user(number)}@${this.host}`, from, ...this.route, timeoutMs: trunkTimeoutMs },
      ...(via === undefined ? {} : { via }),
      headers: [
        ...this.serviceRoutes.map((route) => ['Route', route] as const),
        // RFC 3325: the identity that we assert.
        ['P-Asserted-Identity', from],
      ],
      ...(this.digest ? { digest: this.digest } : {}),
    }
  }

  /**
   * Returns where a redirection leads: to an address of the trunk itself, which alone gets our calls and credentials,
   * and to the same number, as the price and the permission are those of the dialled one. Null when it leads elsewhere.
   * @param tried Request-URIs that were tried
   */
  async redirection(
    response: SipResponse,
    dialled: string,
    tried: readonly string[],
  ): Promise<Pick<RequestOptions, 'uri' | 'via' | 'trust'> | null> {
    const contacts = contactsOf(response)
    for (const { uri: text } of contacts === '*' ? [] : byPreference(contacts)) {
      const uri = uriOf(text)
      // A header part would be ours to copy into the request.
      if (!uri || uri.headers !== null || tried.includes(text) || !isSameNumber(this.settings, text, dialled)) continue
      const address = await this.ownAddressOf(uri)
      if (address === null) continue
      const { transport, host, authority, serverName } = this.settings
      const port = uri.port === null ? '' : `:${uri.port}`
      return {
        ...{ uri: text, via: `sip:${isIP(address) ? formatHost(address) : address}${port};transport=${transport}` },
        trust: { ca: authority, name: serverName ?? (isIP(host) ? null : host) },
      }
    }
    return null
  }

  /** Returns the trunk's address, or its host, that a URI names; null if it names others. */
  private async ownAddressOf(uri: SipUri): Promise<string | null> {
    const bare = uri.host.replace(/^\[|\]$/g, '')
    if (bare === this.settings.host.toLowerCase() || (isIP(bare) && this.isFrom(bare))) return bare
    if (isIP(bare)) return null
    try {
      const found = await this.agent.locate(`sip:${uri.host}${uri.port === null ? '' : `:${uri.port}`}`)
      // Sent to an address that was checked: the name could lead elsewhere the next time.
      return found.length > 0 && found.every(({ address }) => this.isFrom(address)) ? (found[0]?.address ?? null) : null
    } catch {
      return null
    }
  }

  options(): Promise<RequestOutcome> {
    return this.agent.request('OPTIONS', {
      ...{ uri: `sip:${this.host}`, from: `<sip:ping@${this.domain}>`, ...this.route, timeoutMs: trunkTimeoutMs },
      ...(this.digest ? { digest: this.digest } : {}),
    })
  }

  /**
   * Looks up the addresses of its host, from which it may call us. The previous ones stay valid if the lookup fails.
   */
  async locate(): Promise<readonly string[]> {
    try {
      const targets = await this.agent.locate(this.uri)
      this.resolvedAddresses = new Set(targets.map(({ address }) => address))
      return [...this.resolvedAddresses]
    } catch {
      return []
    }
  }

  stop(): Promise<unknown> {
    this.stopped ??= this.shutDown()
    return this.stopped
  }

  private shutDown(): Promise<unknown> {
    this.stopPing()
    this.state = { ...this.state, state: 'closed', since: this.now() }
    // Waits only briefly for an unreachable carrier, whose registration expires by itself.
    const patience = new Promise<void>((resolve) => this.agent.timers.after(unregisterMs, resolve))
    return Promise.race([this.registration?.stop(), patience])
  }

  private get host(): string {
    const { host, port } = this.settings
    return `${isIP(host) ? formatHost(host) : host}${port === null ? '' : `:${port}`}`
  }

  private get uri(): string {
    return `sip:${this.host};transport=${this.settings.transport}`
  }

  /**
   * Target and expected TLS identity of our requests. Another trunk at the same host may expect a different identity.
   */
  private get route(): { via: string; trust: TlsTrust } {
    const { authority, serverName } = this.settings
    return { via: this.uri, trust: { ca: authority, name: serverName } }
  }

  private register(before: Trunk | null): void {
    const registration = registrationOf(this.settings)
    const isUnchanged = before !== null && isDeepStrictEqual(registration, registrationOf(before.settings))
    if (registration) this.registered = false
    if (isUnchanged) {
      this.registration = before.registration
      before.registration = null
      this.registration?.setListener((state) => this.changed(state))
    } else if (before === null) this.startRegistration(registration)
    // Unregistering names the same Contact: sent later, it would remove the new registration.
    else void before.stop().then(() => this.startRegistration(registration))
  }

  private startRegistration(registration: ReturnType<typeof registrationOf>): void {
    if (registration === null || this.stopped) return
    const { username, password, domain, host } = registration
    this.registration = new Registration(this.agent, {
      registrar: `sip:${this.host}`,
      address: `<sip:${escapeUser(username)}@${domain ?? host}>`,
      ...{ credentials: { username, password }, ...this.route },
      changed: (state) => this.changed(state),
    })
  }

  private changed(state: RegistrationState): void {
    const isRegistered = state.state === 'registered'
    const reason = 'reason' in state ? state.reason : undefined
    if (isRegistered && this.wasRegistered !== true) this.report('registered')
    if (reason !== undefined && this.wasRegistered !== false) this.report('unregistered', reason)
    if (isRegistered || reason !== undefined) this.wasRegistered = isRegistered
    this.registered = isRegistered
    this.serviceRoutes = state.state === 'registered' ? state.routes : []
    if ('reason' in state) this.state = { ...this.state, lastError: state.reason }
  }

  /** Sends OPTIONS periodically while it runs. A response, even a refusal, proves that the trunk is alive. */
  private async ping(): Promise<void> {
    await this.locate()
    const began = this.agent.timers.now()
    const outcome = await this.options()
    if (this.stopped) return
    this.handlePing(outcome, Math.round(this.agent.timers.now() - began))
    this.stopPing = this.agent.timers.after(this.settings.pingSeconds * 1_000, () => void this.ping())
  }

  private handlePing(outcome: RequestOutcome, pingMs: number): void {
    const at = this.now()
    const isUp = outcome.outcome === 'answered'
    const state = isUp ? 'up' : 'down'
    const isNew = this.state.state !== state
    const since = isNew ? at : this.state.since
    if (isNew) this.report(state, isUp ? undefined : outcome.reason)
    this.state = isUp
      ? { ...this.state, state, since, pingMs, pingedAt: at }
      : { ...this.state, state, since, lastError: outcome.reason }
    if (isUp) this.resolvedAddresses = new Set([...this.resolvedAddresses, outcome.flow.address])
  }
}
