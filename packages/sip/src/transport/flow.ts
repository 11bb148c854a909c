/** `LOCAL`: from a user agent to itself. */
export type Protocol = 'UDP' | 'TCP' | 'TLS' | 'WS' | 'WSS' | 'LOCAL'

/** An address to send to. */
export type SipTarget = {
  readonly protocol: Protocol
  /** IP address; IPv6 without brackets. */
  readonly address: string
  readonly port: number
  /** The name that the peer's certificate must show. Default: the address. */
  readonly serverName?: string
  /** Overrides what the peer must show over TLS. */
  readonly trust?: TlsTrust
}

/** The expected TLS identity of a peer. */
export type TlsTrust = {
  /** PEM of the only trusted authority; null: the authorities of the machine. */
  readonly ca: string | null
  /** The expected name; null: the name of the target. */
  readonly name: string | null
}

/**
 * A path to one peer: an address for datagrams, or a connection. Responses use the flow of their request (RFC 3261,
 * 18.2.2).
 */
export type Flow = {
  /** Identifies the peer and, where there is one, the connection. */
  readonly id: string
  readonly protocol: Protocol
  /** The peer's address. */
  readonly address: string
  readonly port: number
  readonly isOpen: boolean
  /** False when the octets cannot have left: the connection is gone, or its peer does not read. */
  send(octets: Buffer): boolean
  close(reason: string): void
  /** The same peer at another port, for datagrams; a connection returns itself. */
  withPort(port: number): Flow
}

export const isReliable = ({ protocol }: { readonly protocol: Protocol }): boolean => protocol !== 'UDP'

/** Our address in Via and Contact: the public one if it differs from the bound one. */
export type SentBy = { readonly host: string; readonly port: number | null }

export type Transport = {
  readonly protocol: Protocol
  readonly sentBy: SentBy
  /** The flow to a peer, connected if necessary. @throws Error when it cannot be reached */
  flow(target: SipTarget): Promise<Flow>
  close(): Promise<void>
}

/** Receives the traffic of a transport. Neither function throws. */
export type TransportReceiver = {
  received(octets: Buffer, flow: Flow): void
  closed(flow: Flow, reason: string): void
}

/** Makes the id of a connection. */
export const makeFlowId = (() => {
  let last = 0
  return (protocol: Protocol): string => `${protocol}-${++last}`
})()

/** An address in the form of a header. */
export const formatHost = (address: string): string => (address.includes(':') ? `[${address}]` : address)

/** Octets that a peer may leave unread before its connection is closed. */
export const maxUnread = 1_048_576
