import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

/** A line of text, by its number. What is longer than `longest` is cut: only pictures are. */
export type TextLine = { readonly line: number; readonly text: string }

const longest = 64 * 1024

/** Lines as they come, however they end, and without holding one longer than 64 KiB. */
async function* physicalLines(body: Readable): AsyncGenerator<TextLine> {
  const decoder = new StringDecoder('utf8')
  let line = 1
  let open = ''
  const cut = (text: string) => text.slice(0, longest)
  for await (const chunk of body) {
    const parts = decoder.write(chunk).split('\n')
    const last = parts.pop() ?? ''
    for (const part of parts) {
      yield { line: line++, text: cut(open + part).replace(/\r$/, '') }
      open = ''
    }
    open = cut(open + last)
  }
  open = cut(open + decoder.end())
  if (open !== '') yield { line, text: open.replace(/\r$/, '') }
}

const isSoft = (text: string): boolean => text.endsWith('=') && /^[^:]*ENCODING=QUOTED-PRINTABLE/i.test(text)

/**
 * Content lines of vCards: what was folded (RFC 6350, 3.2: the next line begins with a space or a tab) is one line again, and
 * so is quoted-printable text of vCard 2.1, which goes on after `=`.
 */
export async function* contentLines(body: Readable): AsyncGenerator<TextLine> {
  let open: TextLine | null = null
  for await (const { line, text } of physicalLines(body)) {
    if (open && isSoft(open.text)) open = { line: open.line, text: (open.text.slice(0, -1) + text).slice(0, longest) }
    else if (open && /^[ \t]/.test(text))
      open = { line: open.line, text: (open.text + text.slice(1)).slice(0, longest) }
    else {
      if (open) yield open
      open = { line, text }
    }
  }
  if (open) yield open
}
