import type { CallbackReply } from '../../ports/callback.ts'
import type { SmsAdvice, SmsCallback, SmsIntake, SmsPart } from '../../ports/sms.ts'

/** A request to a provider. */
export type ProviderRequest = {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/** An answer of a provider. The body is cut at the limit. */
export type ProviderAnswer = {
  readonly status: number
  readonly body: string
  /** Seconds of the header Retry-After; null without one. */
  readonly retryAfter: number | null
}

/** Meaning of an answer to a submit. `code`: the provider's, or null if its answer has none. */
export type SubmitAnswer =
  | { readonly meaning: 'taken'; readonly id: string }
  /** Try again later, after the seconds of the answer if it states some. */
  | { readonly meaning: 'busy'; readonly code: string | null }
  | { readonly meaning: 'refused'; readonly code: string | null; readonly words: string }
  /** The provider refuses our credentials, and so every message. The status 401 means this without a code. */
  | { readonly meaning: 'denied'; readonly words: string }
  /** The answer does not say whether the message was taken. */
  | { readonly meaning: 'unclear'; readonly words: string }

/** A provider's interface, without state. */
export type Provider<Settings> = {
  submit(settings: Settings, part: SmsPart): ProviderRequest
  read(settings: Settings, part: SmsPart, answer: ProviderAnswer): SubmitAnswer
  /** A harmless request, such as for the balance, whose answer proves the account. Absent: the provider has none. */
  test?(settings: Settings): ProviderRequest | null
  /** Whether messages may have files. Absent: no. */
  takesMedia?(settings: Settings): boolean
  /** Headers with which a file of an inbound message is fetched. Absent: none. */
  mediaHeaders?(settings: Settings, url: string): Readonly<Record<string, string>>
  /** Answers a callback; 401 if it is not genuine. */
  callback(settings: Settings, request: SmsCallback, intake: SmsIntake): Promise<CallbackReply>
  /** The provider's codes in words for people. Codes get the provider's name as prefix: `twilio_21211`. */
  readonly reasons: ReadonlyMap<string, { readonly text: string; readonly advice: SmsAdvice }>
}
