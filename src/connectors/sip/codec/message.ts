/**
 * The SIP stack, in the layers of RFC 3261 and under their names:
 *
 *   message, grammar, uri, fields, parse, print, frames   the text (7, 25), and how a stream is cut (18.3)
 *   digest/       both sides of RFC 7616
 *   sdp/          RFC 8866 and what offers need of it (RFC 3264)
 *   transport/    UDP, TCP, TLS, WebSocket (18, RFC 7118), where to send (RFC 3263)
 *   transaction/  client and server, with their timers (17, RFC 6026)
 *   dialog/       dialogs, sessions, reliable provisional answers, session timers (12 to 15, RFC 3262, RFC 4028)
 *   agent/        the user agent's core (8): what the gateway and the simulator's peer talk to
 *
 * All of it stands in codec/, for none of it knows of accounts, calls, trunks or media: the gateway beside this folder and the
 * simulator's SIP peer are two programs over the same stack. What it needs from outside is handed to it: time (`timers.ts`),
 * names, randomness, a log.
 */

/** Long name as the standard spells it, and the value without folds and outer white space. */
export type Header = readonly [name: string, value: string]

export type SipRequest = {
  readonly kind: 'request'
  readonly method: string
  /** The Request-URI as it was written. */
  readonly uri: string
  readonly headers: readonly Header[]
  readonly body: Buffer
}

export type SipResponse = {
  readonly kind: 'response'
  readonly status: number
  readonly reason: string
  readonly headers: readonly Header[]
  readonly body: Buffer
}

export type SipMessage = SipRequest | SipResponse

/** What cannot be read as SIP. `status` is what it may be answered with. */
export class SipError extends Error {
  readonly status: number

  constructor(reason: string, status = 400) {
    super(reason)
    this.status = status
  }
}

export const noBody = Buffer.alloc(0)

/** Compact forms (RFC 3261, 7.3.3; RFC 3515, 3892, 3841, 4028, 4474, 6665). */
const compact = {
  a: 'Accept-Contact',
  b: 'Referred-By',
  c: 'Content-Type',
  d: 'Request-Disposition',
  e: 'Content-Encoding',
  f: 'From',
  i: 'Call-ID',
  j: 'Reject-Contact',
  k: 'Supported',
  l: 'Content-Length',
  m: 'Contact',
  n: 'Identity-Info',
  o: 'Event',
  r: 'Refer-To',
  s: 'Subject',
  t: 'To',
  u: 'Allow-Events',
  v: 'Via',
  x: 'Session-Expires',
  y: 'Identity',
}

const spelled = [
  ...Object.values(compact),
  ...[
    'Accept',
    'Allow',
    'Authorization',
    'CSeq',
    'Date',
    'Expires',
    'Max-Forwards',
    'Min-Expires',
    'Min-SE',
    'Path',
    'Reason',
  ],
  ...[
    'P-Asserted-Identity',
    'Proxy-Authenticate',
    'Proxy-Authorization',
    'Proxy-Require',
    'RAck',
    'RSeq',
    'Record-Route',
  ],
  ...[
    'Replaces',
    'Require',
    'Retry-After',
    'Route',
    'Server',
    'Timestamp',
    'Unsupported',
    'User-Agent',
    'WWW-Authenticate',
  ],
  ...['Warning', 'Privacy', 'Service-Route', 'Diversion'],
]
const names = new Map(spelled.map((name) => [name.toLowerCase(), name]))
for (const [short, long] of Object.entries(compact)) names.set(short, long)

/** The long, usual spelling of a header's name; an unknown one stays as it is. */
export const canonical = (name: string): string => names.get(name.toLowerCase()) ?? name

type Headed = { readonly headers: readonly Header[] }

const isNamed = (own: string, asked: string): boolean =>
  own === asked || (own.length === asked.length && own.toLowerCase() === asked.toLowerCase())

/** The first value of a header, whole; null when there is none. */
export const header = ({ headers }: Headed, name: string): string | null => {
  for (const [own, value] of headers) if (isNamed(own, name)) return value
  return null
}

/** The values of all headers of a name, in order, each whole. */
export const headersOf = ({ headers }: Headed, name: string): string[] =>
  headers.flatMap(([own, value]) => (isNamed(own, name) ? [value] : []))

/** A copy with the header set to these values, where the first of that name stood, or behind all others. */
export const withHeader = <M extends Headed>(message: M, name: string, ...values: readonly string[]): M => {
  const set = values.map((value): Header => [canonical(name), value])
  const at = message.headers.findIndex(([own]) => isNamed(own, name))
  const rest = message.headers.filter(([own]) => !isNamed(own, name))
  const headers = at < 0 ? [...rest, ...set] : [...rest.slice(0, at), ...set, ...rest.slice(at)]
  return { ...message, headers }
}
