import { Pacer } from '../../platform/lib/pacer.ts'
import { SenderLimiter } from '../../platform/lib/sender-limiter.ts'
import { storable } from '../../platform/lib/storable.ts'
import type { CarrierState, SmsCarrier, SmsDeps, SmsPart, SubmitResult, UnsentReason } from '../../ports/sms.ts'
import { type HttpClient, makeHttpClient, type RequestResult } from './http-client.ts'
import {
  busySeconds,
  capacityRetryMs,
  defaultResponseMs,
  defaultWindow,
  deniedRetryMs,
  drainTimeoutMs,
  maxCodeLength,
  maxDetail,
  maxFailures,
  maxIdLength,
  maxPauseSeconds,
  maxRetrySeconds,
  probeIntervalMs,
  unsentSeconds,
} from './limits.ts'
import type { Provider, ProviderAnswer, ProviderRequest, SubmitAnswer } from './provider.ts'
import type { SmsHttpSettings } from './sms-http-settings.ts'

/** The interface of the provider with the settings of a connection. */
type BoundProvider = {
  submit(part: SmsPart): ProviderRequest
  read(part: SmsPart, answer: ProviderAnswer): SubmitAnswer
  test(): ProviderRequest | null
}

/** Binds an interface to settings. */
export const bindProvider = <S>(provider: Provider<S>, settings: S): BoundProvider => ({
  submit: (part) => provider.submit(settings, part),
  read: (part, answer) => provider.read(settings, part, answer),
  test: () => provider.test?.(settings) ?? null,
})

const unsent = (reason: UnsentReason, ms: number): SubmitResult => ({
  outcome: 'retry',
  wasSent: false,
  reason,
  seconds: ms > 0 ? ms / 1_000 : unsentSeconds,
})

/** Statuses that mean: try again later. */
const busyStatuses: ReadonlySet<number> = new Set([429, 503])

/** The status of refused credentials (RFC 9110, 15.5.2). */
const deniedStatus = 401

/** Returns a code of the provider as a stable code of ours. */
const reasonOf = (provider: string, code: string | null, status: number): string => {
  const word = (code ?? '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .slice(0, maxCodeLength)
    .replaceAll(/^_|_$/g, '')
  return word === '' ? `http_${status}` : `${provider}_${word}`
}

/** A connection to a provider: its pace, its window and its state. It is up while the last request got an answer,
 *  unless that was the refusal of our credentials. */
class HttpCarrier implements SmsCarrier {
  readonly #provider: BoundProvider
  readonly #settings: SmsHttpSettings
  readonly #deps: SmsDeps
  readonly #client: HttpClient = makeHttpClient()
  readonly #pacer: Pacer
  readonly #senderLimits: SenderLimiter
  readonly #timeoutMs: number
  #since = Date.now()
  #inFlight = 0
  #submitted = 0
  /** Requests without an answer, in a row. */
  #failures = 0
  /** Whether the provider refused our credentials. Messages wait until it accepts them. */
  #isDenied = false
  #lastError: string | null = null
  /** When the next part may try a carrier that is down, by the monotonic clock. */
  #nextProbe = 0
  /** Until when the carrier asked us to wait, by the monotonic clock. */
  #pausedUntil = 0
  #isFull = false
  #isNotifying = false
  #timer: NodeJS.Timeout | null = null
  #closing: Promise<void> | null = null
  #onDrained: (() => void) | null = null

  constructor(provider: BoundProvider, settings: SmsHttpSettings, deps: SmsDeps) {
    const part = deps.share.held / deps.share.of
    const { window = defaultWindow, tps, tps_per_sender: perSender, response_seconds: seconds } = settings
    this.#provider = provider
    this.#settings = settings
    this.#deps = deps
    this.#timeoutMs = seconds === undefined ? defaultResponseMs : seconds * 1_000
    this.#pacer = new Pacer(
      tps === undefined ? tps : tps * part,
      Math.max(1, Math.floor(window * part)),
      performance.now(),
    )
    this.#senderLimits = new SenderLimiter(perSender === undefined ? perSender : perSender * part)
    setImmediate(() => deps.events.changed())
  }

  state(): CarrierState {
    const isDown = this.#isDown()
    return {
      state: this.#closing ? 'closed' : isDown ? 'down' : 'up',
      since: this.#since,
      lastError: this.#lastError,
      fatal: this.#isDenied,
      inFlight: this.#inFlight,
      submitted: this.#submitted,
      window: isDown ? 0 : this.#pacer.window(performance.now()),
      links: [],
    }
  }

  isUp(): boolean {
    return !this.#closing && (!this.#isDown() || this.#mayProbe(performance.now()))
  }

  freeWindow(): number {
    if (this.#closing) return 0
    const now = performance.now()
    const room = this.#roomAt(now)
    if (room === 0) this.#awaitCapacity(now)
    return room
  }

  async submit(part: SmsPart): Promise<SubmitResult> {
    const now = performance.now()
    if (!this.isUp()) return unsent('link_down', 0)
    if (this.freeWindow() === 0) return unsent('no_capacity', Math.max(this.#waitMs(now), capacityRetryMs))
    const wait = this.#senderLimits.waitMs(part.source, now)
    if (wait > 0) return unsent('sender_rate_limit', wait)
    this.#pacer.consume(now)
    this.#senderLimits.consume(part.source, 1, now)
    if (this.#isDown()) this.#nextProbe = now + probeIntervalMs
    const result = await this.#send(this.#provider.submit(part))
    if (result.kind !== 'answer') {
      this.#note(result.detail)
      if (result.kind === 'unsent') return unsent('link_down', 0)
      return { outcome: 'unknown', reason: 'unanswered', detail: result.detail }
    }
    const read = this.#read(part, result.answer)
    this.#note(null, read.meaning === 'denied' ? read.words : null)
    return this.#resultOf(read, result.answer)
  }

  async test(): Promise<{ working: boolean; message: string }> {
    const request = this.#provider.test()
    if (!request) {
      const isUp = !this.#isDown()
      const hint = 'the provider has no request that only tests: send a message to a number of yours'
      return { working: isUp, message: isUp ? `up; ${hint}` : (this.#lastError ?? 'down') }
    }
    const result = await this.#send(request)
    if (result.kind !== 'answer') {
      this.#note(result.detail)
      return { working: false, message: result.detail }
    }
    const { status, body } = result.answer
    if (status >= 200 && status < 300) {
      this.#note(null)
      return { working: true, message: 'up' }
    }
    return { working: false, message: `the provider answered ${status}: ${storable(body, maxDetail)}` }
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  async #shutDown(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer)
    if (this.#inFlight > 0)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, drainTimeoutMs)
        this.#onDrained = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    this.#client.close()
  }

  #isDown(): boolean {
    return this.#isDenied || this.#failures >= maxFailures
  }

  #mayProbe(now: number): boolean {
    return this.#inFlight === 0 && now >= this.#nextProbe
  }

  #roomAt(now: number): number {
    if (now < this.#pausedUntil) return 0
    if (this.#isDown()) return this.#mayProbe(now) ? 1 : 0
    return Math.max(0, Math.min(this.#pacer.window(now) - this.#inFlight, this.#pacer.available(now)))
  }

  /** Milliseconds until time alone gives capacity; 0 if an answer must come first. */
  #waitMs(now: number): number {
    const probe = this.#isDown() ? this.#nextProbe - now : 0
    return Math.max(this.#pacer.waitMs(now), this.#pausedUntil - now, probe, 0)
  }

  async #send(request: ProviderRequest): Promise<RequestResult> {
    this.#inFlight++
    this.#submitted++
    this.#isFull ||= this.#roomAt(performance.now()) === 0
    const result = await this.#client.request(request, this.#timeoutMs)
    this.#inFlight--
    if (this.#inFlight === 0) this.#onDrained?.()
    if (this.#isFull) this.#notifySoon()
    return result
  }

  /**
   * Learns from a request whether the carrier is up.
   * @param failure why no answer came; null for an answer
   * @param denial the provider's words if it refused our credentials
   */
  #note(failure: string | null, denial: string | null = null): void {
    const wasDown = this.#isDown()
    this.#lastError = failure ?? denial
    if (failure === null) {
      this.#failures = 0
      this.#isDenied = denial !== null
    } else this.#failures++
    const isDown = this.#isDown()
    if (isDown) this.#nextProbe = performance.now() + (this.#isDenied ? deniedRetryMs : probeIntervalMs)
    if (isDown === wasDown) {
      if (isDown) this.#awaitCapacity(performance.now())
      return
    }
    this.#since = Date.now()
    this.#deps.log(isDown ? 'warn' : 'info', isDown ? 'down' : 'up', {
      provider: this.#settings.provider,
      reason: this.#lastError ?? '',
    })
    if (isDown) this.#awaitCapacity(performance.now())
    this.#deps.events.changed()
  }

  /** Reads an answer. Statuses that mean the same at every provider go before its own codes. */
  #read(part: SmsPart, answer: ProviderAnswer): SubmitAnswer {
    const read = this.#provider.read(part, answer)
    const { status } = answer
    if (read.meaning === 'taken') return read
    if (busyStatuses.has(status)) return { meaning: 'busy', code: 'code' in read ? read.code : null }
    // The provider may have taken the message before it failed.
    if (status >= 500) return { meaning: 'unclear', words: `the provider answered ${status}` }
    const isDenied = read.meaning === 'denied' || (read.meaning === 'refused' && status === deniedStatus)
    if (!isDenied) return read
    const words = read.words === '' ? '' : `: ${read.words}`
    return { meaning: 'denied', words: storable(`the provider refused the credentials (${status})${words}`, maxDetail) }
  }

  #resultOf(read: SubmitAnswer, answer: ProviderAnswer): SubmitResult {
    const { provider } = this.#settings
    const { status } = answer
    switch (read.meaning) {
      case 'taken':
        return { outcome: 'accepted', carrierId: storable(read.id, maxIdLength) }
      case 'busy':
        return this.#busy(reasonOf(provider, read.code, status), answer)
      case 'unclear':
        return { outcome: 'unknown', reason: 'unanswered', detail: storable(read.words, maxDetail) }
      // As with a refused bind, this says nothing about the message: it waits, or goes over another connection.
      case 'denied':
        return unsent('link_down', 0)
      case 'refused': {
        const [reason, detail] = [reasonOf(provider, read.code, status), storable(read.words, maxDetail)]
        return { outcome: 'refused', reason, ...(detail === '' ? {} : { detail }) }
      }
    }
  }

  #busy(reason: string, { retryAfter }: ProviderAnswer): SubmitResult {
    const now = performance.now()
    this.#pacer.slowDown(now)
    const seconds = Math.min(retryAfter ?? busySeconds, maxPauseSeconds)
    if (retryAfter !== null) this.#pausedUntil = Math.max(this.#pausedUntil, now + seconds * 1_000)
    return { outcome: 'retry', wasSent: true, reason, seconds: Math.min(seconds, maxRetrySeconds) }
  }

  #awaitCapacity(now: number): void {
    this.#isFull = true
    const wait = this.#waitMs(now)
    if (wait === 0 || this.#timer || this.#closing) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#notifyCapacity()
    }, Math.ceil(wait))
  }

  /** Notifies once for all answers of this turn. */
  #notifySoon(): void {
    if (this.#isNotifying) return
    this.#isNotifying = true
    setImmediate(() => this.#notifyCapacity())
  }

  #notifyCapacity(): void {
    this.#isNotifying = false
    if (!this.#isFull || this.freeWindow() === 0) return
    this.#isFull = false
    this.#deps.events.changed()
  }
}

/** Connects to a provider. Nothing is sent until a part is submitted. */
export const connectHttp = (provider: BoundProvider, settings: SmsHttpSettings, deps: SmsDeps): SmsCarrier =>
  new HttpCarrier(provider, settings, deps)
