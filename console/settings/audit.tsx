import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { asApiError } from '../api/errors.ts'
import { download } from '../api/files.ts'
import { useList } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import type { Option } from '../parts/choice-fields.tsx'
import { Filters } from '../parts/filters.tsx'
import { Empty } from '../parts/page-states.tsx'
import { showToast } from '../parts/toast.tsx'
import { Moment } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/settings.ts'
import { fullName } from '../words/format.ts'
import { type Act, actionName, actorName } from './act.ts'
import { ActDetails, Changes } from './act-details.tsx'

type Search = PageOf<typeof paths.audit>['search']

/** The first moment of a day in the zone of the person; undefined for text that is no day. */
const startOf = (day: string | undefined, later = 0): string | undefined => {
  const [year, month, date] =
    /^(\d{4})-(\d\d)-(\d\d)$/
      .exec(day ?? '')
      ?.slice(1)
      .map(Number) ?? []
  if (year === undefined || month === undefined || date === undefined) return undefined
  const time = new Date(year, month - 1, date + later)
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString()
}

/** The filters of the interface. The last day counts whole. */
const queryOf = ({ actor, action, target, since, until }: Search) => ({
  actor: actor || undefined,
  action: action || undefined,
  target: target || undefined,
  since: startOf(since),
  until: startOf(until, 1),
})

/** Adds the chosen value when it is none of the choices, such as one from a link. */
const withChosen = (options: readonly Option[], chosen: string | undefined): readonly Option[] =>
  !chosen || options.some(({ value }) => value === chosen) ? options : [...options, { value: chosen, text: chosen }]

/** Members of the account, and its keys by the labels that the trail has. */
const useActors = (): Option[] => {
  const members = useList('GET /open/members', { query: { results_per_page: 200 } })
  const keys = useList('GET /open/keys', { enabled: may('develop') })
  const people = (members.rows ?? []).filter(({ person }) => person)
  const labels = new Set((keys.rows ?? []).map(({ label }) => label))
  return [
    ...people.map((one) => ({ value: one.uuid, text: fullName(one) })),
    ...[...labels].filter(Boolean).map((label) => ({ value: label, text: label })),
    { value: 'operator', text: words.audit.operator },
  ]
}

const columns = [
  { key: 'action', title: words.audit.action, cell: ({ action }: Act) => actionName(action) },
  { key: 'actor', title: words.audit.actor, cell: ({ actor }: Act) => <bdi>{actorName(actor)}</bdi> },
  { key: 'changes', title: words.audit.changes, cell: ({ changes }: Act) => <Changes changes={changes} /> },
  { key: 'at', title: words.audit.at, cell: ({ at }: Act) => <Moment time={at} /> },
]

const Export = ({ search }: { search: Search }) => {
  const [isBusy, setBusy] = useState(false)
  const save = async () => {
    setBusy(true)
    try {
      const query = { ...queryOf(search), format: 'csv' }
      await download('GET /open/audit', { query }, words.audit.fileName)
    } catch (error) {
      showToast(`${words.audit.notExported} ${asApiError(error).message}`, 'bad')
    } finally {
      setBusy(false)
    }
  }
  return (
    <Button icon="download" busy={isBusy} onClick={() => void save()}>
      {words.audit.csv}
    </Button>
  )
}

/** The audit trail of the account. Filters and the open entry are in the address. */
export const AuditPage = ({ search }: PageOf<typeof paths.audit>) => {
  const { route: go } = useLocation()
  const acts = useList('GET /open/audit', { query: queryOf(search) })
  const actors = useActors()
  const actions = Object.entries(words.audit.actions).map(([value, text]) => ({ value, text }))
  const { act: open, ...filters } = search
  const isFiltered = Object.values(filters).some(Boolean)
  return (
    <Page title={words.audit.title} lead={words.audit.about} actions={<Export search={search} />}>
      <Filters
        filters={[
          { kind: 'choice', name: 'actor', label: words.audit.actor, options: withChosen(actors, search.actor) },
          { kind: 'choice', name: 'action', label: words.audit.action, options: withChosen(actions, search.action) },
          { kind: 'text', name: 'target', label: words.audit.targetHint },
          { kind: 'date', name: 'since', label: words.audit.since },
          { kind: 'date', name: 'until', label: words.audit.until },
        ]}
        values={filters}
        onChange={(values) => go(paths.audit({}, values))}
      />
      <ListTable
        of={acts}
        label={words.audit.caption}
        columns={columns}
        rowKey={({ uuid }) => uuid}
        rowHref={({ uuid }) => paths.audit({}, { ...filters, act: uuid })}
        current={open}
        empty={
          isFiltered ? (
            <Empty
              icon="filter"
              title={words.audit.noMatch}
              act={<Button onClick={() => go(paths.audit())}>{words.audit.clear}</Button>}
            >
              {words.audit.noMatchHint}
            </Empty>
          ) : (
            <Empty icon="history" title={words.audit.empty}>
              {words.audit.emptyHint}
            </Empty>
          )
        }
      />
      <ActDetails act={acts.rows?.find(({ uuid }) => uuid === open)} onClose={() => go(paths.audit({}, filters))} />
    </Page>
  )
}
