import { useState } from 'preact/hooks'
import { api, type ReplyOf } from '../api/client.ts'
import { useList } from '../api/query.ts'
import { newIdempotencyKey } from '../api/send.ts'
import { Button } from '../parts/button.tsx'
import { SelectField } from '../parts/choice-fields.tsx'
import { Empty } from '../parts/page-states.tsx'
import { TextField } from '../parts/text-fields.tsx'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/team-settings.ts'
import { FormDialog, RemoveDialog } from './shortlist.tsx'

type Tag = ReplyOf<'GET /open/tags'>['tags'][number]

const EditTag = ({ tag, onClose, after }: { tag: Tag | undefined; onClose: () => void; after: () => void }) => {
  const [name, setName] = useState(tag?.name ?? '')
  const [color, setColor] = useState<Tag['color']>(tag?.color ?? 'grey')
  const save = async () => {
    if (tag) await api('PATCH /open/tags/:tag_uuid', { params: { tag_uuid: tag.uuid }, body: { name, color } })
    else await api('POST /open/tags', { body: { name, color } }, { idempotencyKey: newIdempotencyKey() })
    after()
  }
  return (
    <FormDialog title={tag ? words.tags.edit : words.tags.create} act={words.save} onClose={onClose} onSave={save}>
      <TextField name="name" label={words.name} required autofocus maxLength={60} value={name} onInput={setName} />
      <SelectField
        name="color"
        label={words.tags.color}
        value={color}
        options={Object.entries(words.colors).map(([value, text]) => ({ value, text }))}
        onChange={(value) => setColor(value as Tag['color'])}
      />
    </FormDialog>
  )
}

/** The tags of the account. */
export const TagsPage = () => {
  const tags = useList('GET /open/tags', {})
  const [edited, setEdited] = useState<Tag | 'new'>()
  const [removed, setRemoved] = useState<Tag>()
  const create = (
    <Button kind="primary" icon="plus" onClick={() => setEdited('new')}>
      {words.tags.create}
    </Button>
  )
  return (
    <Page title={words.tags.title} lead={words.tags.about} actions={create}>
      <ListTable
        of={tags}
        label={words.tags.title}
        rowKey={({ uuid }) => uuid}
        rowName={({ name }) => name}
        columns={[
          {
            key: 'name',
            title: words.name,
            cell: ({ name, color }: Tag) => (
              <span class="tag-name">
                <i class={`tag-color color-${color}`} /> <span dir="auto">{name}</span>
              </span>
            ),
          },
          { key: 'color', title: words.tags.color, cell: ({ color }: Tag) => words.colors[color] },
        ]}
        menu={(tag) => [
          { text: words.tags.edit, icon: 'pencil', onSelect: () => setEdited(tag) },
          { text: words.tags.remove, icon: 'trash-2', danger: true, onSelect: () => setRemoved(tag) },
        ]}
        empty={
          <Empty icon="tag" title={words.tags.empty} act={create}>
            {words.tags.emptyHint}
          </Empty>
        }
      />
      {edited && (
        <EditTag
          tag={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          after={tags.refresh}
        />
      )}
      {removed && (
        <RemoveDialog
          title={words.tags.removeTitle(removed.name)}
          act={words.tags.remove}
          why={words.tags.removeWhy}
          onClose={() => setRemoved(undefined)}
          onRemove={async () => {
            await api('DELETE /open/tags/:tag_uuid', { params: { tag_uuid: removed.uuid } })
            tags.refresh()
          }}
        />
      )}
    </Page>
  )
}
