import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useAct } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { showToast } from '../parts/toast.tsx'
import { NoValue } from '../parts/values.tsx'
import { words } from '../words/en/contacts.ts'
import { words as parts } from '../words/en/parts.ts'
import { fullName, phoneNumber, shortDay } from '../words/format.ts'
import { Avatar } from './avatar.tsx'
import {
  type Contact,
  type Detail,
  type FieldName,
  fieldNames,
  isNumber,
  mapFields,
  staleLists,
} from './contact-details.ts'

/** Equal details of several contacts are one. */
const detailKey = ({ type, value }: Detail): string => `${isNumber({ type }) ? 'PH' : type} ${value.toLowerCase()}`

const textOf = (detail: Detail): string => (isNumber(detail) ? phoneNumber(detail.value) : detail.value)

/** The values of the contacts for one field. A choice is the id of the contact whose value remains. */
type Field = {
  readonly name: FieldName | 'blocked'
  readonly label: string
  readonly show: (contact: Contact) => ComponentChildren
  readonly value: (contact: Contact) => string
}

const Picture = ({ contact }: { contact: Contact }) =>
  contact.profile_pic_url ? <Avatar contact={contact} /> : <NoValue />

const fields = (): readonly Field[] => [
  ...fieldNames.map((name) => ({
    name,
    label: words.fields[name],
    show: (contact: Contact) =>
      name === 'profile_pic_url' ? (
        <Picture contact={contact} />
      ) : (
        contact[name] || <span class="soft">{words.merge.empty}</span>
      ),
    value: (contact: Contact) => contact[name] ?? '',
  })),
  {
    name: 'blocked',
    label: words.merge.blocked,
    show: ({ blocked }) => (blocked ? words.merge.isBlocked : words.merge.notBlocked),
    value: ({ blocked }) => String(blocked),
  },
]

/** Default choice of a merge: the own value, else the first that is not empty; a block stays. */
const defaultOf = (field: Field, into: Contact, all: readonly Contact[]): string => {
  const found =
    field.name === 'blocked'
      ? all.find(({ blocked }) => blocked)
      : [into, ...all].find((contact) => field.value(contact) !== '')
  return (found ?? into).uuid
}

type ChoiceProps = {
  readonly field: Field
  readonly contacts: readonly Contact[]
  readonly chosen: string
  readonly onChoose: (uuid: string) => void
}

const ChoiceRow = ({ field, contacts, chosen, onChoose }: ChoiceProps) => (
  <tr>
    <th scope="row">{field.label}</th>
    {contacts.map((contact) => (
      <td key={contact.uuid}>
        <label class="merge-choice">
          <input
            type="radio"
            name={field.name}
            value={contact.uuid}
            checked={contact.uuid === chosen}
            aria-label={`${field.label}: ${field.value(contact) || words.merge.empty}`}
            onChange={() => onChoose(contact.uuid)}
          />
          <span dir="auto">{field.show(contact)}</span>
        </label>
      </td>
    ))}
  </tr>
)

const toggle = (set: ReadonlySet<string>, value: string): ReadonlySet<string> =>
  new Set(set.has(value) ? [...set].filter((each) => each !== value) : [...set, value])

/** The result of a merge of contacts. */
const useMerge = (contacts: readonly Contact[], onClose: () => void) => {
  const [included, setIncluded] = useState<ReadonlySet<string>>(new Set(contacts.map(({ uuid }) => uuid)))
  const [into, setInto] = useState(contacts[0]?.uuid ?? '')
  const [choices, setChoices] = useState<Readonly<Record<string, string>>>({})
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set())
  const send = useAct('POST /open/contacts/:contact_uuid/merge', {
    stale: staleLists,
    after: ({ contact }) => {
      onClose()
      showToast(words.merge.merged(fullName(contact)))
    },
  })
  const chosen = contacts.filter(({ uuid }) => included.has(uuid))
  const target = chosen.find(({ uuid }) => uuid === into) ?? chosen[0]
  const choiceOf = (field: Field): string => {
    const choice = choices[field.name]
    return choice !== undefined && included.has(choice) ? choice : target ? defaultOf(field, target, chosen) : ''
  }
  const details = new Map(
    chosen.flatMap((contact) => contact.details.map((detail) => [detailKey(detail), detail] as const)),
  )
  const remaining = [...details].filter(([key]) => !left.has(key)).map(([, detail]) => detail)
  const shown = fields().filter((field) => new Set(chosen.map(field.value)).size > 1)
  const reason = chosen.length < 2 ? words.merge.two : remaining.length === 0 ? words.merge.oneDetail : undefined

  const submit = () => {
    if (send.isPending || reason !== undefined || !target) return
    const chosenOf = (name: Field['name']): Contact => {
      const field = fields().find((each) => each.name === name)
      return chosen.find(({ uuid }) => field && uuid === choiceOf(field)) ?? target
    }
    void send({
      params: { contact_uuid: target.uuid },
      body: {
        from: chosen.filter((each) => each !== target).map(({ uuid }) => uuid),
        fields: {
          ...mapFields((name) => chosenOf(name)[name] || null),
          blocked: chosenOf('blocked').blocked,
          contact_details: remaining.map(({ type, value }) => ({ type, value })),
        },
      },
    })
  }

  return {
    ...{ included, chosen, target, choiceOf, details, left, shown, reason, submit, setInto },
    toggleContact: (uuid: string) => setIncluded(toggle(included, uuid)),
    toggleDetail: (key: string) => setLeft(toggle(left, key)),
    choose: (field: Field, uuid: string) => setChoices({ ...choices, [field.name]: uuid }),
    isPending: send.isPending,
    error: send.error,
  }
}

type MergeProps = { readonly contacts: readonly Contact[]; readonly merge: ReturnType<typeof useMerge> }

/** Chooses the contacts, the one that remains, and its values. */
const MergeTable = ({ contacts, merge }: MergeProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
  <section class="merge-holder" aria-label={words.merge.title(contacts.length)} tabIndex={0}>
    <table class="merge">
      <thead>
        <tr>
          <td />
          {contacts.map((contact) => (
            <th key={contact.uuid} scope="col" class={merge.included.has(contact.uuid) ? '' : 'is-left-out'}>
              <label class="merge-choice">
                <input
                  type="checkbox"
                  checked={merge.included.has(contact.uuid)}
                  aria-label={words.merge.include(fullName(contact))}
                  onChange={() => merge.toggleContact(contact.uuid)}
                />
                <span dir="auto">{fullName(contact)}</span>
              </label>
              <span class="soft merge-added">{words.merge.added(shortDay(contact.created_at))}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row">{words.merge.remains}</th>
          {contacts.map((contact) => (
            <td key={contact.uuid}>
              {merge.included.has(contact.uuid) && (
                <label class="merge-choice">
                  <input
                    type="radio"
                    name="into"
                    value={contact.uuid}
                    checked={contact === merge.target}
                    aria-label={`${words.merge.into}: ${fullName(contact)}`}
                    onChange={() => merge.setInto(contact.uuid)}
                  />
                  <span>{words.merge.thisOne}</span>
                </label>
              )}
            </td>
          ))}
        </tr>
        {merge.shown.map((field) => (
          <ChoiceRow
            key={field.name}
            field={field}
            contacts={merge.chosen}
            chosen={merge.choiceOf(field)}
            onChoose={(uuid) => merge.choose(field, uuid)}
          />
        ))}
      </tbody>
    </table>
  </section>
)

/** Chooses the details that remain. */
const DetailChoices = ({ merge: { details, left, toggleDetail } }: Pick<MergeProps, 'merge'>) => (
  <fieldset class="field choices">
    <legend class="field-label">{words.merge.details}</legend>
    <div class="choices-box">
      {[...details].map(([key, detail]) => (
        <label key={key} class="choice">
          <input type="checkbox" checked={!left.has(key)} onChange={() => toggleDetail(key)} />
          <span class="choice-text">
            <bdi>{textOf(detail)}</bdi> <span class="soft">{words.kinds[detail.type]}</span>
          </span>
        </label>
      ))}
    </div>
  </fieldset>
)

/** Shows contacts side by side: which remains, and which value of each field. */
export const MergeForm = ({ contacts, onClose }: { contacts: readonly Contact[]; onClose: () => void }) => {
  const merge = useMerge(contacts, onClose)
  return (
    <Form onSubmit={merge.submit} refusal={merge.error ?? undefined} label={words.merge.title(contacts.length)}>
      <p class="soft">{words.merge.why}</p>
      <MergeTable contacts={contacts} merge={merge} />
      <DetailChoices merge={merge} />
      <FormActions>
        <Button type="submit" kind="primary" busy={merge.isPending} reason={merge.reason}>
          {words.merge.act(merge.chosen.length)}
        </Button>
        <Button onClick={onClose}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}
