import { useState } from 'preact/hooks'
import { api } from '../api/client.ts'
import { asApiError } from '../api/errors.ts'
import { newIdempotencyKey } from '../api/send.ts'
import { Button } from '../parts/button.tsx'
import { Form, type Refusal } from '../parts/form.tsx'
import { TextareaField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import type { EndedCall, PhoneCall } from '../shell/phone-state.ts'
import { words } from '../words/en/phone.ts'
import { conversationOf } from './caller-conversation.ts'

/** Notes that are not saved yet, by call: what was typed during a call is there after it. */
const drafts = new Map<string, string>()

/** A note about a call, which its conversation shows to colleagues. */
export const NoteForm = ({ call, onSaved }: { call: PhoneCall | EndedCall; onSaved?: () => void }) => {
  const [text, setText] = useState(drafts.get(call.id) ?? '')
  const [isPending, setPending] = useState(false)
  const [refusal, setRefusal] = useState<Refusal>()
  const save = async () => {
    if (isPending || text.trim() === '') return
    setPending(true)
    setRefusal(undefined)
    try {
      const params = { conversation_uuid: await conversationOf(call) }
      const options = { idempotencyKey: newIdempotencyKey() }
      await api('POST /open/conversations/:conversation_uuid/notes', { params, body: { text: text.trim() } }, options)
      drafts.delete(call.id)
      setText('')
      showToast(words.note.saved)
      onSaved?.()
    } catch (error) {
      setRefusal(asApiError(error))
    } finally {
      setPending(false)
    }
  }
  return (
    <Form onSubmit={() => void save()} refusal={refusal}>
      <div class="phone-note">
        <TextareaField
          name="text"
          label={words.note.label}
          rows={2}
          required
          value={text}
          onInput={(next) => {
            drafts.set(call.id, next)
            setText(next)
          }}
        />
        <Button type="submit" busy={isPending}>
          {words.note.save}
        </Button>
      </div>
    </Form>
  )
}
