/** A session description (RFC 8866). What is not looked at is kept and printed where it belongs. */

export type Attribute = readonly [name: string, value: string | null]

/** `b=AS:64` → `['b', 'AS:64']`. */
type Line = readonly [letter: string, value: string]

export type Media = {
  readonly kind: string
  /** 0 when the stream is refused or ended. */
  readonly port: number
  /** `RTP/AVP`, `UDP/TLS/RTP/SAVPF` … */
  readonly protocol: string
  readonly formats: readonly string[]
  /** The address of its own c=; null where the session's counts. */
  readonly address: string | null
  readonly attributes: readonly Attribute[]
  readonly others: readonly Line[]
}

export type Sdp = {
  readonly origin: {
    readonly user: string
    /** Digits, up to 64 bits. */
    readonly id: string
    readonly version: string
    readonly address: string
  }
  readonly name: string
  readonly address: string | null
  readonly attributes: readonly Attribute[]
  readonly media: readonly Media[]
  readonly others: readonly Line[]
}

/** What is no session description. */
export class SdpError extends Error {}

const mostMedia = 32
const mostLines = 2_000

const readConnection = (value: string): string => {
  const [, address] = /^IN IP[46] ([^\s/]+)/i.exec(value) ?? []
  if (address === undefined) throw new SdpError(`c=${value.slice(0, 60)} is not a connection`)
  return address
}

const readAttribute = (value: string): Attribute => {
  const colon = value.indexOf(':')
  return colon < 0 ? [value.trim(), null] : [value.slice(0, colon), value.slice(colon + 1).trimEnd()]
}

const readOrigin = (value: string): Sdp['origin'] => {
  const [, user, id, version, address] = /^(\S+) (\d{1,20}) (\d{1,20}) IN IP[46] (\S+)$/i.exec(value.trim()) ?? []
  if (user === undefined || id === undefined || version === undefined || address === undefined)
    throw new SdpError(`o=${value.slice(0, 60)} is not an origin`)
  return { user, id, version, address }
}

const readMedia = (value: string): Media => {
  const [, kind = '', port, protocol = '', formats = ''] =
    /^(\S+) (\d{1,5})(?:\/\d+)? (\S+)((?: \S+)*)$/.exec(value.trim()) ?? []
  if (port === undefined || Number(port) > 65_535) throw new SdpError(`m=${value.slice(0, 60)} is not a stream`)
  const listed = formats.split(' ').filter((format) => format !== '')
  return { kind, port: Number(port), protocol, formats: listed, address: null, attributes: [], others: [] }
}

type Part = { address: string | null; attributes: Attribute[]; others: Line[] }

const addLine = (part: Part, letter: string, value: string): void => {
  if (letter === 'c') part.address = readConnection(value)
  else if (letter === 'a') part.attributes.push(readAttribute(value))
  else if ('iuepbtrzk'.includes(letter)) part.others.push([letter, value])
  // A letter that is not known is passed over (5).
}

/** @throws SdpError */
export const readSdp = (text: string): Sdp => {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  if (lines.length > mostLines) throw new SdpError(`more than ${mostLines} lines`)
  if (lines[0]?.trim() !== 'v=0') throw new SdpError('the first line is not v=0')
  let origin: Sdp['origin'] | null = null
  let name = '-'
  const session: Part = { address: null, attributes: [], others: [] }
  const media: (Media & Part)[] = []
  for (const line of lines.slice(1)) {
    const [, letter, value = ''] = /^([a-z])=(.*)$/s.exec(line) ?? []
    if (letter === undefined) throw new SdpError(`"${line.slice(0, 60)}" is not a line of SDP`)
    if (letter === 'm') media.push({ ...readMedia(value), address: null, attributes: [], others: [] })
    else if (letter === 'o') origin ??= readOrigin(value)
    else if (letter === 's') name = value
    else addLine(media.at(-1) ?? session, letter, value)
  }
  if (!origin) throw new SdpError('the origin (o=) is missing')
  if (media.length > mostMedia) throw new SdpError(`more than ${mostMedia} streams`)
  return { origin, name, media, ...session }
}

const family = (address: string): string => `IN ${address.includes(':') ? 'IP6' : 'IP4'} ${address}`

const order = 'iuepcbtrzk'
const inOrder = (lines: readonly Line[]): string[] =>
  lines.toSorted(([a], [b]) => order.indexOf(a) - order.indexOf(b)).map(([letter, value]) => `${letter}=${value}`)

const connection = (address: string | null): Line[] => (address === null ? [] : [['c', family(address)]])
const times = (lines: readonly Line[]): Line[] => (lines.some(([letter]) => letter === 't') ? [] : [['t', '0 0']])
const printAttribute = ([name, value]: Attribute): string => (value === null ? `a=${name}` : `a=${name}:${value}`)

export const printSdp = ({ origin, name, address, attributes, media, others }: Sdp): string =>
  [
    'v=0',
    `o=${origin.user} ${origin.id} ${origin.version} ${family(origin.address)}`,
    `s=${name}`,
    ...inOrder([...others, ...connection(address), ...times(others)]),
    ...attributes.map(printAttribute),
    ...media.flatMap((stream) => [
      `m=${[stream.kind, stream.port, stream.protocol, ...stream.formats].join(' ')}`,
      ...inOrder([...stream.others, ...connection(stream.address)]),
      ...stream.attributes.map(printAttribute),
    ]),
    '',
  ].join('\r\n')

/** The value of the first attribute of a name; `''` for a mere flag, null when it is missing. */
export const attribute = (part: { readonly attributes: readonly Attribute[] }, name: string): string | null => {
  const found = part.attributes.find(([own]) => own === name)
  return found ? (found[1] ?? '') : null
}

export const attributes = (part: { readonly attributes: readonly Attribute[] }, name: string): string[] =>
  part.attributes.flatMap(([own, value]) => (own === name && value !== null ? [value] : []))

/**
 * The description as werift can read it: its parser throws on `a=rtcp:<port>` without an address, which RFC 3605, 2.1 allows and
 * rtpengine writes. Line ends become CRLF.
 */
export const sanitised = (text: string): string =>
  `${text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '' && !/^a=rtcp:\d+\s*$/.test(line))
    .join('\r\n')}\r\n`
