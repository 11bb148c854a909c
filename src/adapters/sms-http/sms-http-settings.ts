import type { ReceiptState } from '../../ports/sms.ts'

/** Settings of every provider. */
type Common = {
  /** Requests at a time. Default: 10. */
  readonly window?: number
  /** Parts per second, evenly paced. Default: no limit. */
  readonly tps?: number
  /** Parts per second of one sender. Default: no limit. */
  readonly tps_per_sender?: number
  /** Longest wait for an answer. Default: 10. */
  readonly response_seconds?: number
  /** Processes that may share the connection; each has its part of pace and window. Default: 1. */
  readonly slots?: number
  /** States by the provider's words in receipts. They go before the known words. */
  readonly receipt_states?: Readonly<Record<string, ReceiptState>>
}

/** The settings that `generic` is made of (docs/operating/carriers-http.md). */
export type GenericSettings = Common & {
  readonly provider: 'generic'
  /** Where a message is submitted: a template. */
  readonly url: string
  /** Default: POST with a body, else GET. */
  readonly method?: 'GET' | 'POST'
  /** Templates by header. */
  readonly headers?: Readonly<Record<string, string>>
  /** A template. */
  readonly body?: string
  /** Escaping of values in the body. Default: json. */
  readonly body_type?: 'json' | 'form' | 'text'
  readonly username?: string
  readonly password?: string
  readonly token?: string
  /** Number form in requests: with `+` or digits alone. Default: e164. */
  readonly number_form?: 'e164' | 'digits'
  /** Statuses of answers that may mean that the message was taken. Default: 200 to 299. */
  readonly success_status?: readonly number[]
  /** A pattern that the body of such an answer must match. */
  readonly success_pattern?: string
  /** JSON pointer, or pattern with a group, of the provider's id. Without either, ours is used. */
  readonly id_path?: string
  readonly id_pattern?: string
  /** JSON pointer, or pattern with a group, of the provider's code in a refusal. */
  readonly error_path?: string
  readonly error_pattern?: string
  /** Codes of the provider that mean: try again later. */
  readonly retry_codes?: readonly string[]
  /** Codes of the provider that mean: the credentials are wrong. */
  readonly denied_codes?: readonly string[]
  /** Where test asks: a template, requested with the same headers. */
  readonly test_url?: string
  /** Fields of receipts. */
  readonly receipt_id?: string
  readonly receipt_state?: string
  readonly receipt_error?: string
  readonly receipt_token?: string
  /** Fields of inbound messages. */
  readonly inbound_from?: string
  readonly inbound_to?: string
  readonly inbound_text?: string
  readonly inbound_id?: string
  readonly inbound_reference?: string
  readonly inbound_part?: string
  readonly inbound_parts?: string
  /** Proof of origin of callbacks. */
  readonly callback_secret?: string
  readonly callback_header?: string
  readonly callback_hash?: 'sha1' | 'sha256' | 'sha512'
  readonly callback_encoding?: 'hex' | 'base64'
  readonly callback_addresses?: readonly string[]
  /** Body of our answer to a callback. Default: empty. */
  readonly callback_answer?: string
}

export type TwilioSettings = Common & {
  readonly provider: 'twilio'
  /** Default: https://api.twilio.com */
  readonly base_url?: string
  readonly account_sid: string
  readonly auth_token: string
  /** A messaging service that chooses the sender. */
  readonly messaging_service_sid?: string
}

export type TelnyxSettings = Common & {
  readonly provider: 'telnyx'
  /** Default: https://api.telnyx.com */
  readonly base_url?: string
  readonly api_key: string
  /** Base64 of the account's Ed25519 key, which signs callbacks. */
  readonly public_key: string
  readonly messaging_profile_id?: string
}

export type VonageSettings = Common & {
  readonly provider: 'vonage'
  /** Default: https://rest.nexmo.com */
  readonly base_url?: string
  readonly api_key: string
  readonly api_secret: string
  readonly signature_secret: string
  /** Default: sha256. */
  readonly signature_method?: 'md5hash' | 'md5' | 'sha1' | 'sha256' | 'sha512'
}

export type BandwidthSettings = Common & {
  readonly provider: 'bandwidth'
  /** Default: https://messaging.bandwidth.com/api/v2 */
  readonly base_url?: string
  readonly account_id: string
  readonly application_id: string
  readonly username: string
  readonly password: string
  readonly callback_username: string
  readonly callback_secret: string
}

export type KannelSettings = Common & {
  readonly provider: 'kannel'
  /** Address of smsbox with the path of sendsms: http://127.0.0.1:13013/cgi-bin/sendsms */
  readonly base_url: string
  readonly username: string
  readonly password: string
  /** Secret in the address of inbound messages. */
  readonly callback_secret?: string
  /** The SMSC to use. Default: Kannel's own routes. */
  readonly smsc?: string
}

/** Settings by provider. Schemas of the domain validate them. */
export type SettingsByProvider = {
  generic: GenericSettings
  twilio: TwilioSettings
  telnyx: TelnyxSettings
  vonage: VonageSettings
  bandwidth: BandwidthSettings
  kannel: KannelSettings
}

export type ProviderName = keyof SettingsByProvider

export type SmsHttpSettings = Common & { readonly provider: ProviderName; readonly base_url?: string }
