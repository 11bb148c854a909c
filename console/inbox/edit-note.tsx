import { useState } from 'preact/hooks'
import { api } from '../api/client.ts'
import { asApiError } from '../api/errors.ts'
import { Button } from '../parts/button.tsx'
import { TextareaField } from '../parts/text-fields.tsx'
import { words as texts } from '../words/en/conversation.ts'
import { words as parts } from '../words/en/parts.ts'
import { putItems } from './inbox-store.ts'
import type { Item } from './inbox-types.ts'

/** The text of a note as a field. */
export const EditNote = ({
  item,
  conversation,
  onClose,
}: {
  item: Item
  conversation: string
  onClose: () => void
}) => {
  const [text, setText] = useState(item.note?.text ?? '')
  const [error, setError] = useState<string>()
  const save = async () => {
    try {
      const reply = await api('PATCH /open/notes/:note_uuid', { params: { note_uuid: item.uuid }, body: { text } })
      putItems(conversation, [reply.item])
      onClose()
    } catch (thrown) {
      setError(asApiError(thrown).message)
    }
  }
  return (
    <div class="stack stack-close">
      <TextareaField
        name="text"
        label={texts.item.editNote}
        hideLabel
        autofocus
        value={text}
        error={error}
        onInput={setText}
      />
      <p class="row">
        <Button size="small" kind="primary" onClick={() => void save()}>
          {texts.item.save}
        </Button>
        <Button size="small" onClick={onClose}>
          {parts.cancel}
        </Button>
      </p>
    </div>
  )
}
