import { useState } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { ApiError, asApiError } from '../api/errors.ts'
import { markStale } from '../api/query.ts'
import type { Refusal } from '../parts/form.tsx'
import { paths } from '../paths.ts'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/contacts.ts'
import { columnsOf, importFile, isHeadless, type Preview, previewOf } from './import-file.ts'
import { type Choice, ImportForm } from './import-form.tsx'
import { BadLines, type Fault, ImportResult, Running } from './import-result.tsx'

type Reply = ReplyOf<'POST /open/contacts/import'>

type State =
  | { readonly step: 'form' }
  | { readonly step: 'running'; readonly share: number }
  | { readonly step: 'refused'; readonly count: number; readonly encoding: string; readonly faults: readonly Fault[] }
  | { readonly step: 'done'; readonly reply: Reply }

// As the contract of the import says.
const faultsIn = (body: Readonly<Record<string, unknown>>): readonly Fault[] => (body.lines ?? []) as readonly Fault[]

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
      const meanings = read.columns.map(({ meaning }) => meaning)
      setChoice((before) => ({ ...before, meanings, hasHead: !isHeadless(read) }))
    } catch {
      setUnreadable(true)
    }
  }

  const start = async (skipsBad: boolean) => {
    if (!file || !preview) return
    setRefusal(undefined)
    setState({ step: 'running', share: 0 })
    try {
      const query = {
        ...columnsOf(preview, choice.meanings, choice.hasHead),
        duplicates: choice.duplicates,
        bad_lines: skipsBad ? ('skip' as const) : ('refuse' as const),
        ...(choice.country ? { country: choice.country.value } : {}),
      }
      const reply = await importFile(file, query, (share) => setState({ step: 'running', share }))
      markStale('contact.created')
      setState({ step: 'done', reply })
    } catch (thrown) {
      const error = thrown instanceof ApiError ? thrown : asApiError(thrown)
      const faults = faultsIn(error.body)
      const { bad_lines: count, encoding = preview.encoding } = error.body
      if (faults.length > 0) setState({ step: 'refused', count: Number(count), encoding: String(encoding), faults })
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
          encoding={state.encoding}
          count={state.count}
          faults={state.faults}
          onGood={() => void start(true)}
          onAgain={again}
        />
      )}
      {state.step === 'done' && file && <ImportResult file={file} counts={state.reply} onAgain={again} />}
    </Page>
  )
}
