import { useLocation } from 'preact-iso/router'
import type { RequestOf } from '../api/client.ts'
import { useAct, useList, useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { type Filter, Filters } from '../parts/filters.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Badge, Status } from '../parts/status.tsx'
import type { Sort } from '../parts/table.tsx'
import { showToast } from '../parts/toast.tsx'
import { Moment, NoValue, PhoneNumber } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ExportButton } from '../shell/export-button.tsx'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/contacts.ts'
import { fullName, phoneNumber } from '../words/format.ts'
import { Avatar } from './avatar.tsx'
import { type Contact, type Detail, isNumber, staleLists } from './contact-details.ts'
import { ContactForm } from './contact-form.tsx'

type Search = PageOf<typeof paths.contacts>['search']
type Query = NonNullable<RequestOf<'GET /open/contacts'>['query']>

const sorts = ['created_at', '-created_at'] as const

const queryOf = (search: Search): Query => ({
  q: search.q,
  channel_uuid: search.channel,
  blocked: search.blocked === undefined ? undefined : true,
  // Matches of a text are in the order of their quality.
  ...(search.q === undefined ? { sort: sorts.find((sort) => sort === search.sort) ?? 'name' } : {}),
})

/** Names ascend only; the newest come first, and the oldest once more. */
const sortOf = ({ q, sort }: Search): Sort | undefined => {
  if (q !== undefined) return undefined
  return sort === undefined ? { by: 'name', descending: false } : { by: 'added', descending: sort !== sorts[0] }
}

/** The first value of its kind, and how many more there are. */
const First = ({ details, show }: { details: readonly Detail[]; show: (detail: Detail) => preact.ComponentChild }) => {
  const [first, ...rest] = details
  if (!first) return <NoValue />
  return (
    <span class="contact-first">
      {show(first)}
      {rest.length > 0 && <Badge>{words.more(rest.length)}</Badge>}
    </span>
  )
}

const columns = () => [
  {
    key: 'name',
    title: words.name,
    sortable: true,
    cell: (contact: Contact) => (
      <span class="contact-name">
        <Avatar contact={contact} />
        <bdi>{fullName(contact)}</bdi>
        {contact.blocked && (
          <Status tone="notice" icon="ban">
            {words.blocked}
          </Status>
        )}
      </span>
    ),
  },
  {
    key: 'number',
    title: words.number,
    cell: ({ details }: Contact) => (
      <First details={details.filter(isNumber)} show={({ value }) => <PhoneNumber number={value} />} />
    ),
  },
  {
    key: 'email',
    title: words.email,
    cell: ({ details }: Contact) => (
      <First
        details={details.filter(({ type }) => type === 'E')}
        show={({ value }) => <bdi class="cut">{value}</bdi>}
      />
    ),
  },
  {
    key: 'added',
    title: words.added,
    align: 'end' as const,
    narrow: true,
    sortable: true,
    cell: ({ created_at: at }: Contact) => <Moment time={at} show="day" />,
  },
]

/** Matches of a text that the interface lists. */
const mostFound = 200

/** @param start `1`, or the number of the new contact; undefined while the dialog is closed */
const CreateDialog = ({ start, onClose }: { start: string | undefined; onClose: () => void }) => {
  const { route: go } = useLocation()
  const create = useAct('POST /open/contacts', {
    stale: staleLists,
    after: ({ contact }) => {
      showToast(words.created(fullName(contact)))
      go(paths.contact({ contact: contact.uuid }), true)
    },
  })
  return (
    <Dialog open={start !== undefined} title={words.create} onClose={onClose}>
      <ContactForm
        number={start?.startsWith('+') ? start : ''}
        act={words.form.create}
        busy={create.isPending}
        refusal={create.error ?? undefined}
        onCancel={onClose}
        onSave={({ last_name, ...fields }) => void create({ body: { ...fields, last_name: last_name ?? undefined } })}
      />
    </Dialog>
  )
}

/** The contacts of the account, with search, filters and order in the address. */
export const ContactsPage = ({ search }: PageOf<typeof paths.contacts>) => {
  const { route: go } = useLocation()
  const query = queryOf(search)
  const contacts = useList('GET /open/contacts', { query, live: ['contact'] })
  const first = useQuery('GET /open/contacts', { query: { ...query, results_per_page: 1 }, live: ['contact'] })
  const channels = useQuery('GET /open/msgapp/get-numbers', {
    query: { results_per_page: 200 },
    enabled: may('read_only'),
  })
  const filters: Filter[] = [
    { kind: 'search', name: 'q', label: words.find },
    { kind: 'choice', name: 'blocked', label: words.blocked, options: [{ value: 'true', text: words.onlyBlocked }] },
    ...((channels.data?.numbers.length ?? 0) > 0
      ? [
          {
            kind: 'choice' as const,
            name: 'channel',
            label: words.channel,
            options: (channels.data?.numbers ?? []).map(({ uuid, phone_number: number }) => ({
              value: uuid,
              text: phoneNumber(number),
            })),
          },
        ]
      : []),
  ]
  const isFiltered = (search.q ?? search.blocked ?? search.channel) !== undefined
  const opened = paths.contacts({}, { ...search, create: '1' })
  const add = (
    <Button kind="primary" icon="user-plus" onClick={() => go(opened)}>
      {words.create}
    </Button>
  )
  const total = first.data?.total
  const isCut = search.q !== undefined && (total ?? 0) >= mostFound
  return (
    <Page
      title={words.sectionTitle}
      lead={words.about}
      actions={
        <>
          <ButtonLink icon="upload" href={paths.importContacts()}>
            {words.import}
          </ButtonLink>
          <ExportButton route="GET /open/contacts" request={{ query }} file="contacts.csv" />
          {add}
        </>
      }
    >
      <Filters filters={filters} values={search} onChange={(values) => go(paths.contacts({}, values))} />
      {total !== undefined && total > 0 && (
        <p class="soft contact-total" role="status">
          {isCut ? words.findFirst(mostFound) : words.total(total)}
        </p>
      )}
      <ListTable
        of={contacts}
        sort={sortOf(search)}
        onSort={({ by, descending }) =>
          go(
            paths.contacts(
              {},
              {
                ...search,
                sort: by === 'name' ? undefined : search.sort !== undefined && !descending ? sorts[0] : sorts[1],
              },
            ),
          )
        }
        label={words.caption}
        columns={columns()}
        rowKey={({ uuid }) => uuid}
        rowName={fullName}
        rowHref={({ uuid }) => paths.contact({ contact: uuid })}
        empty={
          isFiltered ? (
            <Empty icon="search" title={words.emptyFiltered}>
              {words.emptyFilteredHint}
            </Empty>
          ) : (
            <Empty icon="users" title={words.empty} act={add}>
              {words.emptyHint}
            </Empty>
          )
        }
      />
      <CreateDialog
        start={search.create}
        onClose={() => go(paths.contacts({}, { ...search, create: undefined }), true)}
      />
    </Page>
  )
}
