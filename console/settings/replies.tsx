import { useState } from 'preact/hooks'
import { api, type ReplyOf } from '../api/client.ts'
import { useList } from '../api/query.ts'
import { newIdempotencyKey } from '../api/send.ts'
import { may } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { CheckboxField } from '../parts/choice-fields.tsx'
import { Empty } from '../parts/page-states.tsx'
import { TextareaField, TextField } from '../parts/text-fields.tsx'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/team-settings.ts'
import { FormDialog, RemoveDialog } from './shortlist.tsx'

type Reply = ReplyOf<'GET /open/replies'>['replies'][number]

const EditReply = ({ reply, onClose, after }: { reply: Reply | undefined; onClose: () => void; after: () => void }) => {
  const [shortcut, setShortcut] = useState(reply?.shortcut ?? '')
  const [title, setTitle] = useState(reply?.title ?? '')
  const [text, setText] = useState(reply?.text ?? '')
  const [shared, setShared] = useState(reply?.shared ?? may('team_settings'))
  const save = async () => {
    const body = { shortcut, title, text, shared }
    if (reply) await api('PATCH /open/replies/:reply_uuid', { params: { reply_uuid: reply.uuid }, body })
    else await api('POST /open/replies', { body }, { idempotencyKey: newIdempotencyKey() })
    after()
  }
  return (
    <FormDialog
      title={reply ? words.replies.edit : words.replies.create}
      act={words.save}
      onClose={onClose}
      onSave={save}
    >
      <TextField
        name="shortcut"
        label={words.replies.shortcut}
        hint={words.replies.shortcutHint}
        required
        autofocus
        maxLength={40}
        pattern="[\p{L}\p{N}_\-]+"
        fault={words.replies.shortcutFault}
        value={shortcut}
        onInput={setShortcut}
      />
      <TextField name="title" label={words.replies.name} required maxLength={100} value={title} onInput={setTitle} />
      <TextareaField
        name="text"
        label={words.replies.text}
        hint={words.replies.textHint}
        required
        rows={5}
        value={text}
        onInput={setText}
      />
      {may('team_settings') && (
        <CheckboxField name="shared" label={words.share} checked={shared} onChange={setShared} />
      )}
    </FormDialog>
  )
}

const mayEdit = ({ shared }: Reply): boolean => !shared || may('team_settings')

/** Canned replies: the shared ones, and one's own. */
export const RepliesPage = () => {
  const replies = useList('GET /open/replies', {})
  const [edited, setEdited] = useState<Reply | 'new'>()
  const [removed, setRemoved] = useState<Reply>()
  const create = (
    <Button kind="primary" icon="plus" onClick={() => setEdited('new')}>
      {words.replies.create}
    </Button>
  )
  return (
    <Page title={words.replies.title} lead={words.replies.about} actions={create}>
      <ListTable
        of={replies}
        label={words.replies.title}
        rowKey={({ uuid }) => uuid}
        rowName={({ shortcut }) => shortcut}
        columns={[
          { key: 'shortcut', title: words.replies.shortcut, cell: ({ shortcut }: Reply) => <code>/{shortcut}</code> },
          { key: 'title', title: words.replies.name, cell: ({ title }: Reply) => <span dir="auto">{title}</span> },
          { key: 'text', title: words.replies.text, cell: ({ text }: Reply) => <span dir="auto">{text}</span> },
          {
            key: 'shared',
            title: words.whose,
            cell: ({ shared }: Reply) => (shared ? words.shared : words.own),
          },
        ]}
        menu={(reply) =>
          mayEdit(reply)
            ? [
                { text: words.replies.edit, icon: 'pencil', onSelect: () => setEdited(reply) },
                { text: words.replies.remove, icon: 'trash-2', danger: true, onSelect: () => setRemoved(reply) },
              ]
            : []
        }
        empty={
          <Empty icon="message-square" title={words.replies.empty} act={create}>
            {words.replies.emptyHint}
          </Empty>
        }
      />
      {edited && (
        <EditReply
          reply={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          after={replies.refresh}
        />
      )}
      {removed && (
        <RemoveDialog
          title={words.replies.removeTitle(removed.shortcut)}
          act={words.replies.remove}
          why={words.replies.removeWhy}
          onClose={() => setRemoved(undefined)}
          onRemove={async () => {
            await api('DELETE /open/replies/:reply_uuid', { params: { reply_uuid: removed.uuid } })
            replies.refresh()
          }}
        />
      )}
    </Page>
  )
}
