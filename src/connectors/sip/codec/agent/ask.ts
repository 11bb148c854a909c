import { randomBytes } from 'node:crypto'
import type { DigestClient } from '../digest/client.ts'
import type { Header, SipRequest } from '../message.ts'
import { type Answer, attached, makeTag } from '../reply.ts'
import type { Flow, Target, Trust } from '../transport/flow.ts'

/** A request of ours outside any dialog. */
export type Ask = {
  /** Request-URI. */
  readonly uri: string
  /** Addresses with `<>`, without tags; To is the Request-URI unless told. */
  readonly from: string
  readonly to?: string
  readonly headers?: readonly Header[]
  readonly body?: Answer['body']
  readonly maxForwards?: number
  /** By chance unless told. */
  readonly callId?: string
  /** Where to send it, when not to where the URI says: a flow, an address, or the URI of an outbound proxy. */
  readonly via?: Flow | Target | string
  /** What whoever is found there must show over TLS. */
  readonly trust?: Trust
  readonly credentials?: { readonly username: string; readonly password: string }
  /** Carries what was learnt from challenges over several requests. */
  readonly digest?: DigestClient
  /** How long a target may be silent before the next one is tried, ms. */
  readonly patienceMs?: number
}

/** REGISTER goes on with one Call-ID and growing numbers (RFC 3261, 10.2). */
export type Numbered = { readonly callId: string; readonly cseq: number }

export const named = (request: SipRequest, name: string | undefined): SipRequest =>
  name === undefined ? request : { ...request, headers: [...request.headers, ['User-Agent', name]] }

/** The request (8.1.1), but for Via and Contact: those depend on how it travels. */
export const compose = (method: string, ask: Ask, name: string | undefined, numbered?: Numbered): SipRequest => {
  const { uri, from, to = `<${uri}>`, headers = [], body, maxForwards = 70 } = ask
  const content = attached(body)
  const request: SipRequest = {
    kind: 'request',
    method,
    uri,
    headers: [
      ['Max-Forwards', String(maxForwards)],
      ['From', `${from};tag=${makeTag()}`],
      ['To', to],
      ['Call-ID', numbered?.callId ?? ask.callId ?? randomBytes(16).toString('hex')],
      ['CSeq', `${numbered?.cseq ?? 1} ${method}`],
      ...headers,
      ...content.headers,
    ],
    body: content.body,
  }
  return named(request, name)
}
