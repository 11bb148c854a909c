import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import type { ReplyOf, RequestOf } from '../api/client.ts'
import { useAct, useList, useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { SelectField } from '../parts/choice-fields.tsx'
import { ConfirmDialog, Dialog } from '../parts/dialog.tsx'
import { type Filter, Filters } from '../parts/filters.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { Empty } from '../parts/page-states.tsx'
import { PhoneField, TextField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import { Moment, NoValue, PhoneNumber } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ExportButton } from '../shell/export-button.tsx'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/contacts.ts'
import { words as parts } from '../words/en/parts.ts'
import { phoneNumber } from '../words/format.ts'
import { ImportOptOuts } from './opt-out-import.tsx'

type OptOut = ReplyOf<'GET /open/sms/opt-outs'>['opt_outs'][number]
type Search = PageOf<typeof paths.optOuts>['search']
type Query = NonNullable<RequestOf<'GET /open/sms/opt-outs'>['query']>

const reasons = ['keyword', 'manual', 'complaint', 'import'] as const
const added = ['manual', 'complaint'] as const

/** A number as people write it, or the name of a sender. A number that is still being written finds nothing. */
const contactIn = (text: string | undefined): string | undefined =>
  text === undefined || /\p{L}/u.test(text) ? text?.trim() : text.replace(/\D/g, '') || undefined

const queryOf = ({ contact, reason }: Search): Query => ({
  contact_number: contactIn(contact),
  reason: reasons.find((each) => each === reason),
})

const nameOf = ({ contact_number: number }: OptOut): string => (number.startsWith('+') ? phoneNumber(number) : number)

const columns = () => [
  {
    key: 'contact',
    title: words.optOuts.contact,
    cell: ({ contact_number: number }: OptOut) =>
      number.startsWith('+') ? <PhoneNumber number={number} /> : <bdi>{number}</bdi>,
  },
  {
    key: 'number',
    title: words.optOuts.from,
    cell: ({ phone_number: number }: OptOut) =>
      number === undefined ? words.optOuts.every : <PhoneNumber number={number} />,
  },
  {
    key: 'reason',
    title: words.optOuts.reason,
    cell: ({ reason, keyword }: OptOut) => (
      <>
        {words.optOuts.reasons[reason]}
        {keyword !== undefined && (
          <>
            {' '}
            <code>{keyword}</code>
          </>
        )}
      </>
    ),
  },
  {
    key: 'note',
    title: words.optOuts.note,
    cell: ({ note }: OptOut) => (note === undefined ? <NoValue /> : <span dir="auto">{note}</span>),
  },
  {
    key: 'since',
    title: words.optOuts.since,
    align: 'end' as const,
    narrow: true,
    cell: ({ created_at: at }: OptOut) => <Moment time={at} show="day" />,
  },
]

const AddOptOut = ({ onClose }: { onClose: () => void }) => {
  const channels = useQuery('GET /open/sms/channels', { query: { results_per_page: 200 }, enabled: may('read_only') })
  const create = useAct('POST /open/sms/opt-outs', {
    stale: ['GET /open/sms/opt-outs'],
    after: ({ opt_out }) => {
      showToast(words.optOuts.added(nameOf(opt_out)))
      onClose()
    },
  })
  const submit = ({
    contact_number = '',
    phone_number = '',
    reason = '',
    note = '',
  }: Readonly<Record<string, string>>) => {
    if (create.isPending) return
    const chosen = added.find((each) => each === reason)
    void create({
      body: {
        contact_number,
        ...(phone_number === '' ? {} : { phone_number }),
        ...(chosen === undefined ? {} : { reason: chosen }),
        ...(note.trim() === '' ? {} : { note }),
      },
    })
  }
  return (
    <Form onSubmit={submit} refusal={create.error ?? undefined} label={words.optOuts.add}>
      <PhoneField name="contact_number" label={words.optOuts.contact} required autofocus />
      <SelectField
        name="phone_number"
        label={words.optOuts.from}
        hint={words.optOuts.fromHint}
        initial=""
        options={[
          { value: '', text: words.optOuts.every },
          ...(channels.data?.channels ?? []).map(({ phone_number: number }) => ({
            value: number,
            text: phoneNumber(number),
          })),
        ]}
      />
      <SelectField
        name="reason"
        label={words.optOuts.reason}
        initial="manual"
        options={added.map((value) => ({ value, text: words.optOuts.reasons[value] }))}
      />
      <TextField name="note" label={words.optOuts.note} hint={words.optOuts.noteHint} maxLength={500} optional />
      <FormActions>
        <Button type="submit" kind="primary" busy={create.isPending}>
          {words.optOuts.add}
        </Button>
        <Button onClick={onClose}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}

const RemoveOptOut = ({ optOut, onClose }: { optOut: OptOut; onClose: () => void }) => {
  const remove = useAct('DELETE /open/sms/opt-outs/:opt_out_uuid', {
    stale: ['GET /open/sms/opt-outs'],
    after: () => {
      showToast(words.optOuts.removed(nameOf(optOut)))
      onClose()
    },
  })
  return (
    <ConfirmDialog
      open
      title={words.optOuts.removeTitle(nameOf(optOut))}
      act={words.optOuts.remove}
      danger
      busy={remove.isPending}
      error={remove.error?.message}
      onClose={onClose}
      onConfirm={() => void remove({ params: { opt_out_uuid: optOut.uuid } })}
    >
      <p>{words.optOuts.removeWhy}</p>
      {optOut.reason === 'keyword' && <p>{words.optOuts.removeConsent}</p>}
    </ConfirmDialog>
  )
}

/** The contacts that get no SMS, with search and filter in the address. */
export const OptOutsPage = ({ search }: PageOf<typeof paths.optOuts>) => {
  const { route: go } = useLocation()
  const query = queryOf(search)
  const optOuts = useList('GET /open/sms/opt-outs', { query, live: ['sms.message.received'] })
  const [removing, setRemoving] = useState<OptOut>()
  const close = () => go(paths.optOuts({}, { ...search, add: undefined, import: undefined }), true)
  const filters: Filter[] = [
    { kind: 'search', name: 'contact', label: words.optOuts.find },
    {
      kind: 'choice',
      name: 'reason',
      label: words.optOuts.reason,
      options: reasons.map((value) => ({ value, text: words.optOuts.reasons[value] })),
    },
  ]
  const isFiltered = (search.contact ?? search.reason) !== undefined
  const add = (
    <Button kind="primary" icon="plus" onClick={() => go(paths.optOuts({}, { ...search, add: '1' }))}>
      {words.optOuts.add}
    </Button>
  )
  return (
    <Page
      title={words.optOuts.title}
      lead={words.optOuts.about}
      actions={
        <>
          {may('team_settings') && (
            <Button icon="upload" onClick={() => go(paths.optOuts({}, { ...search, import: '1' }))}>
              {words.import}
            </Button>
          )}
          <ExportButton route="GET /open/sms/opt-outs" request={{ query }} file="opt-outs.csv" />
          {add}
        </>
      }
    >
      <Filters
        filters={filters}
        values={{ contact: search.contact, reason: search.reason }}
        onChange={(values) => go(paths.optOuts({}, values))}
      />
      <ListTable
        of={optOuts}
        label={words.optOuts.caption}
        columns={columns()}
        rowKey={({ uuid }) => uuid}
        rowName={nameOf}
        menu={(optOut) =>
          may('team_settings')
            ? [
                {
                  text: words.optOuts.remove,
                  icon: 'trash-2',
                  danger: true,
                  onSelect: () => setRemoving(optOut),
                },
              ]
            : []
        }
        empty={
          isFiltered ? (
            <Empty icon="search" title={words.optOuts.emptyFiltered}>
              {words.optOuts.emptyFilteredHint}
            </Empty>
          ) : (
            <Empty icon="ban" title={words.optOuts.empty} act={add}>
              {words.optOuts.emptyHint}
            </Empty>
          )
        }
      />
      <Dialog open={search.add !== undefined} title={words.optOuts.add} onClose={close}>
        <AddOptOut onClose={close} />
      </Dialog>
      <ImportOptOuts open={search.import !== undefined} onClose={close} after={optOuts.refresh} />
      {removing && <RemoveOptOut optOut={removing} onClose={() => setRemoving(undefined)} />}
    </Page>
  )
}
