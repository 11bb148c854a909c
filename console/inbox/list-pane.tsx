import { signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import lazy from 'preact-iso/lazy'
import { Button } from '../parts/button.tsx'
import { isComposing } from '../parts/composing.ts'
import { Icon } from '../parts/icon.tsx'
import { List } from '../parts/list.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { density } from '../shell/choices.ts'
import { words } from '../words/en/inbox.ts'
import { words as parts } from '../words/en/parts.ts'
import { EmptyList } from './empty-list.tsx'
import { countText, filtersIn, type Search } from './house-views.ts'
import type { Place } from './inbox-place.ts'
import { busyWith, faults, loadList, loadMore } from './inbox-reader.ts'
import { keyOfQuery, listOf, shownList } from './inbox-store.ts'
import type { ListQuery } from './list-query.ts'
import { Row } from './list-row.tsx'
import { clearSelection, cursor, isAllSelected, rows, selection } from './list-selection.ts'
import { counts } from './live-counts.ts'
import { ViewSwitch } from './view-switch.tsx'

const BulkBar = lazy(() => import('./bulk-bar.tsx').then(({ BulkBar }) => BulkBar))
const Begin = lazy(() => import('./new-conversation.tsx').then(({ Begin }) => Begin))

const typingDelay = 200

/** The filters, once their code is here; null if it did not come. */
const filterBox = signal<ComponentType<{ place: Place }> | null | undefined>(undefined)

const loadFilterBox = async (): Promise<void> => {
  filterBox.value = await import('./filter-box.tsx').then(
    ({ FilterBox }) => FilterBox,
    () => null,
  )
}

const wantsFilters = ({ filter, ...search }: Search): boolean => filter === '1' || filtersIn(search).length > 0

const SearchBox = ({ place }: { place: Place }) => {
  const value = place.search.q ?? ''
  const [text, setText] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => setText(value), [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  const search = (next: string) => {
    clearTimeout(timer.current)
    if (next.trim() !== value) place.setSearch({ q: next.trim() || undefined }, true)
  }
  return (
    <search class="inbox-search">
      <label class="input-box">
        <Icon name="search" />
        <span class="for-readers">{words.list.search}</span>
        <input
          type="search"
          class="input"
          data-search="true"
          placeholder={words.list.search}
          autocomplete="off"
          spellcheck={false}
          dir="auto"
          value={text}
          onInput={({ currentTarget }) => {
            const next = currentTarget.value
            setText(next)
            clearTimeout(timer.current)
            timer.current = setTimeout(() => search(next), typingDelay)
          }}
          onKeyDown={(event) => {
            if (isComposing(event)) return
            if (event.key === 'Enter') search(event.currentTarget.value)
            else if (event.key === 'Escape' && text !== '') {
              event.preventDefault()
              setText('')
              search('')
            } else if (event.key === 'ArrowDown') {
              event.preventDefault()
              focusRow(rows.current[0] ?? '')
            }
          }}
        />
      </label>
    </search>
  )
}

/** Moves the keyboard to a row. One outside of the window of the list is there after the list has scrolled. */
export const focusRow = (uuid: string): void => {
  if (!uuid) return
  cursor.value = uuid
  const row = () => document.querySelector<HTMLElement>(`[data-row="${uuid}"]`)
  if (row()) row()?.focus()
  else requestAnimationFrame(() => requestAnimationFrame(() => row()?.focus()))
}

const ListHead = ({ place }: { place: Place }) => {
  const [isBeginning, setBeginning] = useState(false)
  const filters = filtersIn(place.search).length
  const isOpen = place.search.filter === '1'
  const FilterBox = filterBox.value
  return (
    <header class="inbox-list-head">
      <div class="inbox-list-title">
        <ViewSwitch place={place} />
        <span data-act="filter">
          <Button
            kind="quiet"
            icon="filter"
            iconOnly
            expanded={isOpen}
            pressed={filters > 0}
            onClick={() => place.setSearch({ filter: isOpen ? undefined : '1' }, true)}
          >
            {words.list.filter}
          </Button>
        </span>
        <Button kind="quiet" icon="plus" iconOnly haspopup="dialog" onClick={() => setBeginning(true)}>
          {words.list.begin}
        </Button>
      </div>
      <SearchBox place={place} />
      {wantsFilters(place.search) && FilterBox && <FilterBox place={place} />}
      {isBeginning && <Begin place={place} onClose={() => setBeginning(false)} />}
    </header>
  )
}

const Foot = ({ place, query }: { place: Place; query: ListQuery }) => {
  const list = listOf(query).value
  const total = filtersIn(place.search).length > 0 || place.search.q ? '' : countText(place.view, counts.value)
  if (!list || list.ids.length === 0) return null
  const text =
    list.cursor === undefined || !total
      ? words.list.count(list.ids.length, list.cursor !== undefined)
      : words.list.of(String(list.ids.length), total)
  return (
    <footer class="inbox-list-foot">
      <span class="tabular">{place.search.q ? `${words.list.found}: ${text}` : text}</span>
      <span class="inbox-keys" aria-hidden="true">
        <kbd>J</kbd> <kbd>K</kbd> <kbd>X</kbd> <kbd>?</kbd>
      </span>
    </footer>
  )
}

const rowHeights = { comfortable: 68, compact: 52 }

const Rows = ({ place, query }: { place: Place; query: ListQuery }) => {
  const key = keyOfQuery(query)
  const list = listOf(query).value
  const fault = faults.value.get(key)
  // Before the paint: the request is under way while the browser draws the frame.
  useLayoutEffect(() => {
    shownList.query = query
    void loadList(query)
    clearSelection()
  }, [key])
  rows.current = list?.ids ?? []
  if (!list && fault) return <ErrorState refusal={fault} onRetry={() => void loadList(query)} />
  if (!list) return <Skeleton rows={9} shape="table" />
  if (list.ids.length === 0) return <EmptyList place={place} query={query} />
  const moreFault = faults.value.get(`more ${key}`)
  const current = list.ids.includes(cursor.value) ? cursor.value : place.conversation
  const shown = list.ids.includes(current) ? current : list.ids[0]
  return (
    <>
      <List
        label={words.list.label}
        rows={list.ids}
        rowKey={(uuid) => uuid}
        rowHeight={rowHeights[density.value]}
        current={shown}
        row={(uuid) => (
          <Row uuid={uuid} hrefOf={place.hrefOf} isOpen={uuid === place.conversation} isCurrent={uuid === shown} />
        )}
        onEnd={list.cursor === undefined ? undefined : () => void loadMore(query)}
      />
      {busyWith.value.has(`more ${key}`) && (
        <p class="inbox-more soft" role="status">
          {parts.loading}
        </p>
      )}
      {moreFault && (
        <p class="inbox-more">
          {moreFault.message}{' '}
          <Button size="small" onClick={() => void loadMore(query)}>
            {parts.error.again}
          </Button>
        </p>
      )}
    </>
  )
}

/** The list: its view, search and filters, and the conversations. */
export const ListPane = ({ place, query }: { place: Place; query: ListQuery | undefined }) => {
  const wants = wantsFilters(place.search)
  useEffect(() => {
    if (wants && !filterBox.peek()) void loadFilterBox()
  }, [wants])
  // A list that begins with filters waits for them: they are above it.
  const hasBegun = useRef(false)
  if (!wants || filterBox.value !== undefined) hasBegun.current = true
  return (
    <section class="inbox-list" aria-label={words.list.pane}>
      {selection.value.size > 0 || isAllSelected.value ? <BulkBar place={place} query={query ?? {}} /> : null}
      <ListHead place={place} />
      {hasBegun.current && (
        <div class="inbox-rows">
          {query ? <Rows place={place} query={query} /> : <Skeleton rows={9} shape="table" />}
        </div>
      )}
      {query && <Foot place={place} query={query} />}
    </section>
  )
}
