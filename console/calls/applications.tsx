import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useAct, useList } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { NewSecret } from '../parts/new-secret.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Moment } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/applications.ts'
import { type Application, ApplicationForm } from './application-form.tsx'
import { Clips } from './clips.tsx'

const columns = () => [
  { key: 'name', title: words.name, cell: ({ name }: Application) => <span dir="auto">{name}</span> },
  {
    key: 'url',
    title: words.url,
    cell: ({ url }: Application) => (
      <bdi dir="ltr" class="break">
        {url}
      </bdi>
    ),
  },
  { key: 'format', title: words.format, cell: ({ format }: Application) => words.formats[format] },
  {
    key: 'created',
    title: words.created,
    cell: ({ created_at }: Application) => <Moment time={created_at} show="day" />,
  },
]

/** Opens the documentation of programs. */
export const ProgramDocs = () => (
  <a href="/docs/voice-programs" target="_blank" rel="noreferrer">
    {words.docs}
  </a>
)

/** The applications of the account. */
export const ApplicationsPage = ({ search }: PageOf<typeof paths.applications>) => {
  const { route: go } = useLocation()
  const applications = useList('GET /open/voip/applications', {})
  const [made, setMade] = useState<{ secret: string; uuid: string }>()
  const create = useAct('POST /open/voip/applications', {
    stale: ['GET /open/voip/applications'],
    after: ({ application: { uuid }, signing_secret: secret }) => setMade({ uuid, secret }),
  })
  const close = () => {
    if (made) go(paths.application({ application: made.uuid }))
    else go(paths.applications(), true)
    setMade(undefined)
  }
  const add = (
    <Button
      kind="primary"
      icon="plus"
      onClick={() => {
        create.reset()
        go(paths.applications({}, { create: '1' }))
      }}
    >
      {words.create}
    </Button>
  )
  return (
    <Page title={words.title} lead={words.about} actions={add}>
      <ListTable
        of={applications}
        label={words.caption}
        columns={columns()}
        rowKey={({ uuid }) => uuid}
        rowHref={({ uuid }) => paths.application({ application: uuid })}
        empty={
          <Empty icon="terminal" title={words.empty} act={add}>
            {words.emptyHint} <ProgramDocs />
          </Empty>
        }
      />
      <Dialog
        open={search.create === '1' || made !== undefined}
        title={made ? words.secret.made : words.create}
        onClose={close}
      >
        {made ? (
          <NewSecret secret={made.secret} onDone={close}>
            <p class="soft">{words.secret.use}</p>
          </NewSecret>
        ) : (
          <ApplicationForm
            label={words.create}
            act={words.create}
            busy={create.isPending}
            refusal={create.error}
            onSubmit={(body) => void create({ body })}
            onCancel={close}
          />
        )}
      </Dialog>
      {/* Behind the list, which would move it. */}
      {!applications.isLoading && (
        <Clips
          isUploading={search.create === 'clip'}
          onUpload={() => go(paths.applications({}, { create: 'clip' }))}
          onClose={() => go(paths.applications(), true)}
        />
      )}
    </Page>
  )
}
