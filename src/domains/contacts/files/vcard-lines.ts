import { TimeSlice } from '../../../platform/lib/time-slice.ts'
import { maxHeadLength, maxLineLength } from '../limits.ts'

/** A numbered line of text. Longer ones than `longest` are cut: only pictures are that long. */
export type TextLine = { readonly line: number; readonly text: string }

/**
 * Yields lines with any line ending, without buffering one longer than 64 KiB. Each character is one octet, as each
 * property may have an encoding of its own, and some programs fold within a character. The reader yields to the event
 * loop after 5 ms, and so does the caller's work between two lines: one chunk may hold 32,000 short lines.
 */
async function* physicalLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<TextLine> {
  const turns = new TimeSlice()
  let line = 1
  let open = ''
  const cut = (text: string) => text.slice(0, maxLineLength)
  for await (const chunk of body) {
    const parts = Buffer.from(chunk).toString('latin1').split('\n')
    const last = parts.pop() ?? ''
    for (const part of parts) {
      if (turns.isOver) await turns.yieldToLoop()
      yield { line: line++, text: cut(open + part).replace(/\r$/, '') }
      open = ''
    }
    if (open.length < maxLineLength) open = cut(open + last)
  }
  if (open !== '') yield { line, text: open.replace(/\r$/, '') }
}

const headOf = (text: string): string => text.slice(0, maxHeadLength).split(':', 1)[0] ?? ''
const isQuoted = (text: string): boolean => /[;=]QUOTED-PRINTABLE/i.test(headOf(text))

/** A content line that may continue. Chunks, because checking a growing string would copy all of it each time. */
type OpenLine = {
  readonly line: number
  readonly pieces: Piece[]
  size: number
  headed: boolean
  quoted: boolean
  soft: boolean
}

/** A piece of a line. `isSoft`: it follows a soft break of quoted-printable. */
type Piece = { readonly text: string; readonly isSoft: boolean }

const begin = ({ line, text }: TextLine): OpenLine => {
  const quoted = isQuoted(text)
  const soft = quoted && text.endsWith('=')
  const pieces = [{ text: soft ? text.slice(0, -1) : text, isSoft: false }]
  return { line, pieces, size: text.length, headed: text.includes(':'), quoted, soft }
}

const extend = (open: OpenLine, text: string): void => {
  const isSoft = open.soft
  // Parameters may be folded as well.
  if (!open.headed && open.size < maxHeadLength) {
    open.quoted = isQuoted(textOf(open.pieces) + text)
    open.headed = text.includes(':')
  }
  open.soft = open.quoted && text.endsWith('=')
  if (open.size < maxLineLength) open.pieces.push({ text: open.soft ? text.slice(0, -1) : text, isSoft })
  // An empty chunk counts as well, which bounds the number of chunks.
  open.size += text.length + 1
}

const textOf = (pieces: readonly Piece[]): string => pieces.map(({ text }) => text).join('')

/** True if a text of quoted-printable ends within a character of UTF-8. */
const endsWithin = (text: string): boolean =>
  /=(?:C[2-9A-F]|D[\dA-F]|[EF][\dA-F])$|=[EF][\dA-F]=[89AB][\dA-F]$|=F\d(?:=[89AB][\dA-F]){2}$/i.test(text)

/**
 * Removes the space with which some programs also fold a line after a soft break. A space of the text itself may be
 * there too: it stays, unless it would divide a character, or all lines have one while the rest of the text has none.
 */
const unfoldSoft = (pieces: readonly Piece[]): readonly Piece[] => {
  const [first, ...rest] = pieces.filter(({ isSoft, text }) => isSoft && text !== '')
  if (first === undefined || ![first, ...rest].every(({ text }) => /^[ \t]/.test(text))) return pieces
  const isDivided = pieces.some(({ isSoft }, i) => isSoft && endsWithin(pieces[i - 1]?.text ?? ''))
  const spaced = pieces.some(({ isSoft, text }, i) => {
    const value = i === 0 ? text.slice(text.indexOf(':') + 1) : text
    return value.includes(' ', isSoft ? 1 : 0)
  })
  return isDivided || !spaced
    ? pieces.map((piece) => (piece.isSoft ? { ...piece, text: piece.text.slice(1) } : piece))
    : pieces
}

const ended = ({ line, pieces, soft }: OpenLine): TextLine => ({
  line,
  text: `${textOf(unfoldSoft(pieces))}${soft ? '=' : ''}`.slice(0, maxLineLength),
})

/**
 * Yields content lines of vCards, unfolded (RFC 6350, 3.2: a continuation begins with a space or a tab). Also joins
 * quoted-printable text of vCard 2.1, which continues after `=`.
 */
export async function* contentLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<TextLine> {
  let open: OpenLine | null = null
  for await (const physical of physicalLines(body)) {
    const { text } = physical
    if (open?.soft) extend(open, text)
    else if (open && /^[ \t]/.test(text)) extend(open, text.slice(1))
    else {
      if (open) yield ended(open)
      open = begin(physical)
    }
  }
  if (open) yield ended(open)
}
