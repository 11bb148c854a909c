import type { LongMode } from '../../lib/segments.ts'

/** What an operator says of one SMPP connection. Everything but the address and the account has a default. */
export type SmppSettings = {
  readonly host: string
  readonly port: number
  readonly system_id: string
  /** Up to eight characters by the standard; longer ones are sent as they are. */
  readonly password: string
  readonly system_type?: string
  /** What a bind calls itself, default 3.4 (5.2.4). */
  readonly interface_version?: '3.3' | '3.4' | '5.0'
  /** Addresses that binds which receive ask for, as the carrier says (5.2.7). */
  readonly address_range?: string
  /** `transceiver` unless the carrier wants one connection for each direction; `pair` makes both of them. */
  readonly bind?: 'transceiver' | 'transmitter' | 'receiver' | 'pair'
  /** How many binds, or pairs of them; default 1. */
  readonly binds?: number
  readonly tls?: boolean
  /** PEM of the certificate authority that alone is believed. */
  readonly tls_ca?: string
  readonly tls_server_name?: string
  /** Unanswered submits of a bind at a time, default 10. */
  readonly window?: number
  /** Parts a second over all binds, evenly paced; no limit by default. */
  readonly tps?: number
  /** Parts a second of one sender, evenly paced; no limit by default. */
  readonly tps_per_sender?: number
  /** How parts of a long message are tied together, default `udh8`. */
  readonly long?: LongMode
  readonly service_type?: string
  /** Types of number and numbering plans (5.2.5, 5.2.6) in place of those that follow from the number. */
  readonly source_ton?: number
  readonly source_npi?: number
  readonly destination_ton?: number
  readonly destination_npi?: number
  /** data_coding of texts in the GSM alphabet, default 0. */
  readonly gsm_data_coding?: number
  /** What data_coding 0 stands for in texts that come in, default `gsm7`. */
  readonly alphabet?: 'gsm7' | 'latin1'
  /** Country calling code of numbers that come in national form. */
  readonly calling_code?: string
  /** How long a request waits for its answer, default 10. */
  readonly response_seconds?: number
  /** Silence after which the carrier is asked whether it lives, default 30. */
  readonly enquire_seconds?: number
  /** The longest wait between attempts to connect, default 60, and 2 on loopback. */
  readonly reconnect_seconds?: number
}
