import { useRef, useState } from 'preact/hooks'
import { useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { SelectField } from '../parts/choice-fields.tsx'
import { Form, FormActions, type Refusal } from '../parts/form.tsx'
import { PhoneField, TextField } from '../parts/text-fields.tsx'
import { words } from '../words/en/contacts.ts'
import { words as parts } from '../words/en/parts.ts'
import { phoneNumber } from '../words/format.ts'
import {
  type Contact,
  contactFields,
  type FieldName,
  isNumber,
  type Kind,
  kinds,
  mapFields,
  nameFields,
  otherFields,
} from './contact-details.ts'

/** The fields of a contact as the API takes them. */
export type Fields = ReturnType<typeof mapFields> & {
  readonly channel_uuid: string | null
  readonly contact_details: { type: Kind; value: string; label: string | null }[]
}

type Props = {
  readonly contact?: Contact
  /** The first number of a new contact, E.164. */
  readonly number?: string
  readonly act: string
  readonly busy: boolean
  readonly refusal: Refusal | undefined
  readonly onSave: (fields: Fields) => void
  readonly onCancel: () => void
}

/** A row of the form. The key stays while other rows are removed. */
type DetailRow = { readonly key: number; readonly type: Kind; readonly value: string; readonly label: string }

type RowProps = {
  readonly row: DetailRow
  readonly index: number
  readonly isOnly: boolean
  readonly isNew: boolean
  readonly onChange: (row: DetailRow) => void
  readonly onRemove: () => void
}

const DetailFields = ({ row, index, isOnly, isNew, onChange, onRemove }: RowProps) => {
  const place = index + 1
  const value = {
    name: `contact_details/${index}/value`,
    label: words.form.detail(place),
    hideLabel: true,
    required: true,
    autofocus: isNew,
    value: row.value,
    placeholder: words.form.example[row.type],
    onInput: (text: string) => onChange({ ...row, value: text }),
  }
  return (
    <div class="contact-detail-row">
      <SelectField
        name={`contact_details/${index}/type`}
        label={words.form.kind(place)}
        hideLabel
        value={row.type}
        options={kinds.map((kind) => ({ value: kind, text: words.kinds[kind] }))}
        onChange={(type) => onChange({ ...row, type: kinds.find((kind) => kind === type) ?? 'PH' })}
      />
      {isNumber(row) ? (
        <PhoneField {...value} />
      ) : (
        <TextField {...value} type={row.type === 'E' ? 'email' : 'text'} maxLength={row.type === 'E' ? 254 : 500} />
      )}
      <TextField
        name={`contact_details/${index}/label`}
        label={words.form.label(place)}
        hideLabel
        value={row.label}
        placeholder={words.form.labelExample}
        maxLength={50}
        onInput={(text: string) => onChange({ ...row, label: text })}
      />
      {!isOnly && (
        <Button kind="quiet" icon="x" iconOnly onClick={onRemove}>
          {words.form.remove(place)}
        </Button>
      )}
    </div>
  )
}

const ContactText = ({ name, contact }: { name: FieldName; contact: Contact | undefined }) => {
  const { type, maxLength } = contactFields[name]
  const isFirst = name === 'first_name'
  return (
    <TextField
      name={name}
      type={type}
      label={type === 'url' ? words.form.picture : words.fields[name]}
      hint={type === 'url' ? words.form.pictureHint : undefined}
      initial={contact?.[name] ?? ''}
      maxLength={maxLength}
      required={isFirst}
      autofocus={isFirst}
      optional={!isFirst}
    />
  )
}

/** Creates or changes a contact: names, numbers and addresses, picture, address book. */
export const ContactForm = ({ contact, number = '', act, busy, refusal, onSave, onCancel }: Props) => {
  const next = useRef(contact?.details.length ?? 1)
  const [rows, setRows] = useState<readonly DetailRow[]>(
    contact?.details.map(({ type, value, label = '' }, key) => ({ key, type, value, label })) ?? [
      { key: 0, type: 'PH', value: number, label: '' },
    ],
  )
  const [added, setAdded] = useState<number>()
  const channels = useQuery('GET /open/msgapp/get-numbers', {
    query: { results_per_page: 200 },
    enabled: may('read_only'),
  })
  const choices = (channels.data?.numbers ?? []).map(({ uuid, phone_number: number, friendly_name: name }) => ({
    value: uuid,
    text: name && name !== number ? `${name} (${phoneNumber(number)})` : phoneNumber(number),
  }))
  const add = () => {
    const key = next.current
    next.current += 1
    setAdded(key)
    setRows([...rows, { key, type: 'PH', value: '', label: '' }])
  }
  const submit = (values: Readonly<Record<string, string>>) => {
    if (busy) return
    onSave({
      ...mapFields((name) => values[name]?.trim() || null),
      first_name: values.first_name ?? '',
      channel_uuid: values.channel_uuid || null,
      contact_details: rows.map(({ type, value, label }) => ({ type, value, label: label.trim() || null })),
    })
  }
  return (
    <Form onSubmit={submit} refusal={refusal} label={act}>
      <div class="contact-names">
        {nameFields.map((name) => (
          <ContactText key={name} name={name} contact={contact} />
        ))}
      </div>
      <fieldset class="field contact-details">
        <legend class="field-label">{words.form.details}</legend>
        {rows.map((row, index) => (
          <DetailFields
            key={row.key}
            row={row}
            index={index}
            isOnly={rows.length === 1}
            isNew={row.key === added}
            onChange={(changed) => setRows(rows.map((each) => (each.key === row.key ? changed : each)))}
            onRemove={() => setRows(rows.filter(({ key }) => key !== row.key))}
          />
        ))}
        <div>
          <Button kind="quiet" size="small" icon="plus" onClick={add}>
            {words.form.add}
          </Button>
        </div>
      </fieldset>
      {otherFields.map((name) => (
        <ContactText key={name} name={name} contact={contact} />
      ))}
      {(choices.length > 0 || contact?.channel_uuid) && (
        <SelectField
          name="channel_uuid"
          label={words.form.channel}
          hint={words.form.channelHint}
          placeholder={words.form.noChannel}
          initial={contact?.channel_uuid}
          options={choices}
          optional
        />
      )}
      <FormActions>
        <Button type="submit" kind="primary" busy={busy}>
          {act}
        </Button>
        <Button onClick={onCancel}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}
