/** One part of a long text on its way to a handset. */
export type Piece = {
  readonly from: string
  readonly to: string
  readonly reference: number
  readonly part: number
  readonly parts: number
  readonly text: string
}

/** Unfinished texts that are waited for at a time; the oldest goes when there are more. */
const most = 10_000

const keyOf = ({ from, to, reference, parts }: Piece): string => `${from} ${to} ${reference} ${parts}`

/** Puts the parts of long texts together, in whatever order they come (3GPP TS 23.040, 9.2.3.24.1). */
export class Texts {
  private readonly unfinished = new Map<string, Map<number, Piece>>()

  /** The whole text once this piece makes it whole, else null. A part that comes again replaces itself. */
  add(piece: Piece): string | null {
    const key = keyOf(piece)
    const pieces = this.unfinished.get(key) ?? new Map<number, Piece>()
    pieces.set(piece.part, piece)
    if (pieces.size < piece.parts) {
      this.unfinished.set(key, pieces)
      const [oldest] = this.unfinished.keys()
      if (this.unfinished.size > most && oldest !== undefined) this.unfinished.delete(oldest)
      return null
    }
    this.unfinished.delete(key)
    let text = ''
    for (let part = 1; part <= piece.parts; part++) text += pieces.get(part)?.text ?? ''
    return text
  }

  *entries(): Generator<['piece', Piece]> {
    for (const pieces of this.unfinished.values()) for (const piece of pieces.values()) yield ['piece', piece]
  }
}
