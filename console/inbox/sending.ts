import { reattach } from './attach.ts'
import { changeDraft, draftOf } from './drafts.ts'
import { setMoved } from './moved.ts'
import { openOutbox } from './outbox.ts'
import { putItems, readers } from './store.ts'
import { ownUser } from './team.ts'

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
