import { attribute, attributes, type Media, type Sdp } from './sdp.ts'

/** What the attributes of a stream say. Nothing here throws: what is malformed is left out. */

export type Codec = {
  readonly payload: number
  /** As it was written. */
  readonly name: string
  /** Clock rate, Hz. */
  readonly rate: number
  readonly channels: number
  /** a=fmtp; null when there is none. */
  readonly parameters: string | null
}

/** Payload types that need no rtpmap (RFC 3551, 6), as far as telephony uses them. */
const fixed: Readonly<Record<number, string>> = {
  0: 'PCMU',
  3: 'GSM',
  4: 'G723',
  8: 'PCMA',
  9: 'G722',
  13: 'CN',
  18: 'G729',
}

const byPayload = (media: Media, name: string): Map<number, string> =>
  new Map(
    attributes(media, name).flatMap((value): [number, string][] => {
      const [, payload, rest] = /^(\d{1,3}) +(.+)$/.exec(value) ?? []
      return payload === undefined || rest === undefined ? [] : [[Number(payload), rest]]
    }),
  )

/** In the order of the m= line, which is the order of preference (RFC 3264, 5.1). */
export const codecsOf = (media: Media): Codec[] => {
  const maps = byPayload(media, 'rtpmap')
  const formats = byPayload(media, 'fmtp')
  return media.formats.flatMap((format): Codec[] => {
    const payload = /^\d{1,3}$/.test(format) ? Number(format) : 128
    const map = maps.get(payload) ?? (fixed[payload] && `${fixed[payload]}/8000`) ?? ''
    const [, name, rate, channels = '1'] = /^([^/\s]+)\/(\d{1,6})(?:\/(\d{1,2}))?$/.exec(map) ?? []
    if (payload > 127 || name === undefined || rate === undefined) return []
    return [{ payload, name, rate: Number(rate), channels: Number(channels), parameters: formats.get(payload) ?? null }]
  })
}

/** Milliseconds of a packet; null when it does not say. */
export const ptimeOf = (media: Media): number | null => {
  const value = attribute(media, 'ptime')
  return value !== null && /^\d{1,4}$/.test(value) ? Number(value) : null
}

const directions = ['sendrecv', 'sendonly', 'recvonly', 'inactive'] as const
export type Direction = (typeof directions)[number]

/** Where the stream is to be sent; the session's where it has none of its own. */
export const addressOf = (sdp: Sdp, media: Media): string | null => media.address ?? sdp.address

/** From the describer's point of view. The address 0.0.0.0 was how one was put on hold before (RFC 3264, 8.4). */
export const directionOf = (sdp: Sdp, media: Media): Direction => {
  const said = (part: Sdp | Media) => directions.find((direction) => attribute(part, direction) !== null)
  const direction = said(media) ?? said(sdp) ?? 'sendrecv'
  if (addressOf(sdp, media) !== '0.0.0.0' || attribute(media, 'ice-ufrag') !== null) return direction
  return direction === 'sendrecv' ? 'sendonly' : direction === 'recvonly' ? 'inactive' : direction
}

/** What to answer to an offered direction when we would do `ours` (RFC 3264, 6.1). */
export const answerDirection = (offered: Direction, ours: Direction = 'sendrecv'): Direction => {
  const send = (offered === 'sendrecv' || offered === 'recvonly') && (ours === 'sendrecv' || ours === 'sendonly')
  const receive = (offered === 'sendrecv' || offered === 'sendonly') && (ours === 'sendrecv' || ours === 'recvonly')
  return send ? (receive ? 'sendrecv' : 'sendonly') : receive ? 'recvonly' : 'inactive'
}

/** RFC 8839, 5.1. */
export type Candidate = {
  readonly foundation: string
  readonly component: number
  /** In lower case. */
  readonly transport: string
  readonly priority: number
  readonly address: string
  readonly port: number
  readonly type: string
  readonly related: { readonly address: string; readonly port: number } | null
}

const candidateForm = /^(\S+) (\d{1,5}) (\S+) (\d{1,10}) (\S+) (\d{1,5}) typ (\S+)(?: raddr (\S+) rport (\d{1,5}))?/i

export const candidatesOf = (media: Media): Candidate[] =>
  attributes(media, 'candidate').flatMap((value): Candidate[] => {
    const [, foundation, component, transport, priority, address, port, type, raddr, rport] =
      candidateForm.exec(value) ?? []
    if (foundation === undefined || transport === undefined || address === undefined || type === undefined) return []
    return [
      {
        ...{ foundation, component: Number(component), transport: transport.toLowerCase(), priority: Number(priority) },
        ...{ address, port: Number(port), type },
        related: raddr === undefined ? null : { address: raddr, port: Number(rport) },
      },
    ]
  })

export type Security = {
  readonly ice: { readonly ufrag: string; readonly password: string; readonly lite: boolean } | null
  /** RFC 8122: `sha-256` and the octets in hexadecimal; null without DTLS. */
  readonly fingerprint: { readonly hash: string; readonly value: string } | null
  /** RFC 8842. */
  readonly setup: 'active' | 'passive' | 'actpass' | 'holdconn' | null
  /** RFC 5761. */
  readonly muxed: boolean
}

const setups = ['active', 'passive', 'actpass', 'holdconn'] as const

/** How the stream is reached and protected. */
export const securityOf = (sdp: Sdp, media: Media): Security => {
  const either = (name: string) => attribute(media, name) ?? attribute(sdp, name)
  const [ufrag, password] = [either('ice-ufrag'), either('ice-pwd')]
  const [, hash, value] = /^(\S+) ([\da-f]{2}(?::[\da-f]{2})+)$/i.exec(either('fingerprint') ?? '') ?? []
  const setup = either('setup')
  return {
    ice: ufrag === null || password === null ? null : { ufrag, password, lite: attribute(sdp, 'ice-lite') !== null },
    fingerprint:
      hash === undefined || value === undefined ? null : { hash: hash.toLowerCase(), value: value.toUpperCase() },
    setup: setups.find((known) => known === setup) ?? null,
    muxed: attribute(media, 'rtcp-mux') !== null,
  }
}
