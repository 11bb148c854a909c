/** A part of a long message to a handset. */
export type MessagePart = {
  readonly from: string
  readonly to: string
  readonly reference: number
  readonly part: number
  readonly parts: number
  readonly text: string
}

/** Maximum unfinished messages; beyond it the oldest is dropped. */
const maxUnfinished = 10_000

const keyOf = ({ from, to, reference, parts }: MessagePart): string => `${from} ${to} ${reference} ${parts}`

/** Reassembles the parts of long messages in any order (3GPP TS 23.040, 9.2.3.24.1). */
export class Reassembly {
  private readonly unfinished = new Map<string, Map<number, MessagePart>>()

  /** Returns the complete text if this part completes it, otherwise null. A repeated part replaces itself. */
  add(piece: MessagePart): string | null {
    const key = keyOf(piece)
    const pieces = this.unfinished.get(key) ?? new Map<number, MessagePart>()
    pieces.set(piece.part, piece)
    if (pieces.size < piece.parts) {
      this.unfinished.set(key, pieces)
      const [oldest] = this.unfinished.keys()
      if (this.unfinished.size > maxUnfinished && oldest !== undefined) this.unfinished.delete(oldest)
      return null
    }
    this.unfinished.delete(key)
    let text = ''
    for (let part = 1; part <= piece.parts; part++) text += pieces.get(part)?.text ?? ''
    return text
  }

  *entries(): Generator<['piece', MessagePart]> {
    for (const pieces of this.unfinished.values()) for (const piece of pieces.values()) yield ['piece', piece]
  }
}
