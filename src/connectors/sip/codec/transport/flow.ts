export type Protocol = 'UDP' | 'TCP' | 'TLS' | 'WS' | 'WSS'

/** Where to send to. */
export type Target = {
  readonly protocol: Protocol
  /** IP address, an IPv6 one without brackets. */
  readonly address: string
  readonly port: number
  /** The name that the peer's certificate must show; the address when there is none. */
  readonly serverName?: string
  /** What it must show over TLS, where whoever asks knows better than the transport. */
  readonly trust?: Trust
}

/** What the certificate of a peer over TLS must show. */
export type Trust = {
  /** PEM of the only authority that is believed; null: those of the machine. */
  readonly ca: string | null
  /** The name in it; null: the target's. */
  readonly name: string | null
}

/** A way to one peer: an address for datagrams, or a connection. Answers go the way that their request came (RFC 3261, 18.2.2). */
export type Flow = {
  /** The same as long as it is the same peer and, where there is one, the same connection. */
  readonly id: string
  readonly protocol: Protocol
  /** The peer. */
  readonly address: string
  readonly port: number
  readonly isOpen: boolean
  /** False when the octets cannot have left: the connection is gone, or its peer does not read. */
  send(octets: Buffer): boolean
  close(reason: string): void
  /** The same peer at another port, for datagrams; a connection is as it is. */
  toward(port: number): Flow
}

export const isReliable = ({ protocol }: { readonly protocol: Protocol }): boolean => protocol !== 'UDP'

/** What our side says of itself in Via and Contact: the public address where the bound one is another. */
export type SentBy = { readonly host: string; readonly port: number | null }

export type Transport = {
  readonly protocol: Protocol
  readonly sentBy: SentBy
  /** The flow to a peer, connected if need be. @throws Error when it cannot be reached */
  flow(target: Target): Promise<Flow>
  close(): Promise<void>
}

/** To whom a transport tells what comes in. Neither function throws. */
export type Receiver = {
  received(octets: Buffer, flow: Flow): void
  closed(flow: Flow, reason: string): void
}

/** The id of a connection. */
export const makeFlowId = (() => {
  let last = 0
  return (protocol: Protocol): string => `${protocol}-${++last}`
})()

/** An address as it stands in a header. */
export const hostOf = (address: string): string => (address.includes(':') ? `[${address}]` : address)

/** Octets that a peer may leave unread before its connection is given up. */
export const mostUnread = 1_048_576
