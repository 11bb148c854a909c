import type { DataPdu, ShortMessagePdu } from '@trunkline/smpp/pdu.ts'
import type { Concatenation } from '@trunkline/smpp/user-data.ts'

/** Maximum characters stored of a message: a message_payload may hold 64 KiB. */
const maxTextLength = 2_000

/** Maximum submits available to query_sm and the control interface. */
const maxSubmits = 10_000

type Content = {
  readonly source: string
  readonly destination: string
  readonly text: string
  readonly concat: Concatenation | null
  readonly state: number
}

/** An accepted submit with its wire fields. */
type LoggedSubmit = Content & {
  readonly id: string
  readonly at: number
  readonly esmClass: number
  readonly dataCoding: number
  readonly validity: string
  readonly registered: number
}

/** The newest submits by response id; of several with one id (such as an empty one) the last. */
export class SubmitLog {
  private readonly submits = new Map<string, LoggedSubmit>()

  add(id: string, pdu: ShortMessagePdu | DataPdu, content: Content): void {
    const { esmClass, dataCoding, registered } = pdu
    const validity = pdu.command === 'submit_sm' ? pdu.validity : ''
    this.submits.delete(id)
    this.submits.set(id, {
      ...content,
      text: content.text.slice(0, maxTextLength),
      id,
      at: Date.now(),
      esmClass,
      dataCoding,
      registered,
      validity,
    })
    const [oldest] = this.submits.keys()
    if (this.submits.size > maxSubmits && oldest !== undefined) this.submits.delete(oldest)
  }

  state(id: string): number | undefined {
    return this.submits.get(id)?.state
  }

  change(id: string, state: number): void {
    const submit = this.submits.get(id)
    if (submit) this.submits.set(id, { ...submit, state })
  }

  /** Submits oldest first, in JSON form. */
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
