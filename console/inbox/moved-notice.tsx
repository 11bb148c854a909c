import { useRef } from 'preact/hooks'
import { Button } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { words as texts } from '../words/en/conversation.ts'
import type { Conversation } from './inbox-types.ts'
import { textOf } from './item-state.ts'
import { shownName } from './list-row.tsx'
import { moved, setMoved } from './moved-messages.ts'
import { releaseHeld } from './outbox.ts'
import { changeDraft } from './saved-drafts.ts'
import { isAnswer, unseenAnswers, useSeenAnswers } from './seen-answers.ts'
import { memberName } from './team-members.ts'

/** Messages that the notice shows. */
const mostShown = 3

/** Shows the answers that came while the person wrote, above the text that was not sent. The box sends it. */
export const MovedNotice = ({ conversation }: { conversation: Conversation }) => {
  const { uuid } = conversation
  const items = moved.value.get(uuid) ?? []
  const box = useRef<HTMLDivElement>(null)
  const answers = items.filter(isAnswer)
  const [answer] = answers
  const unseen = unseenAnswers(uuid).map((item) => item.uuid)
  // Answers are shown, whatever came after them: those that were not seen first, then the next ones of these.
  const shown = [...new Set([...answers.filter((item) => unseen.includes(item.uuid)), ...answers, ...items])].slice(
    0,
    mostShown,
  )
  const ids = shown.map((item) => item.uuid)
  useSeenAnswers(uuid, ids.join(), () => new Map(box.current ? [[box.current, ids]] : []))
  const author = answer && (memberName(answer.user_uuid) ?? texts.item.someone)
  const discard = () => {
    setMoved(uuid, undefined)
    changeDraft(uuid, 'message', { text: '' })
    releaseHeld(uuid)
  }
  return (
    <div ref={box} class="box-moved" role="alert">
      <p>
        <Icon name="triangle-alert" />
        <strong>{author ? texts.box.moved(author) : texts.box.movedOther}</strong>
      </p>
      <ul>
        {items
          .filter((item) => shown.includes(item))
          .reverse()
          .map((item) => (
            <li key={item.uuid} dir="auto">
              <span class="soft">
                {item.direction === 'inbound'
                  ? shownName(conversation)
                  : (memberName(item.user_uuid) ?? texts.item.api)}
                :
              </span>{' '}
              {textOf(item) || item.message?.message.media?.name || texts.box.noText}
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
