import { Button } from '../parts/button.tsx'
import { CheckboxField, type Option, RadioField } from '../parts/choice-fields.tsx'
import { Combobox } from '../parts/combobox.tsx'
import { FileField } from '../parts/file-field.tsx'
import { Form, FormActions, type Refusal } from '../parts/form.tsx'
import { Section } from '../parts/page.tsx'
import { words } from '../words/en/contacts.ts'
import { country } from '../words/format.ts'
import { nameFields, otherFields } from './contact-details.ts'
import type { Meaning, Preview } from './import-file.ts'

/** How a file is imported. */
export type Choice = {
  readonly country: Option | undefined
  readonly duplicates: 'skip' | 'merge' | 'create'
  readonly meanings: readonly Meaning[]
  readonly hasHead: boolean
}

/** Meanings that a person may choose. Other columns are recognised by their names. */
const meanings = [
  ...(['ignore', ...nameFields, 'name', 'company', 'phone', 'email', 'address'] as const),
  ...otherFields,
]

const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']
/** Codes that are no countries with numbers of their own. */
const none = new Set(['EU', 'EZ', 'UN', 'ZZ', 'QO', 'XA', 'XB', 'AQ'])

/** All countries that the browser knows by name. */
const countries = (): readonly Option[] =>
  letters
    .flatMap((first) => letters.map((second) => first + second))
    // Aliases such as UK have the name of another code.
    .filter((code) => Intl.getCanonicalLocales(`und-${code}`)[0] === `und-${code}`)
    .filter((code) => !none.has(code) && country(code) !== code)
    .map((value) => ({ value, text: country(value) }))
    .sort((one, other) => one.text.localeCompare(other.text))

type Props = {
  readonly preview: Preview | undefined
  readonly choice: Choice
  readonly onChoice: (choice: Choice) => void
  readonly onFile: (file: File | undefined) => void
  readonly fault: string | undefined
  readonly refusal: Refusal | undefined
  readonly onStart: () => void
}

type PreviewProps = Pick<Props, 'choice' | 'onChoice'> & { readonly preview: Preview }

/** The first lines of the file, under the meanings of their columns. */
const PreviewTable = ({ preview, choice, onChoice }: PreviewProps) => {
  const isCsv = !preview.isCards
  const rows = isCsv && choice.hasHead ? preview.rows.slice(1) : preview.rows.slice(0, 20)
  const titles = isCsv
    ? preview.columns.map(({ title }) => title)
    : [words.importing.meanings.name, words.number, words.email]
  const titleOf = (index: number): string =>
    (isCsv && !choice.hasHead ? '' : (titles[index] ?? '')) || words.importing.noName(index + 1)
  const optionsOf = (index: number): readonly Meaning[] =>
    preview.columns[index]?.meaning === 'recognised' ? ['recognised', ...meanings] : meanings
  const setMeaning = (index: number, value: string) => {
    const chosen: Meaning = optionsOf(index).find((each) => each === value) ?? 'ignore'
    onChoice({ ...choice, meanings: choice.meanings.map((each, i) => (i === index ? chosen : each)) })
  }
  return (
    <Section
      title={words.importing.preview}
      lead={isCsv ? words.importing.previewOf(rows.length) : words.importing.cardsOf(rows.length)}
    >
      {isCsv && (
        <CheckboxField
          name="head"
          label={words.importing.hasHead}
          checked={choice.hasHead}
          onChange={(hasHead) => onChoice({ ...choice, hasHead })}
        />
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <section class="import-holder" aria-label={words.importing.caption} tabIndex={0}>
        <table class="import-preview">
          <thead>
            <tr>
              <th scope="col">{words.importing.line}</th>
              {titles.map((_, index) => (
                <th key={index} scope="col">
                  <span class="cut" dir="auto">
                    {titleOf(index)}
                  </span>
                  {isCsv && (
                    <select
                      class="import-meaning"
                      aria-label={words.importing.column(titleOf(index))}
                      value={choice.meanings[index] ?? 'ignore'}
                      onChange={({ currentTarget }) => setMeaning(index, currentTarget.value)}
                    >
                      {optionsOf(index).map((each) => (
                        <option key={each} value={each}>
                          {{ ...words.fields, ...words.importing.meanings }[each]}
                        </option>
                      ))}
                    </select>
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ line, cells }) => (
              <tr key={line}>
                <th scope="row" class="tabular soft">
                  {line}
                </th>
                {titles.map((_, index) => (
                  <td key={index} class={isCsv && choice.meanings[index] === 'ignore' ? 'is-ignored' : ''}>
                    <bdi>{cells[index]}</bdi>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Section>
  )
}

/** Why the import cannot start yet. */
const reasonOf = (preview: Preview, { meanings: chosen }: Choice): string | undefined => {
  if (preview.isCards) return undefined
  const has = (...meanings: Meaning[]) => chosen.some((each) => meanings.includes(each))
  if (!has(...nameFields, 'name', 'company')) return words.importing.noNameColumn
  return has('phone', 'email', 'address') ? undefined : words.importing.noDetailColumn
}

/** Bytes: far more than any address book. The browser reads the file, and the platform takes any length. */
const mostBytes = 2_000_000_000

export const ImportForm = ({ preview, choice, onChoice, onFile, fault, refusal, onStart }: Props) => (
  <div class="import-form">
    <Form onSubmit={onStart} refusal={refusal} label={words.importing.title}>
      <FileField
        name="file"
        label={words.importing.file}
        hint={words.importing.fileHint}
        accept=".csv,.txt,.vcf,text/csv,text/vcard"
        most={mostBytes}
        error={fault}
        required
        onFile={onFile}
      />
      {preview && (
        <>
          <PreviewTable preview={preview} choice={choice} onChoice={onChoice} />
          <div class="import-choices">
            <RadioField
              name="duplicates"
              label={words.importing.duplicates}
              hint={words.importing.duplicatesHint}
              value={choice.duplicates}
              onChange={(value) =>
                onChoice({ ...choice, duplicates: value === 'merge' || value === 'create' ? value : 'skip' })
              }
              options={(['skip', 'merge', 'create'] as const).map((value) => ({
                value,
                text: words.importing.duplicateChoices[value],
              }))}
            />
            <Combobox
              name="country"
              label={words.importing.country}
              hint={words.importing.countryHint}
              placeholder={words.importing.countryNone}
              value={choice.country}
              onChange={(option) => onChoice({ ...choice, country: option })}
              options={countries()}
            />
          </div>
          <FormActions>
            <Button type="submit" kind="primary" icon="upload" reason={reasonOf(preview, choice)}>
              {words.importing.start}
            </Button>
          </FormActions>
        </>
      )}
    </Form>
  </div>
)
