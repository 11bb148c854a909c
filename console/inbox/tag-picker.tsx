import { may } from '../api/session.ts'
import { classes } from '../parts/classes.ts'
import { Icon } from '../parts/icon.tsx'
import { paths } from '../paths.ts'
import { Popup } from '../shell/popup.tsx'
import { words } from '../words/en/inbox.ts'
import { toggleTag } from './conversation-acts.ts'
import type { Conversation, Tag } from './inbox-types.ts'
import { tags } from './team-members.ts'

/** A tag of the account in its colour. */
export const TagName = ({ tag }: { tag: Tag }) => (
  <span class="tag-name">
    <i class={`tag-color color-${tag.color}`} />
    <span class="cut" dir="auto">
      {tag.name}
    </span>
  </span>
)

/** A button with the tags of the account: each can be set and taken. */
export const TagPicker = ({
  conversation,
  id,
  isText,
}: {
  conversation: Conversation
  id: string
  isText?: boolean
}) => (
  <Popup
    id={id}
    place="end"
    class={classes('button', isText ? 'button-plain button-small' : 'button-quiet button-icon')}
    {...(isText ? {} : { label: words.acts.tag })}
    button={
      <>
        <Icon name="tag" />
        {isText && <span class="button-text">{words.acts.tag}</span>}
      </>
    }
  >
    <p class="popup-title">{words.acts.tag}</p>
    {tags.value.map((tag) => (
      <label key={tag.uuid} class="popup-item">
        <input
          type="checkbox"
          checked={conversation.tags.includes(tag.uuid)}
          onChange={() => void toggleTag(conversation.uuid, tag.uuid)}
        />
        <TagName tag={tag} />
      </label>
    ))}
    {tags.value.length === 0 && <p class="popup-title">{words.acts.noTags}</p>}
    {may('team_settings') && (
      <a class="popup-item" href={paths.inboxTags()}>
        <Icon name="settings" /> {words.acts.makeTags}
      </a>
    )}
  </Popup>
)
