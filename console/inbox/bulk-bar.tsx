import { useEffect, useRef, useState } from 'preact/hooks'
import { api, type RequestOf } from '../api/client.ts'
import { asApiError } from '../api/errors.ts'
import { newIdempotencyKey } from '../api/send.ts'
import { Button } from '../parts/button.tsx'
import { Menu } from '../parts/menu.tsx'
import { words } from '../words/en/inbox.ts'
import { type BulkWork, bulkWork, dismissBulk, followBulk, undoBulk } from './bulk-change.ts'
import { viewName } from './house-views.ts'
import type { Place } from './inbox-place.ts'
import { listOf } from './inbox-store.ts'
import type { ListQuery } from './list-query.ts'
import { clearSelection, isAllSelected, selectAll, selection } from './list-selection.ts'
import { members, ownUser, savedViews, tags } from './team-members.ts'

type Change = RequestOf<'POST /open/conversations/bulk'>['body']['change']

/** Acts on all selected conversations. */
export const BulkBar = ({ place, query }: { place: Place; query: ListQuery }) => {
  const bar = useRef<HTMLDivElement>(null)
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const isAll = isAllSelected.value
  const count = selection.value.size
  const list = listOf(query).value
  useEffect(() => setError(undefined), [count, isAll])
  const run = async (change: Change) => {
    setBusy(true)
    setError(undefined)
    const { sort: _, ...filters } = query
    try {
      const { job_uuid } = await api(
        'POST /open/conversations/bulk',
        {
          // The contract has the same filters as the list.
          body: {
            ...(isAll ? { query: filters } : { uuids: [...selection.peek()] }),
            change,
          } as RequestOf<'POST /open/conversations/bulk'>['body'],
        },
        { idempotencyKey: newIdempotencyKey() },
      )
      followBulk(job_uuid)
      clearSelection()
    } catch (thrown) {
      setError(asApiError(thrown).message)
    } finally {
      setBusy(false)
    }
  }
  const isClosed = query.status === 'closed'
  return (
    <div ref={bar} class="bulk" role="toolbar" aria-label={words.select.bar}>
      <span class="bulk-count" role="status">
        {isAll ? words.select.allMatching(viewName(place.view, savedViews.value ?? [])) : words.select.selected(count)}
      </span>
      <span class="bulk-acts">
        <Button
          size="small"
          kind="primary"
          icon={isClosed ? 'inbox' : 'check'}
          busy={isBusy}
          onClick={() => void run({ status: isClosed ? 'open' : 'closed' })}
        >
          {isClosed ? words.select.reopen : words.select.close}
        </Button>
        <Menu
          size="small"
          kind="plain"
          label={words.select.assign}
          icon="user-plus"
          items={[
            ...(ownUser.value
              ? [{ text: words.acts.toMe, onSelect: () => void run({ assignee_uuid: ownUser.value }) }]
              : []),
            { text: words.acts.nobody, onSelect: () => void run({ assignee_uuid: null }) },
            ...members.value
              .filter(({ user_uuid }) => user_uuid !== ownUser.value)
              .map(({ user_uuid, name }) => ({ text: name, onSelect: () => void run({ assignee_uuid: user_uuid }) })),
          ]}
        />
        {tags.value.length > 0 && (
          <Menu
            size="small"
            kind="plain"
            label={words.select.tag}
            icon="tag"
            items={tags.value.map(({ uuid, name }) => ({ text: name, onSelect: () => void run({ add_tags: [uuid] }) }))}
          />
        )}
        {!isAll && list && (list.cursor !== undefined || count < list.ids.length) && (
          <Button size="small" kind="quiet" onClick={selectAll}>
            {words.select.selectAll}
          </Button>
        )}
        <Button size="small" kind="quiet" icon="x" iconOnly onClick={clearSelection}>
          {words.select.clear}
        </Button>
      </span>
      {error && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
    </div>
  )
}

const workText = ({ job, isUndo }: BulkWork): string => {
  if (!job || job.state === 'running')
    return isUndo ? words.select.undoing : words.select.working(job?.done ?? 0, job?.total ?? 0)
  if (job.state === 'failed') return words.select.failed(job.done, job.total)
  return isUndo ? words.select.undone : words.select.changed(job.changed)
}

/** The progress of a change of many, and the way back. */
export const BulkProgress = () => {
  const work = bulkWork.value
  if (!work) return null
  const { job, isUndo, fault } = work
  const isRunning = !job || job.state === 'running'
  return (
    <section class="bulk-progress" aria-label={words.select.progress}>
      {isRunning && (
        <progress max={Math.max(1, job?.total ?? 1)} value={job?.done ?? 0} aria-label={words.select.progress} />
      )}
      <p role="status">{fault ?? workText(work)}</p>
      {!isRunning && !isUndo && !fault && (
        <Button size="small" onClick={() => void undoBulk()}>
          {words.select.undo}
        </Button>
      )}
      <Button size="small" kind="quiet" icon="x" iconOnly onClick={dismissBulk}>
        {words.select.dismiss}
      </Button>
    </section>
  )
}
