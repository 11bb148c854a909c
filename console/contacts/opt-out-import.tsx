import { useState } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { type ApiError, asApiError } from '../api/errors.ts'
import { uploadStream } from '../api/files.ts'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { FileField } from '../parts/file-field.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { Table } from '../parts/table.tsx'
import { TextareaField } from '../parts/text-fields.tsx'
import { words } from '../words/en/contacts.ts'
import { words as parts } from '../words/en/parts.ts'

type Result = Pick<ReplyOf<'POST /open/sms/opt-outs/import'>, 'created' | 'skipped' | 'bad_lines' | 'lines'>

/** The file that a person chooses is sent as it is: the platform takes any length. */
const mostBytes = 2_000_000_000

/** The result that a refusal of a file without a single opt-out has. */
const resultIn = ({ body }: ApiError): Result | undefined =>
  Array.isArray(body.lines)
    ? // As the contract of the import says.
      { created: 0, skipped: 0, bad_lines: Number(body.bad_lines), lines: body.lines as Result['lines'] }
    : undefined

const Outcome = ({ result, onDone }: { result: Result; onDone: () => void }) => (
  <div class="stack">
    <Banner tone={result.bad_lines > 0 ? 'notice' : 'good'} live title={words.optOuts.done(result.created)}>
      {result.skipped > 0 && <p>{words.optOuts.skipped(result.skipped)}</p>}
      {result.bad_lines > 0 && <p>{words.optOuts.bad(result.bad_lines)}</p>}
    </Banner>
    {result.lines.length > 0 && (
      <Table
        label={words.optOuts.faults}
        rows={result.lines.slice(0, 100)}
        rowKey={({ line, error }) => `${line} ${error}`}
        columns={[
          { key: 'line', title: words.importing.line, narrow: true, cell: ({ line }) => words.optOuts.line(line) },
          { key: 'fault', title: words.importing.fault, cell: ({ error }) => <span dir="auto">{error}</span> },
        ]}
        empty={null}
      />
    )}
    <FormActions>
      <Button kind="primary" onClick={onDone} autofocus>
        {words.optOuts.close}
      </Button>
    </FormActions>
  </div>
)

const ImportForm = ({ onResult, onCancel }: { onResult: (result: Result) => void; onCancel: () => void }) => {
  const [file, setFile] = useState<File>()
  const [isBusy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<ApiError>()
  const submit = async ({ numbers = '' }: Readonly<Record<string, string>>) => {
    if (isBusy) return
    setBusy(true)
    setRefusal(undefined)
    try {
      const body = new Blob([file ?? numbers], { type: 'text/csv' })
      onResult(Object(await uploadStream('POST /open/sms/opt-outs/import', body, {}, () => {})))
    } catch (thrown) {
      const error = asApiError(thrown)
      const result = resultIn(error)
      if (result) onResult(result)
      else setRefusal(error)
    }
    setBusy(false)
  }
  return (
    <Form onSubmit={(values) => void submit(values)} refusal={refusal} label={words.optOuts.importTitle}>
      <FileField
        name="file"
        label={words.optOuts.file}
        hint={words.optOuts.fileHint}
        accept=".csv,.txt,text/csv,text/plain"
        most={mostBytes}
        optional
        onFile={setFile}
      />
      {!file && (
        <TextareaField
          name="numbers"
          label={words.optOuts.numbers}
          hint={words.optOuts.numbersHint}
          placeholder={words.optOuts.numbersExample}
          rows={6}
          required
          code
        />
      )}
      <FormActions>
        <Button type="submit" kind="primary" icon="upload" busy={isBusy}>
          {words.import}
        </Button>
        <Button onClick={onCancel}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}

type Props = { readonly open: boolean; readonly onClose: () => void; readonly after: () => void }

/** Imports a list of opt-outs, from a file or as pasted, and shows what became of its lines. */
export const ImportOptOuts = ({ open, onClose, after }: Props) => {
  const [result, setResult] = useState<Result>()
  const close = () => {
    setResult(undefined)
    onClose()
  }
  return (
    <Dialog open={open} title={words.optOuts.importTitle} onClose={close}>
      {result ? (
        <Outcome result={result} onDone={close} />
      ) : (
        <ImportForm
          onResult={(next) => {
            setResult(next)
            after()
          }}
          onCancel={close}
        />
      )}
    </Dialog>
  )
}
