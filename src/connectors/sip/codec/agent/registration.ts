import { randomBytes } from 'node:crypto'
import { type Credentials, DigestClient } from '../digest/client.ts'
import { contactsOf, cseqOf, expiresOf, retryAfterOf } from '../fields.ts'
import { header, type SipResponse } from '../message.ts'
import type { Trust } from '../transport/flow.ts'
import type { Agent } from './agent.ts'
import type { Ask } from './ask.ts'
import type { Outcome } from './exchange.ts'

export type RegistrationSettings = {
  /** The registrar's URI: `sip:carrier.test`. */
  readonly registrar: string
  /** Who registers: `<sip:user@carrier.test>`. */
  readonly address: string
  readonly credentials?: Credentials
  /** Asked for, seconds. */
  readonly seconds?: number
  readonly via?: Ask['via']
  readonly trust?: Trust
  /** Called with each change. */
  changed(state: RegistrationState): void
}

export type RegistrationState =
  | { readonly state: 'registering' | 'ended' }
  /** For so many seconds from now; it is refreshed before. */
  | { readonly state: 'registered'; readonly seconds: number }
  /** The registrar said no, or nothing: it is asked again in so many seconds. */
  | { readonly state: 'refused' | 'unreachable'; readonly reason: string; readonly retrySeconds: number }

/** RFC 5626, 4.5: base and most of what is waited after failures, seconds. */
const baseSeconds = 30
const mostSeconds = 1_800

/** What the registrar granted to our contact. */
const grantedBy = (response: SipResponse, contact: string | null, asked: number): number => {
  const contacts = contactsOf(response)
  const own = contacts === '*' ? undefined : contacts.find(({ uri }) => contact?.includes(uri))
  return expiresOf(response, own) ?? asked
}

/** Keeps one address registered with a registrar (RFC 3261, 10.2), until it is told to stop. */
export class Registration {
  private readonly agent: Agent
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
  private asking: Promise<void> = Promise.resolve()

  constructor(agent: Agent, { changed, ...settings }: RegistrationSettings) {
    this.agent = agent
    this.settings = settings
    this.changed = changed
    this.digest = settings.credentials ? new DigestClient(settings.credentials) : null
    this.seconds = settings.seconds ?? 600
    changed(this.state)
    this.refresh()
  }

  /** Somebody else wants to know from now on: how it stands, and each change. */
  follow(changed: RegistrationSettings['changed']): void {
    this.changed = changed
    changed(this.state)
  }

  /** Takes the registration back. */
  async stop(): Promise<void> {
    if (this.isStopped) return
    this.isStopped = true
    this.stopTimer()
    await this.asking
    await this.ask(0)
    this.become({ state: 'ended' })
  }

  private refresh(): void {
    this.asking = this.ask(this.seconds).then((outcome) => {
      if (!this.isStopped) this.settle(outcome)
    })
  }

  private async ask(seconds: number): Promise<Outcome> {
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
    // Answers to challenges took numbers of their own.
    this.cseq = (outcome.outcome === 'answered' ? cseqOf(outcome.request).number : this.cseq + 10) + 1
    return outcome
  }

  private settle(outcome: Outcome): void {
    if (outcome.outcome === 'failed') this.retry('unreachable', outcome.reason, null)
    else if (outcome.response.status < 300) this.registered(outcome.response, header(outcome.request, 'Contact'))
    else if (outcome.response.status === 423) this.lengthen(outcome.response)
    else this.retry('refused', `${outcome.response.status} ${outcome.response.reason}`, retryAfterOf(outcome.response))
  }

  private registered(response: SipResponse, contact: string | null): void {
    this.failures = 0
    const seconds = Math.max(1, grantedBy(response, contact, this.seconds))
    this.become({ state: 'registered', seconds })
    // Early enough for another try before it ends.
    this.again(Math.max(seconds * 0.8, seconds - 60))
  }

  /** The registrar wants a longer interval (10.2.8). */
  private lengthen(response: SipResponse): void {
    const least = Number(header(response, 'Min-Expires') ?? Number.NaN)
    if (!(least > this.seconds && least <= 86_400)) this.retry('refused', '423 Interval Too Brief', null)
    else {
      this.seconds = least
      this.refresh()
    }
  }

  private retry(state: 'refused' | 'unreachable', reason: string, asked: number | null): void {
    const backoff = Math.min(mostSeconds, baseSeconds * 2 ** this.failures)
    this.failures++
    const retrySeconds = Math.min(mostSeconds, Math.max(asked ?? 0, backoff))
    this.become({ state, reason, retrySeconds })
    this.again(retrySeconds)
  }

  private become(state: RegistrationState): void {
    this.state = state
    this.changed(state)
  }

  private again(seconds: number): void {
    this.stopTimer = this.agent.timers.after(seconds * 1_000, () => this.refresh())
  }
}
