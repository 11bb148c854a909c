import type { Data, Message } from '../src/connectors/smpp/codec/pdu.ts'
import type { Concat } from '../src/connectors/smpp/codec/user-data.ts'

/** What is kept of a text, characters: a message_payload may hold 64 KiB. */
const longest = 2_000

/** Submits that query_sm can still ask for, and that the control interface shows. */
const most = 10_000

type Content = {
  readonly source: string
  readonly destination: string
  readonly text: string
  readonly concat: Concat | null
  readonly state: number
}

/** A submit that the carrier took, as it came over the wire. */
type Submit = Content & {
  readonly id: string
  readonly at: number
  readonly esmClass: number
  readonly dataCoding: number
  readonly validity: string
  readonly registered: number
}

/** The newest submits, by the id that was answered; of several with one id (empty ones, say) the last. */
export class Sent {
  private readonly submits = new Map<string, Submit>()

  add(id: string, pdu: Message | Data, content: Content): void {
    const { esmClass, dataCoding, registered } = pdu
    const validity = pdu.command === 'submit_sm' ? pdu.validity : ''
    this.submits.delete(id)
    this.submits.set(id, {
      ...content,
      text: content.text.slice(0, longest),
      id,
      at: Date.now(),
      esmClass,
      dataCoding,
      registered,
      validity,
    })
    const [oldest] = this.submits.keys()
    if (this.submits.size > most && oldest !== undefined) this.submits.delete(oldest)
  }

  state(id: string): number | undefined {
    return this.submits.get(id)?.state
  }

  change(id: string, state: number): void {
    const submit = this.submits.get(id)
    if (submit) this.submits.set(id, { ...submit, state })
  }

  /** Oldest first, as JSON has them. */
  list(): Record<string, unknown>[] {
    return [...this.submits.values()].map(({ id, at, esmClass, dataCoding, ...submit }) => ({
      carrier_id: id,
      at: new Date(at).toISOString(),
      esm_class: esmClass,
      data_coding: dataCoding,
      ...submit,
    }))
  }
}
