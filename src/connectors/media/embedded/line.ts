import type { AudioDescription, OwnAudio } from '../../../lib/sdp.ts'

/** What carries a leg's packets: plain UDP, or ICE with DTLS-SRTP. Packets are in the clear on this side. */
export type Line = {
  /** What a description of ours says of it. */
  own(): Pick<OwnAudio, 'address' | 'port' | 'rtcpPort' | 'isMuxed' | 'security' | 'crypto'>
  /** The peer's description, the first one or another: where it is from now on.
   *  @param source where its signalling comes from; null: as before */
  setRemote(description: AudioDescription, source?: string | null): void
  send(packet: Buffer): void
  sendRtcp(packet: Buffer): void
  readonly local: string
  readonly remote: string | null
  /** Packets from addresses that nothing announced. */
  readonly dropped: number
  close(): void
}

export type LineEvents = {
  rtp(packet: Buffer): void
  rtcp(packet: Buffer): void
  connected(): void
  failed(reason: string): void
  /** The first packet from an address that nothing announced. */
  dropped(from: string, expected: string): void
}

/** What a worker's legs have in common: where their sockets are bound, and the address that descriptions name. */
export type Place = { readonly bind: string; readonly advertised: string }

export const addressOf = ({ address, port }: { address: string; port: number }): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
