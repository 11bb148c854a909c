import { callIdOf, contactsOf, cseqOf, fromOf, printNameAddr, routesOf, tagOf, tokensOf, toOf } from '../fields.ts'
import { type Header, type SipMessage, type SipRequest, type SipResponse, withHeader } from '../message.ts'
import { bodyContent, type ResponseOptions } from '../response.ts'
import type { Flow, SipTarget } from '../transport/flow.ts'
import { uriOf } from '../uri.ts'

/** The state needed to continue a dialog, for example after a crash. Plain JSON. */
export type DialogSnapshot = {
  readonly callId: string
  /** From and To of our requests, without tags. */
  readonly local: string
  readonly remote: string
  readonly localTag: string
  /** Empty for a peer of RFC 2543. */
  readonly remoteTag: string
  readonly localSeq: number
  readonly remoteSeq: number | null
  /** Addresses of the route set, as our requests carry them. */
  readonly routes: readonly string[]
  /** The remote target: the peer's Contact. */
  readonly target: string
  /** Our role in the INVITE. */
  readonly side: 'caller' | 'callee'
  /** The last flow that was used. */
  readonly hop: SipTarget
}

/** Headers and body to add to a request. */
export type RequestContent = Pick<ResponseOptions, 'headers' | 'body'>

const withoutTag = (address: ReturnType<typeof fromOf>): string =>
  printNameAddr({ ...address, params: new Map([...address.params].filter(([name]) => name !== 'tag')) })

const targetOf = (message: SipMessage, otherwise: string): string => {
  const contacts = contactsOf(message)
  return (contacts === '*' ? undefined : contacts[0]?.uri) ?? otherwise
}

const hopOf = ({ protocol, address, port }: Flow): SipTarget => ({ protocol, address, port })

export const dialogKey = (callId: string, localTag: string, remoteTag: string): string =>
  `${callId} ${localTag} ${remoteTag}`

/** A dialog (RFC 3261, 12): its parties, sequence numbers and route set. */
export class Dialog {
  private state: DialogSnapshot
  /** The last flow to the peer; null after a crash. */
  flow: Flow | null

  constructor(state: DialogSnapshot, flow: Flow | null = null) {
    this.state = state
    this.flow = flow
  }

  /** Creates our dialog from a response with a tag to our INVITE (12.1.2). */
  static fromResponse(request: SipRequest, response: SipResponse, flow: Flow): Dialog {
    const [from, to] = [fromOf(request), toOf(response)]
    const state: DialogSnapshot = {
      callId: callIdOf(request),
      local: withoutTag(from),
      remote: withoutTag(to),
      localTag: tagOf(from) ?? '',
      remoteTag: tagOf(to) ?? '',
      localSeq: cseqOf(request).number,
      remoteSeq: null,
      routes: [],
      target: request.uri,
      side: 'caller',
      hop: hopOf(flow),
    }
    const dialog = new Dialog(state, flow)
    dialog.confirm(response)
    return dialog
  }

  /** Creates the peer's dialog from an INVITE that we answer with this tag (12.1.1). */
  static fromRequest(request: SipRequest, tag: string, flow: Flow): Dialog {
    const from = fromOf(request)
    return new Dialog(
      {
        callId: callIdOf(request),
        local: withoutTag(toOf(request)),
        remote: withoutTag(from),
        localTag: tag,
        remoteTag: tagOf(from) ?? '',
        // Any number below 2^31 (8.1.1.5).
        localSeq: 1 + Math.floor(Math.random() * 10_000),
        remoteSeq: cseqOf(request).number,
        routes: routesOf(request, 'Record-Route').map(printNameAddr),
        target: targetOf(request, from.uri),
        side: 'callee',
        hop: hopOf(flow),
      },
      flow,
    )
  }

  get key(): string {
    return dialogKey(this.state.callId, this.state.localTag, this.state.remoteTag)
  }

  get callId(): string {
    return this.state.callId
  }

  get side(): DialogSnapshot['side'] {
    return this.state.side
  }

  /** The URI of the first hop of a request (12.2.1.1, 8.1.2). */
  get nextHop(): string {
    const [first] = this.state.routes
    return first === undefined ? this.state.target : (/<([^>]*)>/.exec(first)?.[1] ?? first)
  }

  snapshot(): DialogSnapshot {
    return this.flow ? { ...this.state, hop: hopOf(this.flow) } : this.state
  }

  /** Takes the route set and target of the 2xx, which override earlier ones (13.2.2.4). */
  confirm(response: SipResponse): void {
    const routes = routesOf(response, 'Record-Route').map(printNameAddr).toReversed()
    this.state = { ...this.state, routes, target: targetOf(response, this.state.target) }
  }

  /** Takes the peer's new target from a target refresh: re-INVITE, UPDATE or their responses (12.2). */
  refresh(message: SipMessage): void {
    this.state = { ...this.state, target: targetOf(message, this.state.target) }
  }

  /** False for a request that is older than an earlier one (12.2.2). */
  acceptSequence(request: SipRequest): boolean {
    const { number } = cseqOf(request)
    const { remoteSeq } = this.state
    if (remoteSeq !== null && number < remoteSeq) return false
    this.state = { ...this.state, remoteSeq: number }
    return true
  }

  /** Our next sequence number, also for a request that is repeated with credentials. */
  nextSeq(): number {
    this.state = { ...this.state, localSeq: this.state.localSeq + 1 }
    return this.state.localSeq
  }

  build(method: string, { headers = [], body }: RequestContent = {}): SipRequest {
    return this.make(method, this.nextSeq(), headers, body)
  }

  /** The ACK to a 2xx, with the sequence number of its INVITE (13.2.2.4). */
  ack(invite: SipRequest, body?: ResponseOptions['body']): SipRequest {
    const auth = invite.headers.filter(([name]) => name === 'Authorization' || name === 'Proxy-Authorization')
    return this.make('ACK', cseqOf(invite).number, auth, body)
  }

  private make(method: string, seq: number, headers: readonly Header[], body: ResponseOptions['body']): SipRequest {
    const { callId, local, remote, localTag, remoteTag } = this.state
    const { uri, routes } = this.routing()
    const content = bodyContent(body)
    return {
      kind: 'request',
      method,
      uri,
      headers: [
        ...routes.map((route): Header => ['Route', route]),
        ['Max-Forwards', '70'],
        ['From', `${local};tag=${localTag}`],
        ['To', remoteTag === '' ? remote : `${remote};tag=${remoteTag}`],
        ['Call-ID', callId],
        ['CSeq', `${seq} ${method}`],
        ...headers,
        ...content.headers,
      ],
      body: content.body,
    }
  }

  /**
   * A first proxy without `lr` follows RFC 2543: its URI becomes the Request-URI, and the target comes last (12.2.1.1).
   */
  private routing(): { uri: string; routes: readonly string[] } {
    const { target, routes } = this.state
    const hop = this.nextHop
    if (routes.length === 0 || (uriOf(hop)?.params.has('lr') ?? true)) return { uri: target, routes }
    return { uri: hop, routes: [...routes.slice(1), `<${target}>`] }
  }
}

/** The same request with another sequence number, for a new attempt (8.1.3.5). */
export const withCSeq = (request: SipRequest, seq: number): SipRequest =>
  withHeader(request, 'CSeq', `${seq} ${request.method}`)

/** True when a header lists a token, ignoring case. */
export const hasToken = (message: SipMessage, name: string, token: string): boolean =>
  tokensOf(message, name).some((own) => own.toLowerCase() === token.toLowerCase())
