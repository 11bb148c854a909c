import { randomUUID } from 'node:crypto'
import { bareOf, parseJid } from './jid.ts'
import { ns } from './namespaces.ts'
import { child, elements, textOf, type XmlElement } from './xml.ts'

export type IqResult =
  | { readonly outcome: 'result'; readonly iq: XmlElement }
  /** @prop waits a retry may succeed (RFC 6120, 8.3.2: types `wait` and `continue`) */
  | { readonly outcome: 'error'; readonly condition: string; readonly reason: string; readonly waits: boolean }
  /** The link broke or the response timed out. */
  | { readonly outcome: 'lost'; readonly reason: string }

/** Parses an error stanza. */
export const errorOf = (stanza: XmlElement): { condition: string; reason: string; waits: boolean } => {
  const error = child(stanza, 'error', '')
  const parts = error ? elements(error, undefined, ns.stanzaErrors) : []
  const condition = parts.find(({ name }) => name !== 'text')?.name ?? 'undefined-condition'
  const text = textOf(parts.find(({ name }) => name === 'text')).slice(0, 300)
  const type = error?.attrs.type
  return {
    condition,
    reason: text ? `${condition}: ${text}` : condition,
    waits: type === 'wait' || type === 'continue',
  }
}

type PendingRequest = {
  readonly to: string
  readonly self: string
  resolve(answer: IqResult): void
  timer: NodeJS.Timeout
}

/** Pending requests of one link (RFC 6120, 8.2.3). */
export class IqRequests {
  private readonly pending = new Map<string, PendingRequest>()

  /**
   * Sends a request and resolves with its response.
   * @param self our own bare address, the addressee of a request without `to`
   * @param send sends the request with the id that it receives
   */
  request(iq: XmlElement, self: string, milliseconds: number, send: (iq: XmlElement) => boolean): Promise<IqResult> {
    const id = randomUUID()
    const { promise, resolve } = Promise.withResolvers<IqResult>()
    const timer = setTimeout(() => this.settle(id, { outcome: 'lost', reason: 'no answer in time' }), milliseconds)
    this.pending.set(id, { to: iq.attrs.to ?? '', self, resolve, timer })
    if (!send({ ...iq, attrs: { ...iq.attrs, id } })) this.settle(id, { outcome: 'lost', reason: 'the link is down' })
    return promise
  }

  /** @returns whether the stanza was the response to a pending request, sent by its addressee */
  takeResponse(iq: XmlElement, cut: boolean): boolean {
    const { id = '', type, from = '' } = iq.attrs
    const waiting = this.pending.get(id)
    if (!waiting || (type !== 'result' && type !== 'error') || !isFrom(waiting, from)) return false
    if (type === 'error') this.settle(id, { outcome: 'error', ...errorOf(iq) })
    else if (cut) this.settle(id, { outcome: 'lost', reason: 'the answer was too large' })
    else this.settle(id, { outcome: 'result', iq })
    return true
  }

  failAll(reason: string): void {
    for (const id of [...this.pending.keys()]) this.settle(id, { outcome: 'lost', reason })
  }

  private settle(id: string, answer: IqResult): void {
    const waiting = this.pending.get(id)
    if (!waiting) return
    this.pending.delete(id)
    clearTimeout(waiting.timer)
    waiting.resolve(answer)
  }
}

/** Only the addressee may answer. A server may omit its own address or ours (RFC 6120, 8.1.2.1). */
const isFrom = ({ to, self }: PendingRequest, from: string): boolean => {
  if (from === to) return true
  const own = to === '' || to === self || to === parseJid(self).domain
  return own && (from === '' || bareOf(from) === self || (to === '' && from === parseJid(self).domain))
}
