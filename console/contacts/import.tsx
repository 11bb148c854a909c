import { useState } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { ApiError, asApiError } from '../api/errors.ts'
import { uploadStream } from '../api/files.ts'
import { markStale } from '../api/query.ts'
import type { Refusal } from '../parts/form.tsx'
import { paths } from '../paths.ts'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/contacts.ts'
import { guessMeanings, isHeadless, mappedFile, type Preview, previewOf } from './import-file.ts'
import { type Choice, ImportForm } from './import-form.tsx'
import { BadLines, type Fault, ImportResult, Running } from './import-result.tsx'

type Reply = ReplyOf<'POST /open/contacts/import'>

type State =
  | { readonly step: 'form' }
  | { readonly step: 'running'; readonly share: number }
  | { readonly step: 'refused'; readonly count: number; readonly faults: readonly Fault[] }
  | { readonly step: 'done'; readonly reply: Reply; readonly faults: readonly Fault[] }

const faultsIn = (body: Readonly<Record<string, unknown>>, shift: number): readonly Fault[] => {
  // As the contract of the import says.
  const lines = (body.lines ?? []) as readonly Fault[]
  return lines.map(({ line, error }) => ({ line: Math.max(1, line - shift), error }))
}

/** The file of an import, its preview, and how far the import is. */
const useImport = () => {
  const [file, setFile] = useState<File>()
  const [preview, setPreview] = useState<Preview>()
  const [choice, setChoice] = useState<Choice>({
    country: undefined,
    duplicates: 'skip',
    meanings: [],
    hasHead: true,
  })
  const [state, setState] = useState<State>({ step: 'form' })
  const [refusal, setRefusal] = useState<Refusal>()
  const [unreadable, setUnreadable] = useState(false)

  const choose = async (next: File | undefined) => {
    setFile(next)
    setPreview(undefined)
    setRefusal(undefined)
    setUnreadable(false)
    if (!next) return
    try {
      const read = await previewOf(next)
      setPreview(read)
      if (read.kind === 'csv')
        setChoice((before) => ({
          ...before,
          meanings: guessMeanings(read.head),
          hasHead: !isHeadless(read.head),
        }))
    } catch {
      setUnreadable(true)
    }
  }

  const start = async (skipsBad: boolean) => {
    if (!file || !preview) return
    setRefusal(undefined)
    setState({ step: 'running', share: 0 })
    // A line that names the columns is put before a file without one.
    const shift = preview.kind === 'csv' && !choice.hasHead ? 1 : 0
    try {
      const body =
        preview.kind === 'csv'
          ? await mappedFile(file, preview, choice.meanings, choice.hasHead)
          : new Blob([file], { type: 'text/vcard' })
      const query = {
        duplicates: choice.duplicates,
        bad_lines: skipsBad ? 'skip' : 'refuse',
        country: choice.country?.value,
      }
      const reply = Object(
        await uploadStream('POST /open/contacts/import', body, query, (share) => setState({ step: 'running', share })),
      )
      markStale('contact.created')
      setState({ step: 'done', reply, faults: faultsIn(reply, shift) })
    } catch (thrown) {
      const error = thrown instanceof ApiError ? thrown : asApiError(thrown)
      const faults = faultsIn(error.body, shift)
      if (faults.length > 0) setState({ step: 'refused', count: Number(error.body.bad_lines), faults })
      else {
        setRefusal(error)
        setState({ step: 'form' })
      }
    }
  }

  const again = () => {
    setState({ step: 'form' })
    void choose(undefined)
  }
  return { file, preview, choice, setChoice, state, refusal, unreadable, choose, start, again }
}

/** Imports a file of contacts: preview, meaning of the columns, progress, bad lines. */
export const ImportPage = () => {
  const { file, preview, choice, setChoice, state, refusal, unreadable, choose, start, again } = useImport()
  return (
    <Page
      title={words.importing.title}
      lead={words.importing.about}
      crumbs={[{ text: words.sectionTitle, href: paths.contacts() }]}
    >
      {state.step === 'form' && (
        <ImportForm
          preview={preview}
          choice={choice}
          onChoice={setChoice}
          onFile={(next) => void choose(next)}
          fault={unreadable ? words.importing.unreadable : undefined}
          refusal={refusal}
          onStart={() => void start(false)}
        />
      )}
      {state.step === 'running' && <Running share={state.share} />}
      {state.step === 'refused' && file && (
        <BadLines
          file={file}
          count={state.count}
          faults={state.faults}
          onGood={() => void start(true)}
          onAgain={again}
        />
      )}
      {state.step === 'done' && file && (
        <ImportResult file={file} counts={state.reply} faults={state.faults} onAgain={again} />
      )}
    </Page>
  )
}
