import { isIP } from 'node:net'

/** Session descriptions (RFC 8866) of one audio stream: offers and answers (RFC 3264) for a media engine. */

export type Direction = 'sendrecv' | 'sendonly' | 'recvonly' | 'inactive'

/** A payload type and its codec; `name` is in lower case, such as `pcmu`, `opus`, `telephone-event`. */
export type Format = {
  readonly type: number
  readonly name: string
  readonly clock: number
  readonly parameters: string
}

/** ICE and DTLS parameters of the peer (RFC 8839, RFC 8842). */
export type Security = {
  readonly ufrag: string
  readonly password: string
  readonly fingerprints: readonly { readonly algorithm: string; readonly value: string }[]
  readonly setup: 'active' | 'passive' | 'actpass'
}

/** An SRTP key in a description (RFC 4568): 16 octets of key, 14 of salt, for AES_CM_128_HMAC_SHA1_80. */
export type SdpCrypto = { readonly tag: number; readonly key: Buffer }

export type AudioDescription = {
  readonly address: string
  readonly port: number
  readonly rtcpPort: number
  readonly isMuxed: boolean
  readonly protocol: string
  readonly direction: Direction
  readonly formats: readonly Format[]
  /** Milliseconds of audio per packet that the peer prefers to receive, and at most (RFC 8866, 6.4 and 6.5). */
  readonly ptime: number | null
  readonly maxptime: number | null
  readonly mid: string | null
  readonly security: Security | null
  /** Supported keys, best first. */
  readonly crypto: readonly SdpCrypto[]
  /** All m= lines in order, as an answer must have the same number; `index` is that of the audio. */
  readonly lines: readonly string[]
  readonly index: number
}

/** Static payload types, which need no a=rtpmap (RFC 3551, 6). */
const staticTypes: Record<number, string> = { 0: 'PCMU/8000', 8: 'PCMA/8000' }

const maxBytes = 65_536
const maxLines = 32

const isDirection = (word: string): word is Direction => /^(?:sendrecv|sendonly|recvonly|inactive)$/.test(word)

/** Directions for an address of all zeros, the former way to signal hold: nothing may be sent (RFC 3264, 8.4). */
const heldDirections = {
  sendrecv: 'sendonly',
  sendonly: 'sendonly',
  recvonly: 'inactive',
  inactive: 'inactive',
} as const

/** True for multicast (RFC 1112, 4; RFC 4291, 2.7) and broadcast: media must go to one peer. */
const isMulticast = (address: string): boolean =>
  /^(?:22[4-9]|23\d)\./.test(address) || /^ff/i.test(address) || address === '255.255.255.255'

type Section = { readonly media: string; readonly lines: readonly string[] }

const find = (lines: readonly string[], start: string): string | null =>
  lines
    .find((line) => line.startsWith(start))
    ?.slice(start.length)
    .trim() ?? null

/** Returns a positive number of milliseconds; null if it is missing or malformed. */
const millisecondsOf = (lines: readonly string[], name: 'ptime' | 'maxptime'): number | null => {
  const word = find(lines, `a=${name}:`) ?? ''
  return /^\d{1,5}(?:\.\d{1,9})?$/.test(word) && Number(word) > 0 ? Number(word) : null
}

/** The lines of a description. Some peers leave white space at their ends, which has no meaning in any of them. */
export const sdpLines = (text: string): string[] => text.split(/\r?\n/).map((line) => line.trimEnd())

const sections = (text: string): { session: readonly string[]; media: readonly Section[] } => {
  const lines = sdpLines(text)
  const starts = lines.flatMap((line, i) => (line.startsWith('m=') ? [i] : []))
  const media = starts.map((start, i) => ({
    media: (lines[start] ?? '').slice(2).trim(),
    lines: lines.slice(start + 1, starts[i + 1]),
  }))
  return { session: lines.slice(0, starts[0] ?? lines.length), media }
}

/** Returns the values of an attribute by payload type; the first of two counts. */
const byType = (lines: readonly string[], name: 'rtpmap' | 'fmtp'): ReadonlyMap<string, string> => {
  const start = `a=${name}:`
  const found = new Map<string, string>()
  for (const line of lines) {
    const space = line.startsWith(start) ? line.indexOf(' ') : -1
    const type = line.slice(start.length, space)
    if (space >= 0 && !found.has(type)) found.set(type, line.slice(space + 1).trim())
  }
  return found
}

/** Returns the formats of a line without duplicates, as a line may repeat types. */
const formatsOf = (types: readonly string[], lines: readonly string[]): Format[] => {
  const [maps, parameters] = [byType(lines, 'rtpmap'), byType(lines, 'fmtp')]
  return [...new Set(types)].flatMap((word) => {
    const type = Number(word)
    const map = maps.get(word) ?? staticTypes[type] ?? ''
    const [name = '', clock = ''] = map.split('/')
    if (!/^\d{1,3}$/.test(word) || type > 127 || name === '' || !/^\d{1,6}$/.test(clock)) return []
    return [{ type, name: name.toLowerCase(), clock: Number(clock), parameters: parameters.get(word) ?? '' }]
  })
}

const securityOf = (lines: readonly string[]): Security | null => {
  const ufrag = find(lines, 'a=ice-ufrag:')
  const password = find(lines, 'a=ice-pwd:')
  const setup = find(lines, 'a=setup:')
  const fingerprints = lines
    .filter((line) => line.startsWith('a=fingerprint:'))
    .map((line) => line.slice('a=fingerprint:'.length).trim().split(/\s+/))
    .map(([algorithm = '', value = '']) => ({ algorithm: algorithm.toLowerCase(), value: value.toUpperCase() }))
  if (!ufrag || !password || fingerprints.length === 0) return null
  return { ufrag, password, fingerprints, setup: setup === 'active' || setup === 'passive' ? setup : 'actpass' }
}

/** Returns the usable keys. Skips other suites, several keys, key identifiers, and parameters that change the packets
 *  (RFC 4568, 6.3). */
const cryptoOf = (lines: readonly string[]): SdpCrypto[] =>
  lines.flatMap((line) => {
    const found =
      /^a=crypto:(\d{1,9}) AES_CM_128_HMAC_SHA1_80 inline:([A-Za-z\d+/]{40})(?:\|[\d^]+)?((?: +\S+)*)\s*$/.exec(line)
    if (!found?.[1] || !found[2]) return []
    const isPlain = (found[3] ?? '').split(/ +/).every((word) => /^(?:|WSH=.*|KDR=0|-.*)$/.test(word))
    return isPlain ? [{ tag: Number(found[1]), key: Buffer.from(found[2], 'base64') }] : []
  })

/**
 * Parses a session description.
 * @param fitness rates an audio stream; 0: unusable. The first of the best streams is chosen.
 * @returns the audio stream, or an error text
 */
export const readAudio = (
  text: string,
  fitness: (audio: AudioDescription) => number = () => 1,
): AudioDescription | string => {
  if (text.length > maxBytes) return `a session description is at most ${maxBytes} bytes long`
  const { session, media } = sections(text)
  if (media.length > maxLines) return `more than ${maxLines} media`
  const read = media.flatMap((section, index) =>
    /^audio [1-9]/.test(section.media) ? [readSection(session, media, section, index)] : [],
  )
  const audios = read.filter((audio) => typeof audio !== 'string')
  const [best] = audios.filter((audio) => fitness(audio) > 0).toSorted((a, b) => fitness(b) - fitness(a))
  if (best) return best
  if (audios.length > 0) return `${audios.map(({ protocol }) => protocol).join(', ')} is not supported`
  return read.find((audio) => typeof audio === 'string') ?? 'the session description has no audio'
}

const readSection = (
  session: readonly string[],
  media: readonly Section[],
  audio: Section,
  index: number,
): AudioDescription | string => {
  const [, portWord = '', protocol = '', ...types] = audio.media.split(/\s+/)
  const port = Number(portWord.split('/')[0])
  if (!Number.isInteger(port) || port > 65_535) return `m=audio has the invalid port ${portWord}`
  const address = (find(audio.lines, 'c=') ?? find(session, 'c='))?.split(/\s+/)[2]?.split('/')[0]
  if (!address) return 'the session description has no address (c=)'
  const both = [...audio.lines, ...session]
  const word = both.map((line) => line.slice(2)).find(isDirection) ?? 'sendrecv'
  const security = securityOf(both)
  // ICE does not use this address. Host names (RFC 8866, 5.7) are resolved before, where they are.
  if (!security && isIP(address) === 0) return `c= must be an IP address, not ${address.slice(0, 64)}`
  if (!security && isMulticast(address)) return `c= must be the address of one host, not ${address.slice(0, 64)}`
  const rtcp = Number((find(audio.lines, 'a=rtcp:') ?? '').split(/\s+/)[0])
  return {
    address,
    port,
    rtcpPort: rtcp > 0 && rtcp < 65_536 ? rtcp : port + 1,
    isMuxed: audio.lines.some((line) => line.trim() === 'a=rtcp-mux'),
    protocol,
    // With ICE an address of all zeros has no meaning (RFC 8839, 4.2.1.3).
    direction: address === '0.0.0.0' && !security ? heldDirections[word] : word,
    formats: formatsOf(types, audio.lines),
    ptime: millisecondsOf(audio.lines, 'ptime'),
    maxptime: millisecondsOf(audio.lines, 'maxptime'),
    mid: find(audio.lines, 'a=mid:'),
    security,
    crypto: cryptoOf(audio.lines),
    lines: media.map((section) => section.media),
    index,
  }
}

/** Our audio stream. With `security` it is for a browser (RFC 8827), else plain RTP. */
export type LocalAudio = {
  readonly id: string
  readonly version: number
  readonly address: string
  readonly port: number
  readonly rtcpPort: number
  readonly isMuxed: boolean
  readonly direction: Direction
  readonly protocol: string
  readonly formats: readonly Format[]
  readonly ssrc: number
  readonly name: string
  readonly security: {
    ufrag: string
    password: string
    fingerprint: string
    setup: Security['setup']
    /** Addresses for connectivity checks, best first. */
    candidates: readonly { address: string; port: number }[]
  } | null
  /** SRTP key that the description carries (RFC 4568). */
  readonly crypto?: { readonly tag: number; readonly suite: string; readonly key: string } | null
  /** Offer that this description answers. */
  readonly offer: AudioDescription | null
}

const securityLines = (own: LocalAudio): string[] => {
  if (!own.security) return []
  const { ufrag, password, fingerprint, setup, candidates } = own.security
  return [
    `a=mid:${own.offer?.mid ?? '0'}`,
    `a=ice-ufrag:${ufrag}`,
    `a=ice-pwd:${password}`,
    `a=fingerprint:sha-256 ${fingerprint}`,
    `a=setup:${setup}`,
    // Host candidates of one component, by the formula of RFC 8445, 5.1.2.1.
    ...candidates.map(
      ({ address, port }, i) => `a=candidate:${i + 1} 1 udp ${2_130_706_431 - 256 * i} ${address} ${port} typ host`,
    ),
    'a=end-of-candidates',
    `a=msid:${own.name} audio`,
    `a=ssrc:${own.ssrc} cname:${own.name}`,
  ]
}

/** Formats a session description. Refuses the offer's media other than its audio (RFC 3264, 6). */
export const writeAudio = (own: LocalAudio): string => {
  const family = own.address.includes(':') ? 'IP6' : 'IP4'
  const audio = [
    `m=audio ${own.port} ${own.protocol} ${own.formats.map(({ type }) => type).join(' ')}`,
    `c=IN ${family} ${own.address}`,
    ...own.formats.flatMap(({ type, name, clock, parameters }) => [
      `a=rtpmap:${type} ${wireName(name)}/${clock}${name === 'opus' ? '/2' : ''}`,
      ...(parameters ? [`a=fmtp:${type} ${parameters}`] : []),
    ]),
    // The length that we prefer to receive. Each direction has its own (RFC 3264, 6.1).
    'a=ptime:20',
    `a=${own.direction}`,
    ...(own.isMuxed ? ['a=rtcp-mux'] : []),
    ...(own.isMuxed || own.rtcpPort === own.port + 1 ? [] : [`a=rtcp:${own.rtcpPort}`]),
    ...(own.crypto ? [`a=crypto:${own.crypto.tag} ${own.crypto.suite} inline:${own.crypto.key}`] : []),
    ...securityLines(own),
  ]
  const media = own.offer
    ? own.offer.lines.map((line, i) =>
        i === own.offer?.index ? audio : [`m=${refused(line)}`, `c=IN ${family} ${own.address}`],
      )
    : [audio]
  const session = [
    'v=0',
    `o=- ${own.id} ${own.version} IN ${family} ${own.address}`,
    's=-',
    `c=IN ${family} ${own.address}`,
    't=0 0',
    ...(own.security ? ['a=ice-lite', `a=group:BUNDLE ${own.offer?.mid ?? '0'}`] : []),
  ]
  return [...session, ...media.flat(), ''].join('\r\n')
}

const wireName = (name: string) => (name === 'pcmu' || name === 'pcma' ? name.toUpperCase() : name)

const refused = (line: string) => {
  const [kind = '', , ...others] = line.split(/\s+/)
  return [kind, '0', ...others].join(' ')
}
