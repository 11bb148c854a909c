import { randomBytes } from 'node:crypto'
import { DigestClient, type DigestCredentials } from '../digest/digest-client.ts'
import { contactsOf, cseqOf, expiresOf, printNameAddr, retryAfterOf, routesOf } from '../fields.ts'
import { header, type SipResponse } from '../message.ts'
import type { TlsTrust } from '../transport/flow.ts'
import type { RequestOptions } from './request.ts'
import type { RequestOutcome } from './uac.ts'
import type { UserAgent } from './user-agent.ts'

export type RegistrationSettings = {
  /** The registrar's URI: `sip:carrier.test`. */
  readonly registrar: string
  /** The address of record: `<sip:user@carrier.test>`. */
  readonly address: string
  readonly credentials?: DigestCredentials
  /** Requested lifetime, seconds. Default: 600. */
  readonly seconds?: number
  readonly via?: RequestOptions['via']
  readonly trust?: TlsTrust
  /** Called on each state change. */
  changed(state: RegistrationState): void
}

export type RegistrationState =
  | { readonly state: 'registering' | 'ended' }
  /**
   * Valid for `seconds` from now; refreshed before it expires. `routes`: values of Route for requests outside dialogs,
   * as the registrar wants them (RFC 3608).
   */
  | { readonly state: 'registered'; readonly seconds: number; readonly routes: readonly string[] }
  /** The registrar refused or did not answer. The next attempt is after `retrySeconds`. */
  | { readonly state: 'refused' | 'unreachable'; readonly reason: string; readonly retrySeconds: number }

/** RFC 5626, 4.5: first and longest delay after failures, seconds. */
const firstRetrySeconds = 30
const maxRetrySeconds = 1_800

/** The lifetime that the registrar granted to our contact. */
const grantedSeconds = (response: SipResponse, contact: string | null, requested: number): number => {
  const contacts = contactsOf(response)
  const own = contacts === '*' ? undefined : contacts.find(({ uri }) => contact?.includes(uri))
  return expiresOf(response, own) ?? requested
}

/** The route that the registrar wants; none if it is malformed. */
const serviceRoutesOf = (response: SipResponse): string[] => {
  try {
    return routesOf(response, 'Service-Route').map(printNameAddr)
  } catch {
    return []
  }
}

/** Keeps one address registered with a registrar (RFC 3261, 10.2) until `stop`. */
export class Registration {
  private readonly agent: UserAgent
  private readonly settings: Omit<RegistrationSettings, 'changed'>
  private state: RegistrationState = { state: 'registering' }
  private changed: RegistrationSettings['changed']
  private readonly digest: DigestClient | null
  private readonly callId = randomBytes(16).toString('hex')
  private cseq = 1
  private seconds: number
  private failures = 0
  private isStopped = false
  private stopTimer = () => {}
  private pending: Promise<void> = Promise.resolve()

  constructor(agent: UserAgent, { changed, ...settings }: RegistrationSettings) {
    this.agent = agent
    this.settings = settings
    this.changed = changed
    this.digest = settings.credentials ? new DigestClient(settings.credentials) : null
    this.seconds = settings.seconds ?? 600
    changed(this.state)
    this.refresh()
  }

  /** Replaces the listener: reports the current state, then each change. */
  setListener(changed: RegistrationSettings['changed']): void {
    this.changed = changed
    changed(this.state)
  }

  /** Removes the registration. */
  async stop(): Promise<void> {
    if (this.isStopped) return
    this.isStopped = true
    this.stopTimer()
    await this.pending
    await this.sendRegister(0)
    this.setState({ state: 'ended' })
  }

  private refresh(): void {
    this.pending = this.sendRegister(this.seconds).then((outcome) => {
      if (!this.isStopped) this.handleOutcome(outcome)
    })
  }

  private async sendRegister(seconds: number): Promise<RequestOutcome> {
    const { registrar: uri, address, via, trust } = this.settings
    const outcome = await this.agent.request(
      'REGISTER',
      {
        ...{ uri, from: address, to: address, headers: [['Expires', String(seconds)]] },
        ...(via === undefined ? {} : { via }),
        ...(trust ? { trust } : {}),
        ...(this.digest ? { digest: this.digest } : {}),
      },
      { callId: this.callId, cseq: this.cseq },
    )
    // Answers to challenges used sequence numbers of their own.
    this.cseq = (outcome.outcome === 'answered' ? cseqOf(outcome.request).number : this.cseq + 10) + 1
    return outcome
  }

  private handleOutcome(outcome: RequestOutcome): void {
    if (outcome.outcome === 'failed') this.retry('unreachable', outcome.reason, null)
    else if (outcome.response.status < 300) this.registered(outcome.response, header(outcome.request, 'Contact'))
    else if (outcome.response.status === 423) this.extendInterval(outcome.response)
    else this.retry('refused', `${outcome.response.status} ${outcome.response.reason}`, retryAfterOf(outcome.response))
  }

  private registered(response: SipResponse, contact: string | null): void {
    this.failures = 0
    const seconds = Math.max(1, grantedSeconds(response, contact, this.seconds))
    this.setState({ state: 'registered', seconds, routes: serviceRoutesOf(response) })
    // Leaves time for another attempt before it expires.
    this.scheduleRefresh(Math.max(seconds * 0.8, seconds - 60))
  }

  /** The registrar requires a longer interval (10.2.8). */
  private extendInterval(response: SipResponse): void {
    const least = Number(header(response, 'Min-Expires') ?? Number.NaN)
    if (!(least > this.seconds && least <= 86_400)) this.retry('refused', '423 Interval Too Brief', null)
    else {
      this.seconds = least
      this.refresh()
    }
  }

  private retry(state: 'refused' | 'unreachable', reason: string, retryAfter: number | null): void {
    const backoff = Math.min(maxRetrySeconds, firstRetrySeconds * 2 ** this.failures)
    this.failures++
    const retrySeconds = Math.min(maxRetrySeconds, Math.max(retryAfter ?? 0, backoff))
    this.setState({ state, reason, retrySeconds })
    this.scheduleRefresh(retrySeconds)
  }

  private setState(state: RegistrationState): void {
    this.state = state
    this.changed(state)
  }

  private scheduleRefresh(seconds: number): void {
    this.stopTimer = this.agent.timers.after(seconds * 1_000, () => this.refresh())
  }
}
