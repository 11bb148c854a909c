import type { LongMode } from '../../lib/segments.ts'

/** What an operator says of one SMPP connection. Everything but the address and the account has a default. */
export type SmppSettings = {
  readonly host: string
  readonly port: number
  readonly system_id: string
  /** Up to eight characters by the standard; longer ones are sent as they are. */
  readonly password: string
  readonly system_type?: string
  /** `transceiver` unless the carrier wants one connection for each direction. */
  readonly bind?: 'transceiver' | 'transmitter' | 'receiver'
  readonly tls?: boolean
  /** PEM of the certificate authority that alone is believed. */
  readonly tls_ca?: string
  readonly tls_server_name?: string
  /** Unanswered submits at a time, default 10. */
  readonly window?: number
  /** Parts a second, evenly paced; no limit by default. */
  readonly tps?: number
  /** How parts of a long message are tied together, default `udh8`. */
  readonly long?: LongMode
  /** How long a request waits for its answer, default 10. */
  readonly response_seconds?: number
  /** Silence after which the carrier is asked whether it lives, default 30. */
  readonly enquire_seconds?: number
  /** The longest wait between attempts to connect, default 60, and 2 on loopback. */
  readonly reconnect_seconds?: number
}
