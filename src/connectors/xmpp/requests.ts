import { randomUUID } from 'node:crypto'
import { bareOf, parseJid } from './codec/jid.ts'
import { ns } from './codec/names.ts'
import { child, elements, textOf, type Xml } from './codec/xml.ts'

export type Answer =
  | { readonly outcome: 'result'; readonly iq: Xml }
  /** @prop waits it may go well later (RFC 6120, 8.3.2: types `wait` and `continue`) */
  | { readonly outcome: 'error'; readonly condition: string; readonly reason: string; readonly waits: boolean }
  /** The link broke, or nothing came in time. */
  | { readonly outcome: 'lost'; readonly reason: string }

/** What an error stanza says. */
export const errorOf = (stanza: Xml): { condition: string; reason: string; waits: boolean } => {
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

type Waiting = { readonly to: string; readonly self: string; resolve(answer: Answer): void; timer: NodeJS.Timeout }

/** Questions of one link that wait for their answers (RFC 6120, 8.2.3). */
export class Requests {
  private readonly waiting = new Map<string, Waiting>()

  /**
   * @param self our own bare address: what is asked of nobody is asked of it
   * @param send puts the question on its way, with this id
   */
  ask(iq: Xml, self: string, milliseconds: number, send: (iq: Xml) => boolean): Promise<Answer> {
    const id = randomUUID()
    const { promise, resolve } = Promise.withResolvers<Answer>()
    const timer = setTimeout(() => this.settle(id, { outcome: 'lost', reason: 'no answer in time' }), milliseconds)
    this.waiting.set(id, { to: iq.attrs.to ?? '', self, resolve, timer })
    if (!send({ ...iq, attrs: { ...iq.attrs, id } })) this.settle(id, { outcome: 'lost', reason: 'the link is down' })
    return promise
  }

  /** @returns whether the stanza was an answer to one of them, from whom it was asked */
  take(iq: Xml, cut: boolean): boolean {
    const { id = '', type, from = '' } = iq.attrs
    const waiting = this.waiting.get(id)
    if (!waiting || (type !== 'result' && type !== 'error') || !isFrom(waiting, from)) return false
    if (type === 'error') this.settle(id, { outcome: 'error', ...errorOf(iq) })
    else if (cut) this.settle(id, { outcome: 'lost', reason: 'the answer was too large' })
    else this.settle(id, { outcome: 'result', iq })
    return true
  }

  lose(reason: string): void {
    for (const id of [...this.waiting.keys()]) this.settle(id, { outcome: 'lost', reason })
  }

  private settle(id: string, answer: Answer): void {
    const waiting = this.waiting.get(id)
    if (!waiting) return
    this.waiting.delete(id)
    clearTimeout(waiting.timer)
    waiting.resolve(answer)
  }
}

/** Nobody else can answer for whom was asked (RFC 6120, 8.1.2.1: a server may leave its own name, or ours, out). */
const isFrom = ({ to, self }: Waiting, from: string): boolean => {
  if (from === to) return true
  const own = to === '' || to === self || to === parseJid(self).domain
  return own && (from === '' || bareOf(from) === self || (to === '' && from === parseJid(self).domain))
}
