import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { TimeSlice } from '../../../platform/lib/time-slice.ts'
import { maxHeadLength, maxLineLength } from '../limits.ts'

/** A numbered line of text. Longer ones than `longest` are cut: only pictures are that long. */
export type TextLine = { readonly line: number; readonly text: string }

/**
 * Yields lines with any line ending, without buffering one longer than 64 KiB. The reader yields to the event loop
 * after 5 ms, and so does the caller's work between two lines: one chunk may hold 32,000 short lines.
 */
async function* physicalLines(body: Readable): AsyncGenerator<TextLine> {
  const decoder = new StringDecoder('utf8')
  const turns = new TimeSlice()
  let line = 1
  let open = ''
  const cut = (text: string) => text.slice(0, maxLineLength)
  for await (const chunk of body) {
    const parts = decoder.write(chunk).split('\n')
    const last = parts.pop() ?? ''
    for (const part of parts) {
      if (turns.isOver) await turns.yieldToLoop()
      yield { line: line++, text: cut(open + part).replace(/\r$/, '') }
      open = ''
    }
    if (open.length < maxLineLength) open = cut(open + last)
  }
  open = cut(open + decoder.end())
  if (open !== '') yield { line, text: open.replace(/\r$/, '') }
}

const headOf = (text: string): string => text.slice(0, maxHeadLength).split(':', 1)[0] ?? ''
const isQuoted = (text: string): boolean => /ENCODING=QUOTED-PRINTABLE/i.test(headOf(text))

/** A content line that may continue. Chunks, because checking a growing string would copy all of it each time. */
type OpenLine = {
  readonly line: number
  readonly pieces: string[]
  size: number
  headed: boolean
  quoted: boolean
  soft: boolean
}

const begin = ({ line, text }: TextLine): OpenLine => {
  const quoted = isQuoted(text)
  const soft = quoted && text.endsWith('=')
  const pieces = [soft ? text.slice(0, -1) : text]
  return { line, pieces, size: text.length, headed: text.includes(':'), quoted, soft }
}

const extend = (open: OpenLine, text: string): void => {
  // Parameters may be folded as well.
  if (!open.headed && open.size < maxHeadLength) {
    open.quoted = isQuoted(open.pieces.join('') + text)
    open.headed = text.includes(':')
  }
  open.soft = open.quoted && text.endsWith('=')
  if (open.size < maxLineLength) open.pieces.push(open.soft ? text.slice(0, -1) : text)
  // An empty chunk counts as well, which bounds the number of chunks.
  open.size += text.length + 1
}

const ended = ({ line, pieces, soft }: OpenLine): TextLine => ({
  line,
  text: `${pieces.join('')}${soft ? '=' : ''}`.slice(0, maxLineLength),
})

/**
 * Yields content lines of vCards, unfolded (RFC 6350, 3.2: a continuation begins with a space or a tab). Also joins
 * quoted-printable text of vCard 2.1, which continues after `=`.
 */
export async function* contentLines(body: Readable): AsyncGenerator<TextLine> {
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
