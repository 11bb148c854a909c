import { reattach } from './attached-files.ts'
import { putItems, readers } from './inbox-store.ts'
import { setMoved } from './moved-messages.ts'
import { openOutbox } from './outbox.ts'
import { changeDraft, draftOf } from './saved-drafts.ts'
import { ownUser } from './team-members.ts'

/** Sends what waits, and what the person writes from now on. */
export const startSending = (): void =>
  void openOutbox(ownUser.peek(), {
    onNews: putItems,
    onSent: (conversation, item) => {
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
      setMoved(conversation, items)
    },
  })
