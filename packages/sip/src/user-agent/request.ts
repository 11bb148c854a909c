import { randomBytes } from 'node:crypto'
import type { DigestClient } from '../digest/digest-client.ts'
import type { Header, SipRequest } from '../message.ts'
import { bodyContent, makeTag, type ResponseOptions } from '../response.ts'
import type { Flow, SipTarget, TlsTrust } from '../transport/flow.ts'

/** A request of ours outside any dialog. */
export type RequestOptions = {
  /** Request-URI. */
  readonly uri: string
  /** Addresses with `<>`, without tags. Default of To: the Request-URI. */
  readonly from: string
  readonly to?: string
  readonly headers?: readonly Header[]
  readonly body?: ResponseOptions['body']
  readonly maxForwards?: number
  /** Default: random. */
  readonly callId?: string
  /** Where to send it if not to the URI: a flow, an address, or the URI of an outbound proxy. */
  readonly via?: Flow | SipTarget | string
  /** Expected TLS identity of the resolved target. */
  readonly trust?: TlsTrust
  readonly credentials?: { readonly username: string; readonly password: string }
  /** Keeps challenges across several requests. */
  readonly digest?: DigestClient
  /** How long a target may stay silent before the next one is tried, ms. */
  readonly timeoutMs?: number
}

/** Call-ID and CSeq of a REGISTER: one Call-ID, increasing numbers (RFC 3261, 10.2). */
export type RequestSequence = { readonly callId: string; readonly cseq: number }

export const withUserAgent = (request: SipRequest, name: string | undefined): SipRequest =>
  name === undefined ? request : { ...request, headers: [...request.headers, ['User-Agent', name]] }

/** Builds the request (8.1.1) without Via and Contact, which depend on the transport. */
export const buildRequest = (
  method: string,
  options: RequestOptions,
  name: string | undefined,
  sequence?: RequestSequence,
): SipRequest => {
  const { uri, from, to = `<${uri}>`, headers = [], body, maxForwards = 70 } = options
  const content = bodyContent(body)
  const request: SipRequest = {
    kind: 'request',
    method,
    uri,
    headers: [
      ['Max-Forwards', String(maxForwards)],
      ['From', `${from};tag=${makeTag()}`],
      ['To', to],
      ['Call-ID', sequence?.callId ?? options.callId ?? randomBytes(16).toString('hex')],
      ['CSeq', `${sequence?.cseq ?? 1} ${method}`],
      ...headers,
      ...content.headers,
    ],
    body: content.body,
  }
  return withUserAgent(request, name)
}
