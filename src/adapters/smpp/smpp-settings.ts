import type { Language } from '@trunkline/phone/gsm-national.ts'
import type { ConcatenationMode } from '@trunkline/phone/segments.ts'
import type { ReceiptState } from '../../ports/sms.ts'

/** Settings of one SMPP connection. Everything but the address and the account has a default. */
export type SmppSettings = {
  readonly host: string
  readonly port: number
  readonly system_id: string
  /** At most eight characters in the standard; longer ones are sent unchanged. */
  readonly password: string
  readonly system_type?: string
  /** The interface version of binds (5.2.4). Default: 3.4. */
  readonly interface_version?: '3.3' | '3.4' | '5.0'
  /** Addresses that receiving binds request, as the carrier specifies (5.2.7). */
  readonly address_range?: string
  /** `pair` opens one connection for each direction. Default: `transceiver`. */
  readonly bind?: 'transceiver' | 'transmitter' | 'receiver' | 'pair'
  /** Number of binds, or of pairs. Default: 1. */
  readonly binds?: number
  readonly tls?: boolean
  /** PEM of the only trusted certificate authority. */
  readonly tls_ca?: string
  readonly tls_server_name?: string
  /** Maximum number of unanswered submits of a bind. Default: 10. */
  readonly window?: number
  /** Parts per second over all binds, evenly paced. Default: no limit. */
  readonly tps?: number
  /** Parts per second of one sender, evenly paced. Default: no limit. */
  readonly tps_per_sender?: number
  /** Concatenation of the parts of a long message. Default: `udh8`. */
  readonly long?: ConcatenationMode
  /** Languages whose shift tables the carrier supports. Default: none. */
  readonly national_languages?: readonly Language[]
  readonly service_type?: string
  /** Override the types of number and numbering plans (5.2.5, 5.2.6) derived from the number. */
  readonly source_ton?: number
  readonly source_npi?: number
  readonly destination_ton?: number
  readonly destination_npi?: number
  /** data_coding of texts in the GSM alphabet. Default: 0. */
  readonly gsm_data_coding?: number
  /** Meaning of data_coding 0 in inbound messages. Default: `gsm7`. */
  readonly alphabet?: 'gsm7' | 'latin1'
  /** States by the carrier's own words in receipts (`stat`), or by its numbers. They go before the known words. */
  readonly receipt_states?: Readonly<Record<string, ReceiptState>>
  /** Receipts may lack the type in esm_class; a sent part must have their id and handset. Default: no. */
  readonly receipts_without_esm_class?: boolean
  /** Whether parts without a receipt are asked for with query_sm (4.8). Default: yes. */
  readonly query_sm?: boolean
  /** Country calling code of inbound numbers in national form. */
  readonly calling_code?: string
  /** How long a request waits for its response. Default: 10. */
  readonly response_seconds?: number
  /** Silence after which enquire_link is sent. Default: 30. */
  readonly enquire_seconds?: number
  /** The longest wait between connection attempts. Default: 60, and 2 on loopback. */
  readonly reconnect_seconds?: number
}
