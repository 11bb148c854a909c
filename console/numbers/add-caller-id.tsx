import { useEffect, useState } from 'preact/hooks'
import { useAct } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { RadioField } from '../parts/choice-fields.tsx'
import { Countdown } from '../parts/countdown.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { PhoneField, TextField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import { Copy } from '../parts/values.tsx'
import { words } from '../words/en/numbers.ts'
import { words as parts } from '../words/en/parts.ts'
import * as format from '../words/format.ts'

/** A number whose code is on its way. `shown`: the code to type in the call. */
export type CodeToEnter = {
  readonly uuid: string
  readonly number: string
  readonly expiresAt: string
  readonly shown?: string | undefined
}

type Props = {
  readonly open: boolean
  readonly code: CodeToEnter | undefined
  readonly isVerified: boolean
  readonly onCode: (code: CodeToEnter) => void
  readonly onClose: () => void
}

/** Adds a number that the account has elsewhere: a code proves it. */
export const AddCallerId = ({ open, code, isVerified, onCode, onClose }: Props) => {
  const number = code && format.phoneNumber(code.number)
  useEffect(() => {
    if (!isVerified || number === undefined) return
    showToast(words.ids.done(number))
    onClose()
  }, [isVerified, number])
  return (
    <Dialog open={open} title={number === undefined ? words.ids.add : words.ids.codeTitle(number)} onClose={onClose}>
      {code ? <EnterCode code={code} onClose={onClose} /> : <AskCode onCode={onCode} onClose={onClose} />}
    </Dialog>
  )
}

const AskCode = ({ onCode, onClose }: Pick<Props, 'onCode' | 'onClose'>) => {
  const [method, setMethod] = useState('sms')
  const create = useAct('POST /open/voip/caller-ids', {
    stale: ['GET /open/voip/caller-ids'],
    after: ({ caller_id, expires_at, code }) =>
      onCode({ uuid: caller_id.uuid, number: caller_id.phone_number, expiresAt: expires_at, shown: code }),
  })
  const submit = ({ phone_number = '', friendly_name }: Readonly<Record<string, string>>) => {
    if (create.isPending) return
    const name = friendly_name?.trim()
    void create({
      body: {
        phone_number: phone_number.replace(/[\s()./-]/g, ''),
        method: method === 'call' ? 'call' : 'sms',
        ...(name ? { friendly_name: name } : {}),
      },
    })
  }
  return (
    <Form onSubmit={submit} refusal={create.error ?? undefined} label={words.ids.add}>
      <PhoneField name="phone_number" label={words.ids.phone} required autofocus />
      <TextField name="friendly_name" label={words.ids.name} hint={words.ids.nameHint} maxLength={100} optional />
      <RadioField
        name="method"
        label={words.ids.method}
        look="cards"
        value={method}
        onChange={setMethod}
        options={[
          { value: 'sms', text: words.ids.bySms, hint: words.ids.bySmsHint },
          { value: 'call', text: words.ids.byCall, hint: words.ids.byCallHint },
        ]}
      />
      <FormActions>
        <Button type="submit" kind="primary" busy={create.isPending}>
          {method === 'call' ? words.ids.call : words.ids.send}
        </Button>
        <Button onClick={onClose}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}

const EnterCode = ({
  code: { uuid, number, expiresAt, shown },
  onClose,
}: {
  code: CodeToEnter
  onClose: () => void
}) => {
  const verify = useAct('POST /open/voip/caller-ids/:caller_id_uuid/verify', {
    stale: ['GET /open/voip/caller-ids'],
    after: () => {
      showToast(words.ids.done(format.phoneNumber(number)))
      onClose()
    },
  })
  const left = (
    <p>
      <Countdown until={expiresAt} label={words.ids.codeLeft} />
    </p>
  )
  if (shown !== undefined)
    return (
      <div class="stack">
        <p>{words.ids.typeIt}</p>
        <p class="shown-code">
          <Copy value={shown} what={words.ids.typeItCode} />
        </p>
        {left}
        <FormActions>
          <Button onClick={onClose}>{words.ids.close}</Button>
        </FormActions>
      </div>
    )
  return (
    <Form
      label={words.ids.verify}
      refusal={verify.error ?? undefined}
      onSubmit={({ code = '' }) => {
        if (!verify.isPending) void verify({ params: { caller_id_uuid: uuid }, body: { code } })
      }}
    >
      <TextField
        name="code"
        label={words.ids.code}
        pattern="[0-9]{6}"
        fault={words.ids.codeFault}
        autocomplete="one-time-code"
        required
        autofocus
        code
      />
      {left}
      <FormActions>
        <Button type="submit" kind="primary" busy={verify.isPending}>
          {words.ids.verify}
        </Button>
        <Button onClick={onClose}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}
