import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { Turns } from '../../lib/turns.ts'

/** A line of text, by its number. What is longer than `longest` is cut: only pictures are. */
export type TextLine = { readonly line: number; readonly text: string }

const longest = 64 * 1024

/**
 * Lines as they come, however they end, and without holding one longer than 64 KiB. The reader yields to the event loop after
 * 5 ms, and so does the work of the caller between two lines: 32,000 short lines come in one piece.
 */
async function* physicalLines(body: Readable): AsyncGenerator<TextLine> {
  const decoder = new StringDecoder('utf8')
  const turns = new Turns()
  let line = 1
  let open = ''
  const cut = (text: string) => text.slice(0, longest)
  for await (const chunk of body) {
    const parts = decoder.write(chunk).split('\n')
    const last = parts.pop() ?? ''
    for (const part of parts) {
      if (turns.isOver) await turns.next()
      yield { line: line++, text: cut(open + part).replace(/\r$/, '') }
      open = ''
    }
    if (open.length < longest) open = cut(open + last)
  }
  open = cut(open + decoder.end())
  if (open !== '') yield { line, text: open.replace(/\r$/, '') }
}

/** Characters in which the parameters of a line are looked for. */
const longestHead = 2_000

const headOf = (text: string): string => text.slice(0, longestHead).split(':', 1)[0] ?? ''
const isQuoted = (text: string): boolean => /ENCODING=QUOTED-PRINTABLE/i.test(headOf(text))

/** A content line while more of it may come. Pieces, since each look at a growing text would copy all of it. */
type Open = {
  readonly line: number
  readonly pieces: string[]
  size: number
  headed: boolean
  quoted: boolean
  soft: boolean
}

const begin = ({ line, text }: TextLine): Open => {
  const quoted = isQuoted(text)
  const soft = quoted && text.endsWith('=')
  const pieces = [soft ? text.slice(0, -1) : text]
  return { line, pieces, size: text.length, headed: text.includes(':'), quoted, soft }
}

const extend = (open: Open, text: string): void => {
  // Parameters may be folded, too.
  if (!open.headed && open.size < longestHead) {
    open.quoted = isQuoted(open.pieces.join('') + text)
    open.headed = text.includes(':')
  }
  open.soft = open.quoted && text.endsWith('=')
  if (open.size < longest) open.pieces.push(open.soft ? text.slice(0, -1) : text)
  // An empty piece counts too: pieces are as few as characters.
  open.size += text.length + 1
}

const ended = ({ line, pieces, soft }: Open): TextLine => ({
  line,
  text: `${pieces.join('')}${soft ? '=' : ''}`.slice(0, longest),
})

/**
 * Content lines of vCards: what was folded (RFC 6350, 3.2: the next line begins with a space or a tab) is one line again, and
 * so is quoted-printable text of vCard 2.1, which goes on after `=`.
 */
export async function* contentLines(body: Readable): AsyncGenerator<TextLine> {
  let open: Open | null = null
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
