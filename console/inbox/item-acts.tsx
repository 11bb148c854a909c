import { useState } from 'preact/hooks'
import { Button, ButtonLink } from '../parts/button.tsx'
import { paths } from '../paths.ts'
import { words as texts } from '../words/en/conversation.ts'
import type { Item, ThreadTarget } from './inbox-types.ts'
import { textOf } from './item-state.ts'
import { sendMessage } from './outbox.ts'
import { seenUntil } from './seen-answers.ts'

/** Acts on items that ask first. */
export type ItemActs = {
  readonly remove: (item: Item) => void
}

/** The reason of a failed message, and the acts that help. */
export const FailedActs = ({
  item,
  conversation,
  reason,
}: {
  item: Item
  conversation: ThreadTarget
  reason: string | undefined
}) => {
  const [isSent, setSent] = useState(false)
  const text = textOf(item)
  const again = () => {
    if (isSent || !item.channel_uuid) return
    setSent(true)
    sendMessage(conversation.uuid, { channel_uuid: item.channel_uuid, text, ...seenUntil(conversation.uuid) })
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: the acts are no fields of a form.
    <div class="message-fault" role="group" aria-label={texts.states.failed}>
      <p>{reason}</p>
      <p class="row">
        {text !== '' && (
          <Button size="small" icon="refresh-cw" reason={isSent ? texts.states.sending : undefined} onClick={again}>
            {texts.failed.again} <span class="soft">({texts.failed.againHint})</span>
          </Button>
        )}
        <ButtonLink
          size="small"
          kind="quiet"
          href={paths.message({ message: item.uuid }, item.message ? { session: item.message.session_key } : {})}
        >
          {texts.item.details}
        </ButtonLink>
      </p>
    </div>
  )
}
