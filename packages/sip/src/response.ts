import { randomBytes } from 'node:crypto'
import { readNameAddr } from './fields.ts'
import { type Header, header, headersOf, noBody, type SipRequest, type SipResponse } from './message.ts'

/** Reason phrases (RFC 3261, 21, and later ones). */
const reasonPhrases: Readonly<Record<number, string>> = {
  ...{ 100: 'Trying', 180: 'Ringing', 181: 'Call Is Being Forwarded', 182: 'Queued', 183: 'Session Progress' },
  ...{ 200: 'OK', 202: 'Accepted', 301: 'Moved Permanently', 302: 'Moved Temporarily', 380: 'Alternative Service' },
  ...{ 400: 'Bad Request', 401: 'Unauthorized', 402: 'Payment Required', 403: 'Forbidden', 404: 'Not Found' },
  ...{ 405: 'Method Not Allowed', 406: 'Not Acceptable', 407: 'Proxy Authentication Required', 408: 'Request Timeout' },
  ...{ 410: 'Gone', 413: 'Request Entity Too Large', 414: 'Request-URI Too Long', 415: 'Unsupported Media Type' },
  ...{
    416: 'Unsupported URI Scheme',
    420: 'Bad Extension',
    421: 'Extension Required',
    422: 'Session Interval Too Small',
  },
  ...{ 423: 'Interval Too Brief', 480: 'Temporarily Unavailable', 481: 'Call/Transaction Does Not Exist' },
  ...{ 482: 'Loop Detected', 483: 'Too Many Hops', 484: 'Address Incomplete', 485: 'Ambiguous', 486: 'Busy Here' },
  ...{
    469: 'Bad Info Package',
    487: 'Request Terminated',
    488: 'Not Acceptable Here',
    491: 'Request Pending',
    493: 'Undecipherable',
  },
  ...{ 500: 'Server Internal Error', 501: 'Not Implemented', 502: 'Bad Gateway', 503: 'Service Unavailable' },
  ...{ 504: 'Server Time-out', 505: 'Version Not Supported', 513: 'Message Too Large', 600: 'Busy Everywhere' },
  ...{ 603: 'Decline', 604: 'Does Not Exist Anywhere', 606: 'Not Acceptable' },
}

/** The reason phrase of a status; for an unknown status the phrase of its class (8.1.3.2). */
export const reasonPhrase = (status: number): string =>
  reasonPhrases[status] ?? reasonPhrases[Math.floor(status / 100) * 100] ?? 'Failed'

/** The fields of a response that its request does not determine. */
export type ResponseOptions = {
  readonly status: number
  readonly reason?: string
  readonly headers?: readonly Header[]
  readonly body?: { readonly type: string; readonly content: Buffer | string }
  /** Our tag. Every response but 100 has one. */
  readonly tag?: string
}

/** A tag for From or To: 48 random bits (19.3 requires 32). */
export const makeTag = (): string => randomBytes(6).toString('hex')

/** Headers and octets of a body. */
export const bodyContent = (body: ResponseOptions['body']): { headers: Header[]; body: Buffer } =>
  body
    ? {
        headers: [['Content-Type', body.type]],
        body: typeof body.content === 'string' ? Buffer.from(body.content) : body.content,
      }
    : { headers: [], body: noBody }

const withTag = (request: SipRequest, tag: string | undefined): string => {
  const to = header(request, 'To') ?? ''
  return tag === undefined || readNameAddr(to).params.has('tag') ? to : `${to};tag=${tag}`
}

/** Builds the response to a request (8.2.6.2). */
export const buildResponse = (
  request: SipRequest,
  { status, reason, headers = [], body, tag }: ResponseOptions,
): SipResponse => {
  const copy = (name: string): Header[] => headersOf(request, name).map((value) => [name, value])
  const content = bodyContent(body)
  const opensDialog = request.method === 'INVITE' && status > 100 && status < 300
  return {
    kind: 'response',
    status,
    reason: reason ?? reasonPhrases[status] ?? 'Unknown',
    headers: [
      ...copy('Via'),
      ...copy('From'),
      ['To', status === 100 ? withTag(request, undefined) : withTag(request, tag)],
      ...copy('Call-ID'),
      ...copy('CSeq'),
      ...(opensDialog ? copy('Record-Route') : []),
      ...(status === 100 ? copy('Timestamp') : []),
      ...headers,
      ...content.headers,
    ],
    body: content.body,
  }
}
