import { useState } from 'preact/hooks'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form } from '../parts/form.tsx'
import { TextField } from '../parts/text-fields.tsx'
import { words } from '../words/en/inbox.ts'
import { words as parts } from '../words/en/parts.ts'
import { snoozeConversation } from './conversation-acts.ts'
import { localValue } from './snooze-times.ts'

type AskTimeProps = {
  readonly title: string
  readonly act: string
  readonly onTime: (at: string) => void
  readonly onClose: () => void
}

/** Asks for a time in the future. */
export const AskTime = ({ title, act, onTime, onClose }: AskTimeProps) => {
  const soon = new Date(Date.now() + 2 * 3_600_000)
  soon.setMinutes(0, 0, 0)
  const [value, setValue] = useState(localValue(soon))
  const [fault, setFault] = useState<string>()
  const submit = () => {
    const time = new Date(value)
    if (Number.isNaN(time.getTime()) || time.getTime() <= Date.now()) return setFault(words.acts.past)
    onTime(time.toISOString())
    onClose()
  }
  return (
    <Dialog
      open
      size="small"
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{parts.cancel}</Button>
          <Button kind="primary" type="submit" form="ask-time">
            {act}
          </Button>
        </>
      }
    >
      <Form id="ask-time" onSubmit={submit}>
        <TextField
          name="time"
          type="datetime-local"
          label={words.acts.when}
          required
          autofocus
          value={value}
          error={fault}
          onInput={(next) => {
            setFault(undefined)
            setValue(next)
          }}
        />
      </Form>
    </Dialog>
  )
}

export const SnoozeUntil = ({ conversation, onClose }: { conversation: string; onClose: () => void }) => (
  <AskTime
    title={words.acts.snoozeTitle}
    act={words.acts.snooze}
    onClose={onClose}
    onTime={(at) => void snoozeConversation(conversation, at)}
  />
)
