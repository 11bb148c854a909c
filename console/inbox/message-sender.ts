import { showToast } from '../parts/toast.tsx'
import { words as texts } from '../words/en/conversation.ts'
import { reattach } from './attached-files.ts'
import { open, peekConversation, putItems, readers, threadOf } from './inbox-store.ts'
import { shownName } from './list-row.tsx'
import { setMoved } from './moved-messages.ts'
import { openOutbox } from './outbox.ts'
import { replyTo } from './reply-target.ts'
import { changeDraft, draftOf } from './saved-drafts.ts'
import { rememberOwn } from './seen-answers.ts'
import { ownUser } from './team-members.ts'

/** Sends what waits, and what the person writes from now on. */
export const startSending = (): void =>
  void openOutbox(ownUser.peek(), {
    onNews: putItems,
    onSent: (conversation, item) => {
      rememberOwn(item.uuid)
      putItems(conversation, [item])
      readers.conversations([conversation])
    },
    onMoved: (entry, items) => {
      const { conversation, body } = entry
      // The text is back in the box, before what was typed since.
      const { text } = draftOf(conversation, 'message').peek()
      changeDraft(conversation, 'message', {
        text: [body.text ?? '', text].filter(Boolean).join('\n'),
        channel: body.channel_uuid,
      })
      reattach(entry)
      const quoted = threadOf(conversation)
        .peek()
        ?.items.find(({ uuid }) => uuid === body.reply_to)
      if (quoted) replyTo.value = { conversation, item: quoted }
      setMoved(conversation, items)
      const found = peekConversation(conversation)
      // The person went on to another conversation, as after "Send and close".
      if (found && open.peek().uuid !== conversation) showToast(texts.box.movedElsewhere(shownName(found)), 'notice')
    },
  })
