import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { words as texts } from '../words/en/conversation.ts'
import type { Conversation } from './inbox-types.ts'
import { textOf } from './item-state.ts'
import { shownName } from './list-row.tsx'
import { moved, setMoved } from './moved-messages.ts'
import { releaseHeld } from './outbox.ts'
import { changeDraft } from './saved-drafts.ts'
import { memberName } from './team-members.ts'

/** Shows the answers that came while the person wrote, above the text that was not sent. The box sends it. */
export const MovedNotice = ({ conversation }: { conversation: Conversation }) => {
  const { uuid } = conversation
  const items = moved.value.get(uuid) ?? []
  const answer = items.find(({ direction }) => direction === 'outbound')
  const author = answer && (memberName(answer.user_uuid) ?? texts.item.someone)
  const discard = () => {
    setMoved(uuid, undefined)
    changeDraft(uuid, 'message', { text: '' })
    releaseHeld(uuid)
  }
  return (
    <div class="box-moved" role="alert">
      <p>
        <Icon name="triangle-alert" />
        <strong>{author ? texts.box.moved(author) : texts.box.movedOther}</strong>
      </p>
      <ul>
        {items
          .filter((item) => textOf(item) !== '')
          .slice(0, 3)
          .reverse()
          .map((item) => (
            <li key={item.uuid} dir="auto">
              <span class="soft">
                {item.direction === 'outbound'
                  ? (memberName(item.user_uuid) ?? texts.item.api)
                  : shownName(conversation)}
                :
              </span>{' '}
              {textOf(item)}
            </li>
          ))}
      </ul>
      <p class="row">
        <Button size="small" onClick={discard}>
          {texts.box.discard}
        </Button>
      </p>
    </div>
  )
}
