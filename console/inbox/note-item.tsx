import { useState } from 'preact/hooks'
import lazy from 'preact-iso/lazy'
import { may } from '../api/session.ts'
import { Icon } from '../parts/icon.tsx'
import { Menu } from '../parts/menu.tsx'
import { words as texts } from '../words/en/conversation.ts'
import { clock, exactTime } from '../words/format.ts'
import type { Item, ThreadTarget } from './inbox-types.ts'
import type { ItemActs } from './item-acts.tsx'
import { memberName, members, ownUser } from './team-members.ts'

/** The text of a note, with the names of colleagues that it mentions. */
const NoteText = ({ text }: { text: string }) => {
  const names = members.value.map(({ name }) => `@${name}`).sort((a, b) => b.length - a.length)
  const escaped = names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const parts = escaped.length > 0 ? text.split(new RegExp(`(${escaped.join('|')})`, 'u')) : [text]
  return (
    <p class="bubble-text" dir="auto">
      {parts.map((part, index) =>
        names.includes(part) ? (
          <strong key={index} class="mention">
            {part}
          </strong>
        ) : (
          part
        ),
      )}
    </p>
  )
}

const EditNote = lazy(() => import('./edit-note.tsx').then(({ EditNote }) => EditNote))

/** A note: for colleagues only, so it looks different from every message. */
export const NoteItem = ({ item, conversation, acts }: { item: Item; conversation: ThreadTarget; acts: ItemActs }) => {
  const [isEdited, setEdited] = useState(false)
  const { note } = item
  if (!note) return null
  const author = memberName(note.user_uuid) ?? (note.user_uuid ? texts.item.someone : texts.item.api)
  const isOwn = note.user_uuid !== undefined && note.user_uuid === ownUser.value
  if (note.removed_at)
    return (
      <p class="thread-line">
        <Icon name="sticky-note" /> {texts.item.noteRemoved}
      </p>
    )
  return (
    <section class="note" aria-label={texts.item.note(author)}>
      <p class="note-head">
        <Icon name="sticky-note" />
        <span dir="auto">{texts.item.note(author)}</span>
        <time class="tabular" dateTime={item.at} title={exactTime(item.at)}>
          {clock(item.at)}
        </time>
        {note.edited_at && <span>{texts.item.edited}</span>}
        {(isOwn || may('team_settings')) && !isEdited && (
          <span class="message-menu">
            <Menu
              label={texts.item.actions}
              size="small"
              items={[
                { text: texts.item.editNote, icon: 'pencil', onSelect: () => setEdited(true) },
                { text: texts.item.deleteNote, icon: 'trash-2', danger: true, onSelect: () => acts.remove(item) },
              ]}
            />
          </span>
        )}
      </p>
      {isEdited ? (
        <EditNote item={item} conversation={conversation.uuid} onClose={() => setEdited(false)} />
      ) : (
        <NoteText text={note.text} />
      )}
    </section>
  )
}
