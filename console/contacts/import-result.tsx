import { useEffect, useState } from 'preact/hooks'
import { Banner } from '../parts/banner.tsx'
import { Button, ButtonLink } from '../parts/button.tsx'
import { KeyValue, Section } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/contacts.ts'
import { words as shell } from '../words/en/shell.ts'
import { number, percent } from '../words/format.ts'
import { recordText } from './csv.ts'
import { isCardFile, recordsAt } from './import-file.ts'

export type Fault = { readonly line: number; readonly error: string }

type Counts = {
  readonly read: number
  readonly created: number
  readonly merged: number
  readonly skipped: number
  readonly bad_lines: number
}

/** How much of the file is sent; then the platform adds the contacts in one transaction. */
export const Running = ({ share }: { share: number }) => {
  const text = share < 1 ? words.importing.sending(percent(share)) : words.importing.adding
  return (
    <div class="import-running">
      <progress aria-label={words.importing.progress} max={1} {...(share < 1 ? { value: share } : {})} />
      <p role="status">{text}</p>
      <p class="soft">{words.importing.leave}</p>
    </div>
  )
}

/** Faults that are shown at a time. */
const pageSize = 50

/** Has the browser save a text. */
const saveText = (text: string, name: string): void => {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  link.download = name
  link.click()
  // The browser has read the address when the click is over.
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000)
}

/** The bad lines with their numbers, as they are in the file. */
const Faults = ({ file, faults, count }: { file: File; faults: readonly Fault[]; count: number }) => {
  const [texts, setTexts] = useState<ReadonlyMap<number, string>>(new Map())
  const [shown, setShown] = useState(pageSize)
  useEffect(() => {
    void recordsAt(file, new Set(faults.map(({ line }) => line))).then(setTexts)
  }, [file, faults])
  const isCards = isCardFile(file)
  const save = () => {
    const lines = faults.map(({ line, error }) => {
      const text = texts.get(line) ?? ''
      return isCards ? `${text}\r\n` : `${recordText([String(line), error])},${text}\r\n`
    })
    const head = isCards ? '' : `${recordText([words.importing.line, words.importing.faultColumn])}\r\n`
    saveText(head + lines.join(''), isCards ? words.importing.badCards : words.importing.badFile)
  }
  return (
    <Section
      title={words.importing.faults}
      lead={count > faults.length ? words.importing.listed(faults.length) : undefined}
      actions={
        <Button icon="download" onClick={save}>
          {words.importing.download}
        </Button>
      }
    >
      <Table
        label={words.importing.faults}
        rows={faults.slice(0, shown)}
        rowKey={({ line, error }) => `${line} ${error}`}
        columns={[
          {
            key: 'line',
            title: words.importing.line,
            narrow: true,
            cell: ({ line }) => <span class="tabular">{number(line)}</span>,
          },
          { key: 'fault', title: words.importing.fault, cell: ({ error }) => error },
          {
            key: 'content',
            title: words.importing.content,
            cell: ({ line }) => (
              <code class="import-line" dir="auto">
                {texts.get(line)}
              </code>
            ),
          },
        ]}
        empty={null}
      />
      {shown < faults.length && (
        <div class="list-more">
          <Button onClick={() => setShown(shown + pageSize)}>{shell.list.more}</Button>
        </div>
      )}
    </Section>
  )
}

type BadProps = {
  readonly file: File
  readonly count: number
  readonly faults: readonly Fault[]
  readonly onGood: () => void
  readonly onAgain: () => void
}

/** A file that was refused for its bad lines: nothing was imported. */
export const BadLines = ({ file, count, faults, onGood, onAgain }: BadProps) => (
  <>
    <Banner
      tone="bad"
      live
      title={words.importing.refused(count)}
      actions={
        <span class="row">
          <Button kind="primary" onClick={onGood}>
            {words.importing.good}
          </Button>
          <Button onClick={onAgain}>{words.importing.another}</Button>
        </span>
      }
    >
      {words.importing.refusedHint}
    </Banner>
    <Faults file={file} faults={faults} count={count} />
  </>
)

type ResultProps = Pick<BadProps, 'file' | 'faults' | 'onAgain'> & { readonly counts: Counts }

/** Result of an import. */
export const ImportResult = ({ file, counts, faults, onAgain }: ResultProps) => (
  <>
    <Banner
      tone="good"
      live
      title={words.importing.done}
      actions={
        <span class="row">
          <ButtonLink kind="primary" href={paths.contacts({}, { sort: '-created_at' })}>
            {words.importing.toList}
          </ButtonLink>
          <Button onClick={onAgain}>{words.importing.another}</Button>
        </span>
      }
    />
    <KeyValue
      facts={[
        { name: words.importing.read, value: number(counts.read) },
        { name: words.importing.created, value: number(counts.created) },
        ...(counts.merged > 0 ? [{ name: words.importing.merged, value: number(counts.merged) }] : []),
        ...(counts.skipped > 0 ? [{ name: words.importing.skipped, value: number(counts.skipped) }] : []),
        ...(counts.bad_lines > 0 ? [{ name: words.importing.bad, value: number(counts.bad_lines) }] : []),
      ]}
    />
    {faults.length > 0 && <Faults file={file} faults={faults} count={counts.bad_lines} />}
  </>
)
