import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useAct, useQuery } from '../api/query.ts'
import { ButtonLink } from '../parts/button.tsx'
import { ConfirmDialog, Dialog } from '../parts/dialog.tsx'
import { Menu } from '../parts/menu.tsx'
import { NewSecret } from '../parts/new-secret.tsx'
import { Card } from '../parts/page.tsx'
import { Empty, ErrorState, Skeleton } from '../parts/page-states.tsx'
import { showToast } from '../parts/toast.tsx'
import { Copy, PhoneNumber } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/applications.ts'
import { type Application, ApplicationForm } from './application-form.tsx'
import { ProgramDocs } from './applications.tsx'
import { CallYourself } from './call-yourself.tsx'

const read = ['GET /open/voip/applications', 'GET /open/voip/applications/:application_uuid'] as const

const Settings = ({ application }: { readonly application: Application }) => {
  const change = useAct('PATCH /open/voip/applications/:application_uuid', {
    stale: read,
    after: () => showToast(words.one.saved),
  })
  return (
    <Card title={words.one.settings}>
      <ApplicationForm
        application={application}
        label={words.one.settings}
        act={words.one.save}
        busy={change.isPending}
        refusal={change.error}
        onSubmit={(body) => void change({ params: { application_uuid: application.uuid }, body })}
      />
    </Card>
  )
}

/** The numbers whose calls run the application. */
const Numbers = ({ application }: { readonly application: string }) => {
  const { data } = useQuery('GET /open/voip/virtual-numbers', { query: { results_per_page: 200 }, live: ['number'] })
  const running = data?.numbers.filter(({ voice }) => voice.application_uuid === application) ?? []
  return (
    <Card title={words.one.numbers}>
      {running.length > 0 ? (
        <ul class="stack stack-close" aria-label={words.one.numbers}>
          {running.map(({ uuid, phone_number }) => (
            <li key={uuid}>
              <PhoneNumber number={phone_number} href={paths.number({ number: uuid })} />
            </li>
          ))}
        </ul>
      ) : data ? (
        <p class="soft">
          {words.one.noNumber} <a href={paths.numbers()}>{words.one.toNumbers}</a>
        </p>
      ) : (
        <Skeleton rows={1} />
      )}
    </Card>
  )
}

type DialogProps = {
  readonly application: Application
  readonly open: string | undefined
  readonly onClose: () => void
}

/** The acts that cannot be undone. The address of the page names the open dialog. */
const Dialogs = ({ application: { uuid, name }, open, onClose }: DialogProps) => {
  const { route: go } = useLocation()
  const [secret, setSecret] = useState<string>()
  const params = { application_uuid: uuid }
  const rotate = useAct('POST /open/voip/applications/:application_uuid/secret', {
    after: ({ signing_secret }) => {
      setSecret(signing_secret)
      onClose()
    },
  })
  const remove = useAct('DELETE /open/voip/applications/:application_uuid', {
    stale: ['GET /open/voip/applications'],
    after: () => {
      showToast(words.remove.done(name))
      go(paths.applications(), true)
    },
  })
  const close = () => {
    rotate.reset()
    remove.reset()
    onClose()
  }
  return (
    <>
      <ConfirmDialog
        open={open === 'rotate'}
        title={words.secret.rotateTitle}
        act={words.secret.rotate}
        busy={rotate.isPending}
        error={rotate.error?.message}
        onClose={close}
        onConfirm={() => void rotate({ params })}
      >
        <p>{words.secret.rotateWhy}</p>
      </ConfirmDialog>
      <Dialog open={secret !== undefined} title={words.secret.rotated} onClose={() => setSecret(undefined)}>
        <NewSecret secret={secret ?? ''} onDone={() => setSecret(undefined)}>
          <p class="soft">{words.secret.use}</p>
        </NewSecret>
      </Dialog>
      <ConfirmDialog
        open={open === 'remove'}
        title={words.remove.title(name)}
        act={words.remove.act}
        danger
        busy={remove.isPending}
        error={remove.error?.message}
        onClose={close}
        onConfirm={() => void remove({ params })}
      >
        <p>{words.remove.why}</p>
      </ConfirmDialog>
    </>
  )
}

/** One application: what it is, what runs it, and how it sounds. */
export const ApplicationPage = ({ params: { application: uuid }, search }: PageOf<typeof paths.application>) => {
  const { route: go } = useLocation()
  const { data, error, refresh } = useQuery('GET /open/voip/applications/:application_uuid', {
    params: { application_uuid: uuid },
  })
  const crumbs = [{ text: words.title, href: paths.applications() }]
  const application = data?.application
  if (error?.status === 404)
    return (
      <Page title={words.one.missing} crumbs={crumbs}>
        <Empty
          icon="terminal"
          title={words.one.missing}
          act={<ButtonLink href={paths.applications()}>{words.title}</ButtonLink>}
        >
          {words.one.missingHint}
        </Empty>
      </Page>
    )
  if (!application)
    return (
      <Page title={words.title} crumbs={crumbs}>
        {error ? <ErrorState refusal={error} onRetry={refresh} /> : <Skeleton rows={9} />}
      </Page>
    )
  const open = (act: string) => go(paths.application({ application: uuid }, { act }))
  return (
    <Page
      title={application.name}
      crumbs={crumbs}
      lead={
        <>
          <Copy value={uuid} what={words.one.id} /> <ProgramDocs />
        </>
      }
      actions={
        <Menu
          label={words.one.acts}
          items={[
            { text: words.secret.rotate, icon: 'key-round', onSelect: () => open('rotate') },
            { text: words.remove.act, icon: 'trash-2', danger: true, onSelect: () => open('remove') },
          ]}
        />
      }
    >
      <div class="split">
        <Settings key={uuid} application={application} />
        <div class="stack stack-wide">
          <CallYourself application={uuid} />
          <Numbers application={uuid} />
        </div>
      </div>
      <Dialogs
        application={application}
        open={search.act}
        onClose={() => go(paths.application({ application: uuid }), true)}
      />
    </Page>
  )
}
