import { useState } from 'preact/hooks'
import { api } from '../api/client.ts'
import { asApiError } from '../api/errors.ts'
import { ConfirmDialog } from '../parts/dialog.tsx'
import { words as texts } from '../words/en/conversation.ts'
import { readers } from './inbox-store.ts'
import type { Item } from './inbox-types.ts'

/** The question before a note or message is deleted. */
export const RemoveItem = ({
  item,
  conversation,
  onClose,
}: {
  item: Item | undefined
  conversation: string
  onClose: () => void
}) => {
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const isNote = item?.kind === 'note'
  const close = () => {
    setError(undefined)
    onClose()
  }
  const remove = async () => {
    if (!item) return
    setBusy(true)
    try {
      if (isNote) await api('DELETE /open/notes/:note_uuid', { params: { note_uuid: item.uuid } })
      else
        await api('DELETE /open/msgapp/message/:session_key/:message_uuid', {
          params: { session_key: item.message?.session_key ?? '', message_uuid: item.uuid },
        })
      readers.threads([conversation])
      close()
    } catch (thrown) {
      setError(asApiError(thrown).message)
    } finally {
      setBusy(false)
    }
  }
  return (
    <ConfirmDialog
      open={item !== undefined}
      danger
      title={isNote ? texts.item.deleteNote : texts.item.deleteTitle}
      act={isNote ? texts.item.deleteNote : texts.item.deleteMessage}
      busy={isBusy}
      error={error}
      onClose={close}
      onConfirm={() => void remove()}
    >
      <p>{isNote ? texts.item.deleteNoteWhy : texts.item.deleteWhy}</p>
    </ConfirmDialog>
  )
}
