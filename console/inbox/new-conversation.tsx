import { useState } from 'preact/hooks'
import { type ApiError, asApiError } from '../api/errors.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form } from '../parts/form.tsx'
import { PhoneField } from '../parts/text-fields.tsx'
import { words as texts } from '../words/en/conversation.ts'
import { words as parts } from '../words/en/parts.ts'
import { beginConversation } from './conversation-acts.ts'
import type { Place } from './inbox-place.ts'
import { focusReply } from './reply-target.ts'

/** Opens the conversation with a number, or begins it. */
export const Begin = ({ place, onClose }: { place: Place; onClose: () => void }) => {
  const [number, setNumber] = useState('')
  const [error, setError] = useState<ApiError>()
  const [isBusy, setBusy] = useState(false)
  const begin = async () => {
    if (isBusy) return
    setBusy(true)
    try {
      const uuid = await beginConversation(number)
      onClose()
      place.openConversation(uuid)
      setTimeout(() => focusReply('message'), 100)
    } catch (thrown) {
      setError(asApiError(thrown))
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog
      open
      size="small"
      title={texts.begin.title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{parts.cancel}</Button>
          <Button kind="primary" type="submit" form="begin" busy={isBusy}>
            {texts.begin.act}
          </Button>
        </>
      }
    >
      <Form id="begin" onSubmit={() => void begin()} refusal={error}>
        <PhoneField
          name="number"
          label={texts.begin.number}
          hint={texts.begin.hint}
          required
          autofocus
          value={number}
          onInput={setNumber}
        />
      </Form>
    </Dialog>
  )
}
