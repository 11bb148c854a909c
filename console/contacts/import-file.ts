import type { ReplyOf, RequestOf } from '../api/client.ts'
import { uploadStream } from '../api/files.ts'
import { type FileRecord, recordsOf } from './csv.ts'

// A file of contacts on the way to the server: its preview, the meanings of its columns, its bad lines.

/** The beginning of a file, as the server reads it. */
export type Preview = ReplyOf<'POST /open/contacts/import/preview'> & { readonly isCards: boolean }

/** Meanings of a column, as the import names them. */
export type Meaning = Preview['columns'][number]['meaning']

/** Bytes that the server reads for a preview. */
const previewBytes = 256 * 1024

const isCardFile = ({ name, type }: File): boolean => /\.vcf$/i.test(name) || /vcard/.test(type)

/** The file with the type that the import takes. */
const typed = (file: File, part: Blob = file): Blob =>
  new Blob([part], { type: isCardFile(file) ? 'text/vcard' : 'text/csv' })

/** @throws ApiError */
export const previewOf = async (file: File): Promise<Preview> => {
  const reply = await uploadStream(
    'POST /open/contacts/import/preview',
    typed(file, file.slice(0, previewBytes)),
    {},
    () => {},
  )
  return { ...Object(reply), isCards: isCardFile(file) }
}

type Query = NonNullable<RequestOf<'POST /open/contacts/import'>['query']>

/** The columns as the import takes them: what a person changed, or all of them if no line names them. */
export const columnsOf = (preview: Preview, chosen: readonly Meaning[], hasHead: boolean): Query =>
  preview.isCards
    ? {}
    : {
        header: hasHead,
        columns: chosen
          .map((meaning, i) => {
            if (hasHead && meaning === preview.columns[i]?.meaning) return ''
            return meaning === 'recognised' ? 'ignore' : meaning
          })
          .join(),
      }

/** @throws ApiError */
export const importFile = async (
  file: File,
  query: Query,
  onProgress: (share: number) => void,
): Promise<ReplyOf<'POST /open/contacts/import'>> =>
  Object(await uploadStream('POST /open/contacts/import', typed(file), query, onProgress))

/** True if the first line is a contact: it has a number or an e-mail address. */
export const isHeadless = ({ isCards, rows: [first] }: Preview): boolean =>
  !isCards && (first?.cells ?? []).some((cell) => /^\+?[\d ()-]{7,}$/.test(cell) || /^\S+@\S+\.\S+$/.test(cell))

/** Reads a file as text. @param encoding as the server detected it */
async function* textOf(file: Blob, encoding: string): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding)
  const reader = file.stream().getReader()
  for (;;) {
    const { done, value } = await reader.read()
    yield decoder.decode(value, { stream: !done })
    if (done) return
  }
}

/** Yields the cards of a file, as written. */
async function* cardsOf(pieces: AsyncIterable<string>): AsyncGenerator<FileRecord> {
  let card: { from: number; lines: string[] } | undefined
  for await (const { from: line, text } of linesOf(pieces)) {
    if (/^BEGIN:VCARD\s*$/i.test(text)) card = { from: line, lines: [] }
    card?.lines.push(text)
    if (card && /^END:VCARD\s*$/i.test(text)) {
      yield { from: card.from, to: line, text: card.lines.join('\r\n') }
      card = undefined
    }
  }
}

async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<FileRecord> {
  let [rest, line] = ['', 0]
  for await (const piece of pieces) {
    const lines = (rest + piece).split(/\r\n|\n/)
    rest = lines.pop() ?? ''
    for (const text of lines) {
      line += 1
      yield { from: line, to: line, text }
    }
  }
  if (rest !== '') yield { from: line + 1, to: line + 1, text: rest }
}

/** Returns the records of a file that these lines belong to, by line. */
export const recordsAt = async (
  file: File,
  encoding: string,
  lines: ReadonlySet<number>,
): Promise<ReadonlyMap<number, string>> => {
  const found = new Map<number, string>()
  const text = textOf(file, encoding)
  const records = isCardFile(file) ? cardsOf(text) : recordsOf(text)
  const last = Math.max(...lines)
  for await (const { from, to, text: record } of records) {
    for (let line = from; line <= to; line += 1) if (lines.has(line)) found.set(line, record)
    if (from > last) break
  }
  return found
}

/** Has the browser save a text. */
export const saveText = (text: string, name: string): void => {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  link.download = name
  link.click()
  // The browser has read the address when the click is over.
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000)
}
