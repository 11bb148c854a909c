import { useEffect } from 'preact/hooks'
import { useAct, useQuery } from '../api/query.ts'
import { may, session } from '../api/session.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Empty } from '../parts/page-states.tsx'
import { showToast } from '../parts/toast.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/inbox.ts'
import { filtersIn } from './house-views.ts'
import type { Place } from './inbox-place.ts'
import { loadList } from './inbox-reader.ts'
import type { ListQuery } from './list-query.ts'

const handset = '+447700900123'

/** An account that nobody can write to yet, or that nobody has written to. */
const FirstSteps = ({ query }: { query: ListQuery }) => {
  const channels = useQuery('GET /open/sms/channels', { enabled: may('read_only'), live: ['number'] })
  const apps = useQuery('GET /open/msgapp/get-numbers', { enabled: may('read_only'), live: ['msgapp.number'] })
  const write = useAct('POST /sandbox/handsets/:number/sms', {
    after: () => showToast(words.empty.sandboxSent),
    onError: ({ message }) => showToast(message, 'bad'),
  })
  const channel = channels.data?.channels.find(({ enabled, supports_sms_in }) => enabled && supports_sms_in)
  const hasNone = channels.data !== undefined && channel === undefined && (apps.data?.numbers.length ?? 0) === 0
  const isSandbox = session.value?.installation.sandbox === true
  if (may('read_only') && channels.data === undefined && !channels.error) return null
  if (hasNone)
    return (
      <Empty
        icon="phone"
        title={words.empty.noChannel}
        act={
          may('numbers') && (
            <>
              <ButtonLink kind="primary" href={paths.shop()}>
                {words.empty.buy}
              </ButtonLink>
              <ButtonLink href={paths.channels({}, { create: '1' })}>{words.empty.connect}</ButtonLink>
            </>
          )
        }
      >
        {words.empty.noChannelHint}
      </Empty>
    )
  const letWrite = channel && (
    <Button
      kind="primary"
      icon="smartphone"
      busy={write.isPending}
      onClick={() =>
        void write({
          params: { number: handset },
          body: { to: channel.phone_number, text: words.empty.sandboxText },
        }).then(() => loadList(query))
      }
    >
      {words.empty.sandbox}
    </Button>
  )
  return (
    <Empty title={words.empty.none} act={isSandbox && letWrite}>
      {isSandbox && letWrite ? words.empty.sandboxHint : words.empty.noneHint}
    </Empty>
  )
}

/** The text of a list without rows: why, and what to do. */
export const EmptyList = ({ place, query }: { place: Place; query: ListQuery }) => {
  const isFiltered = filtersIn(place.search).length > 0
  const all = useQuery('GET /open/conversations', {
    query: { results_per_page: 1 },
    enabled: !place.search.q && !isFiltered,
  })
  useEffect(() => all.refresh(), [place.view])
  if (place.search.q)
    return (
      <Empty icon="search" title={words.empty.search}>
        {words.empty.searchHint}
      </Empty>
    )
  if (isFiltered)
    return (
      <Empty
        icon="filter"
        title={words.empty.filters}
        act={
          <Button
            icon="x"
            onClick={() =>
              place.setSearch(Object.fromEntries(filtersIn(place.search).map((name) => [name, undefined])))
            }
          >
            {words.list.clear}
          </Button>
        }
      />
    )
  if (all.data?.conversations.length === 0) return <FirstSteps query={query} />
  const isDone = ['mine-and-unassigned', 'mine', 'unassigned', 'waiting'].includes(place.view)
  return (
    <Empty icon={isDone ? 'circle-check' : 'inbox'} title={isDone ? words.empty.done : words.empty.view}>
      {isDone ? words.empty.doneHint : words.empty.viewHint}
    </Empty>
  )
}
