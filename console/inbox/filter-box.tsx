import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useAct } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { CheckboxField } from '../parts/choice-fields.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Filters } from '../parts/filters.tsx'
import { Form } from '../parts/form.tsx'
import { TextField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/inbox.ts'
import { words as parts } from '../words/en/parts.ts'
import { phoneNumber } from '../words/format.ts'
import { filtersIn, queryOf } from './house-views.ts'
import type { Place } from './inbox-place.ts'
import { knownChannels } from './inbox-store.ts'
import { members, ownUser, savedViews, tags } from './team-members.ts'

const yesNo = () => [
  { value: 'true', text: words.filter.yes },
  { value: 'false', text: words.filter.no },
]

const choices = () => [
  {
    name: 'assignee',
    label: words.filter.assignee,
    options: [
      ...(ownUser.value ? [{ value: 'me', text: words.filter.me }] : []),
      { value: 'none', text: words.filter.none },
      ...members.value
        .filter(({ user_uuid }) => user_uuid !== ownUser.value)
        .map(({ user_uuid, name }) => ({ value: user_uuid, text: name })),
    ],
  },
  {
    name: 'status',
    label: words.filter.status,
    options: Object.entries(words.statuses).map(([value, text]) => ({ value, text })),
  },
  { name: 'tag', label: words.filter.tag, options: tags.value.map(({ uuid, name }) => ({ value: uuid, text: name })) },
  {
    name: 'kind',
    label: words.filter.kind,
    options: Object.entries(words.kinds).map(([value, text]) => ({ value, text })),
  },
  {
    name: 'channel_uuid',
    label: words.filter.channel,
    options: knownChannels().map(({ uuid, number }) => ({ value: uuid, text: phoneNumber(number) })),
  },
  { name: 'unread', label: words.filter.unread, options: yesNo() },
  { name: 'waiting', label: words.filter.waiting, options: yesNo() },
  {
    name: 'priority',
    label: words.filter.priority,
    options: [0, 1, 2].map((value) => ({ value: String(value), text: words.priorities[value as 0 | 1 | 2] })),
  },
]

/** Stores the filters of the address under a name. */
const SaveView = ({ place, onClose }: { place: Place; onClose: () => void }) => {
  const { route: go } = useLocation()
  const create = useAct('POST /open/views', {
    stale: ['GET /open/views'],
    after: ({ view }) => {
      savedViews.value = [...(savedViews.value ?? []), view]
      showToast(words.views.saved)
      go(paths.inbox({ view: view.uuid }))
    },
  })
  const [name, setName] = useState('')
  const [isShared, setShared] = useState(false)
  const save = () => {
    if (create.isPending) return
    const query = Object.entries(queryOf(place.view, place.search, savedViews.value ?? []))
    const texts = Object.fromEntries(query.map(([field, value]) => [field, String(value)]))
    void create({ body: { name, page: 'inbox', query: texts, shared: isShared } })
  }
  return (
    <Dialog
      open
      size="small"
      title={words.views.saveTitle}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{parts.cancel}</Button>
          <Button kind="primary" type="submit" form="save-view" busy={create.isPending}>
            {words.views.save}
          </Button>
        </>
      }
    >
      <Form id="save-view" onSubmit={save} refusal={create.error ?? undefined}>
        <TextField
          name="name"
          label={words.views.name}
          required
          autofocus
          maxLength={60}
          value={name}
          onInput={setName}
        />
        {may('team_settings') && (
          <CheckboxField name="shared" label={words.views.share} checked={isShared} onChange={setShared} />
        )}
      </Form>
    </Dialog>
  )
}

/** The filters of the list, and the button that stores them as a view. */
export const FilterBox = ({ place }: { place: Place }) => {
  const [isSaving, setSaving] = useState(false)
  const isFiltered = filtersIn(place.search).length > 0 || Boolean(place.search.q)
  return (
    <div class="inbox-filters">
      <Filters
        values={place.search}
        onChange={(values) => place.setSearch(values)}
        filters={[
          ...choices().map((choice) => ({ ...choice, kind: 'choice' as const })),
          { kind: 'date' as const, name: 'since', label: words.filter.since },
          { kind: 'date' as const, name: 'until', label: words.filter.until },
        ]}
      />
      {isFiltered && (
        <Button size="small" icon="plus" haspopup="dialog" onClick={() => setSaving(true)}>
          {words.views.save}
        </Button>
      )}
      {isSaving && <SaveView place={place} onClose={() => setSaving(false)} />}
    </div>
  )
}
