import type { AudioDescription, LocalAudio } from '@trunkline/rtp/sdp.ts'

/** Transport of a leg's packets: plain UDP, or ICE with DTLS-SRTP. The leg's side is unencrypted. */
export type Transport = {
  /** Returns the transport part of our session description. */
  describe(): Pick<LocalAudio, 'address' | 'port' | 'rtcpPort' | 'isMuxed' | 'security' | 'crypto'>
  /** Applies the peer's description, the first or a later one.
   *  @param source address of the peer's signalling; null: unchanged */
  setRemote(description: AudioDescription, source?: string | null): void
  send(packet: Buffer): void
  sendRtcp(packet: Buffer): void
  readonly local: string
  readonly remote: string | null
  /** Number of packets from unannounced addresses. */
  readonly dropped: number
  close(): void
}

export type TransportEvents = {
  rtp(packet: Buffer): void
  rtcp(packet: Buffer): void
  connected(): void
  /** The peer proved to be alive otherwise than by media: a signed connectivity check (RFC 7675). */
  alive(): void
  failed(reason: string): void
  /** Called for the first packet from an unannounced address. */
  dropped(from: string, expected: string): void
}

/** Addresses shared by the legs of a worker. */
export type TransportAddresses = {
  /** Local address of the sockets. */
  readonly bind: string
  /** Address in session descriptions. */
  readonly advertised: string
  /** Whether browsers on this machine may use another of its addresses too. */
  readonly offersOwnAddress: boolean
}

export const formatAddress = ({ address, port }: { address: string; port: number }): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
