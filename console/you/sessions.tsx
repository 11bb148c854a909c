import { useState } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { useAct, useList } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { ConfirmDialog } from '../parts/dialog.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Status } from '../parts/status.tsx'
import { showToast } from '../parts/toast.tsx'
import { Moment } from '../parts/values.tsx'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/you.ts'
import { browserName } from './browser-name.ts'

type OpenSession = ReplyOf<'GET /console/sessions'>['sessions'][number]

const columns = [
  {
    key: 'browser',
    title: words.sessions.browser,
    cell: ({ user_agent, current }: OpenSession) => (
      <span class="row">
        <span title={user_agent}>{browserName(user_agent)}</span>
        {current && <Status tone="good">{words.sessions.current}</Status>}
      </span>
    ),
  },
  { key: 'address', title: words.sessions.address, cell: ({ address }: OpenSession) => <code>{address}</code> },
  {
    key: 'since',
    title: words.sessions.since,
    cell: ({ created_at }: OpenSession) => <Moment time={created_at} show="day" />,
  },
  {
    key: 'seen',
    title: words.sessions.seen,
    cell: ({ seen_at }: OpenSession) => <Moment time={seen_at} show="relative" />,
  },
]

/** Browsers that are signed in as the person, or with the key. */
export const SessionsPage = () => {
  const sessions = useList('GET /console/sessions', {})
  const [ending, setEnding] = useState<OpenSession | 'others'>()
  const done = () => {
    setEnding(undefined)
    showToast(words.sessions.ended)
  }
  const end = useAct('DELETE /console/sessions/:session_uuid', { stale: ['GET /console/sessions'], after: done })
  const endOthers = useAct('DELETE /console/sessions', { stale: ['GET /console/sessions'], after: done })
  const confirm = () => {
    if (ending === 'others') void endOthers({})
    else if (ending) void end({ params: { session_uuid: ending.uuid } })
  }
  const hasOthers = sessions.rows?.some(({ current }) => !current) ?? false
  return (
    <Page
      title={words.sessions.title}
      lead={words.sessions.about}
      actions={hasOthers && <Button onClick={() => setEnding('others')}>{words.sessions.endOthers}</Button>}
    >
      <ListTable
        of={sessions}
        label={words.sessions.caption}
        columns={columns}
        rowKey={({ uuid }) => uuid}
        rowName={({ user_agent }) => browserName(user_agent)}
        menu={(row) => [
          {
            text: words.sessions.end,
            icon: 'log-out',
            reason: row.current ? words.sessions.current : undefined,
            onSelect: () => setEnding(row),
          },
        ]}
        empty={<Empty icon="monitor" title={words.sessions.empty} />}
      />
      <ConfirmDialog
        open={ending !== undefined}
        title={ending === 'others' ? words.sessions.endOthersTitle : words.sessions.endTitle}
        act={ending === 'others' ? words.sessions.endOthers : words.sessions.end}
        busy={end.isPending || endOthers.isPending}
        error={(end.error ?? endOthers.error)?.message}
        onClose={() => setEnding(undefined)}
        onConfirm={confirm}
      >
        <p>{words.sessions.endWhy}</p>
      </ConfirmDialog>
    </Page>
  )
}
