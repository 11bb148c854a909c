/**
 * A SIP stack in the layers of RFC 3261:
 *
 *   message, grammar, uri, fields, parse, print, message-framer   syntax (7, 25), and splitting of streams (18.3)
 *   digest/       client and server side of RFC 7616
 *   transport/    UDP, TCP, TLS, WebSocket (18, RFC 7118); locating servers (RFC 3263)
 *   transaction/  client and server transactions with their timers (17, RFC 6026)
 *   dialog/       dialogs, sessions, reliable provisional responses, session timers (12 to 15, RFC 3262, RFC 4028)
 *   user-agent/   the core of a user agent (8), used by the gateway and by the SIP peer of the simulator
 *
 * Nothing here knows accounts, calls, trunks or media. The caller passes what the stack needs from outside: time
 * (`timers.ts`), names and randomness.
 */

/** Long name in the spelling of the standard, and the value without folds and outer white space. */
export type Header = readonly [name: string, value: string]

export type SipRequest = {
  readonly kind: 'request'
  readonly method: string
  /** The Request-URI as received. */
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

/** Input that is not valid SIP. `status` is the status that may answer it. */
export class SipError extends Error {
  readonly status: number

  constructor(reason: string, status = 400) {
    super(reason)
    this.status = status
  }
}

export const noBody = Buffer.alloc(0)

/** Compact forms (RFC 3261, 7.3.3; RFC 3515, 3892, 3841, 4028, 4474, 6665). */
const compactForms = {
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

const standardNames = [
  ...Object.values(compactForms),
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
const canonicalNames = new Map(standardNames.map((name) => [name.toLowerCase(), name]))
for (const [short, long] of Object.entries(compactForms)) canonicalNames.set(short, long)

/** The usual long spelling of a header name; an unknown name is returned unchanged. */
export const canonicalName = (name: string): string => canonicalNames.get(name.toLowerCase()) ?? name

type HasHeaders = { readonly headers: readonly Header[] }

const isNamed = (own: string, name: string): boolean =>
  own === name || (own.length === name.length && own.toLowerCase() === name.toLowerCase())

/** The first value of a header, unsplit; null when there is none. */
export const header = ({ headers }: HasHeaders, name: string): string | null => {
  for (const [own, value] of headers) if (isNamed(own, name)) return value
  return null
}

/** The values of all headers of a name, in order, unsplit. */
export const headersOf = ({ headers }: HasHeaders, name: string): string[] =>
  headers.flatMap(([own, value]) => (isNamed(own, name) ? [value] : []))

/** Returns a copy with the header set to these values, at the place of the first one of that name, or at the end. */
export const withHeader = <M extends HasHeaders>(message: M, name: string, ...values: readonly string[]): M => {
  const set = values.map((value): Header => [canonicalName(name), value])
  const at = message.headers.findIndex(([own]) => isNamed(own, name))
  const rest = message.headers.filter(([own]) => !isNamed(own, name))
  const headers = at < 0 ? [...rest, ...set] : [...rest.slice(0, at), ...set, ...rest.slice(at)]
  return { ...message, headers }
}
