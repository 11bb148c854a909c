import { useState } from 'preact/hooks'
import { api, type ReplyOf } from '../api/client.ts'
import { asApiError } from '../api/errors.ts'
import { useList } from '../api/query.ts'
import { may } from '../api/session.ts'
import { ButtonLink } from '../parts/button.tsx'
import { CheckboxField } from '../parts/choice-fields.tsx'
import { Empty } from '../parts/page-states.tsx'
import { TextField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import { paths } from '../paths.ts'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/team-settings.ts'
import { FormDialog, RemoveDialog } from './shortlist.tsx'

type View = ReplyOf<'GET /open/views'>['views'][number]

const EditView = ({ view, onClose, after }: { view: View; onClose: () => void; after: () => void }) => {
  const [name, setName] = useState(view.name)
  const [shared, setShared] = useState(view.shared)
  const save = async () => {
    await api('PATCH /open/views/:view_uuid', { params: { view_uuid: view.uuid }, body: { name, shared } })
    after()
  }
  return (
    <FormDialog title={words.views.edit} act={words.save} onClose={onClose} onSave={save}>
      <TextField name="name" label={words.name} required autofocus maxLength={60} value={name} onInput={setName} />
      {may('team_settings') && (
        <CheckboxField name="shared" label={words.share} checked={shared} onChange={setShared} />
      )}
    </FormDialog>
  )
}

/** Saved views of the inbox: their names, and their order. */
export const ViewsPage = () => {
  const views = useList('GET /open/views', { query: { page: 'inbox' } })
  const [edited, setEdited] = useState<View>()
  const [removed, setRemoved] = useState<View>()
  const rows = views.rows ?? []
  const mayEdit = ({ shared }: View): boolean => !shared || may('team_settings')
  const move = async (view: View, step: 1 | -1) => {
    const same = rows.filter(({ shared }) => shared === view.shared).map(({ uuid }) => uuid)
    const at = same.indexOf(view.uuid)
    const other = same[at + step]
    if (other === undefined) return
    same[at + step] = view.uuid
    same[at] = other
    try {
      await api('PUT /open/views/order', { body: { uuids: same } })
      views.refresh()
    } catch (thrown) {
      showToast(asApiError(thrown).message, 'bad')
    }
  }
  const toInbox = <ButtonLink href={paths.inbox({ view: 'all' }, { filter: '1' })}>{words.views.toInbox}</ButtonLink>
  return (
    <Page title={words.views.title} lead={words.views.about} actions={toInbox}>
      <ListTable
        of={views}
        label={words.views.title}
        rowKey={({ uuid }) => uuid}
        rowName={({ name }) => name}
        rowHref={({ uuid }) => paths.inbox({ view: uuid })}
        columns={[
          { key: 'name', title: words.name, cell: ({ name }: View) => <span dir="auto">{name}</span> },
          { key: 'shared', title: words.whose, cell: ({ shared }: View) => (shared ? words.shared : words.own) },
        ]}
        menu={(view) =>
          mayEdit(view)
            ? [
                { text: words.views.edit, icon: 'pencil', onSelect: () => setEdited(view) },
                { text: words.views.up, icon: 'arrow-up', onSelect: () => void move(view, -1) },
                { text: words.views.down, icon: 'arrow-down', onSelect: () => void move(view, 1) },
                { text: words.views.remove, icon: 'trash-2', danger: true, onSelect: () => setRemoved(view) },
              ]
            : []
        }
        empty={
          <Empty icon="list" title={words.views.empty} act={toInbox}>
            {words.views.emptyHint}
          </Empty>
        }
      />
      {edited && <EditView view={edited} onClose={() => setEdited(undefined)} after={views.refresh} />}
      {removed && (
        <RemoveDialog
          title={words.views.removeTitle(removed.name)}
          act={words.views.remove}
          why={words.views.removeWhy}
          onClose={() => setRemoved(undefined)}
          onRemove={async () => {
            await api('DELETE /open/views/:view_uuid', { params: { view_uuid: removed.uuid } })
            views.refresh()
          }}
        />
      )}
    </Page>
  )
}
