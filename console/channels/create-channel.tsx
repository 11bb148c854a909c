import type { ApiError } from '../api/errors.ts'
import { useAct } from '../api/query.ts'
import { may, session } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { CheckboxField } from '../parts/choice-fields.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form, FormActions, type Refusal } from '../parts/form.tsx'
import { PhoneField, TextField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import { words } from '../words/en/channels.ts'
import { words as parts } from '../words/en/parts.ts'
import { phoneNumber } from '../words/format.ts'

type CreateProps = {
  readonly open: boolean
  readonly onClose: () => void
  readonly onCreated: (uuid: string) => void
}

export const CreateChannel = ({ open, onClose, onCreated }: CreateProps) => (
  <Dialog open={open} title={words.add} onClose={onClose}>
    <ChannelForm onClose={onClose} onCreated={onCreated} />
  </Dialog>
)

/** Returns a refusal in the words of the page: all of them concern the number. */
const refusalOf = (error: ApiError | null): Refusal | undefined => {
  if (!error) return undefined
  const { code, requestId, fields } = error
  const [, message] = Object.entries(words.refusals).find(([name]) => name === code) ?? []
  if (message === undefined) return { message: error.message, code, requestId, fields }
  return { message, code, requestId, ...(code === 'not_found' ? {} : { fields: { phone_number: message } }) }
}

const ChannelForm = ({ onClose, onCreated }: Omit<CreateProps, 'open'>) => {
  const create = useAct('POST /open/msgapp/channel/create', {
    stale: ['GET /open/msgapp/get-numbers'],
    after: ({ channel }) => {
      showToast(words.created_(phoneNumber(channel.phone_number)))
      onCreated(channel.uuid)
    },
  })
  const askForPhone = useAct('PUT /sandbox/handsets/:number')
  const isSandbox = session.value?.installation.sandbox === true && may('develop')
  const submit = async ({
    phone_number = '',
    friendly_name = '',
    pairing = '',
  }: Readonly<Record<string, string>>): Promise<void> => {
    if (create.isPending || askForPhone.isPending) return
    create.reset()
    if (pairing && !(await askForPhone({ params: { number: phone_number }, body: { pairing: true } }))) return
    await create({ body: { phone_number, ...(friendly_name ? { friendly_name } : {}) } })
  }
  return (
    <Form
      onSubmit={(values) => void submit(values)}
      refusal={refusalOf(create.error ?? askForPhone.error)}
      label={words.add}
    >
      <PhoneField name="phone_number" label={words.number} hint={words.numberHint} required autofocus />
      <TextField name="friendly_name" label={words.name} hint={words.nameHint} maxLength={100} optional />
      {isSandbox && <CheckboxField name="pairing" label={words.withPairing} hint={words.withPairingHint} />}
      <FormActions>
        <Button type="submit" kind="primary" busy={create.isPending || askForPhone.isPending}>
          {words.create}
        </Button>
        <Button onClick={onClose}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}
