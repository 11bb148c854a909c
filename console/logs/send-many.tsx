import { useState } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { useAct, useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Banner } from '../parts/banner.tsx'
import { Button, ButtonLink } from '../parts/button.tsx'
import { SelectField } from '../parts/choice-fields.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { Table } from '../parts/table.tsx'
import { TextareaField, TextField } from '../parts/text-fields.tsx'
import { paths } from '../paths.ts'
import { words as parts } from '../words/en/parts.ts'
import { words } from '../words/en/sendings.ts'
import { number as formatNumber, phoneNumber } from '../words/format.ts'

type Reply = ReplyOf<'POST /open/sms/send-many'>
type Result = { readonly reply: Reply; readonly numbers: readonly string[] }

/** Numbers of one request. */
const mostNumbers = 1_000
/** Characters of a text. */
const mostText = 1_600
/** Refused numbers that are shown. */
const mostRefused = 200

/** The numbers of a pasted list, without spaces, brackets and hyphens. */
const numbersIn = (text: string): string[] =>
  text
    .split(/[\n,;\t]+/)
    .map((line) => line.replace(/[\s().-]/g, '').replace(/^00/, '+'))
    .filter((line) => line !== '')

const Outcome = ({ result: { reply, numbers }, onDone }: { result: Result; onDone: () => void }) => {
  const refused = reply.messages.flatMap(({ error_message: reason, error_code: code }, i) =>
    code === undefined ? [] : [{ key: String(i), number: numbers[i] ?? '', reason: reason ?? code }],
  )
  return (
    <div class="stack">
      <Banner
        tone={refused.length > 0 ? 'notice' : 'good'}
        live
        title={reply.accepted > 0 ? words.sent(reply.accepted) : words.nothingSent}
      >
        {refused.length > 0 && <p>{words.someRefused(refused.length)}</p>}
      </Banner>
      {refused.length > 0 && (
        <Table
          label={words.refused}
          rows={refused.slice(0, mostRefused)}
          rowKey={({ key }) => key}
          columns={[
            { key: 'number', title: words.number, cell: ({ number }) => <bdi>{phoneNumber(number)}</bdi> },
            { key: 'reason', title: words.reason, cell: ({ reason }) => <span dir="auto">{reason}</span> },
          ]}
          empty={null}
        />
      )}
      <FormActions>
        {reply.sending_uuid !== undefined && (
          <ButtonLink kind="primary" href={paths.sending({ sending: reply.sending_uuid })}>
            {words.follow}
          </ButtonLink>
        )}
        <Button onClick={onDone}>{words.close}</Button>
      </FormActions>
    </div>
  )
}

const SendForm = ({ onResult, onCancel }: { onResult: (result: Result) => void; onCancel: () => void }) => {
  const channels = useQuery('GET /open/sms/channels', { query: { results_per_page: 200 }, enabled: may('read_only') })
  const [list, setList] = useState('')
  const numbers = numbersIn(list)
  const send = useAct('POST /open/sms/send-many', {
    stale: ['GET /open/sms/sendings', 'GET /open/sms/messages'],
    after: (reply) => onResult({ reply, numbers }),
  })
  const senders = (channels.data?.channels ?? []).filter((one) => one.enabled && one.supports_sms_out)
  const isTooLong = numbers.length > mostNumbers
  const submit = ({ from_number = '', text = '' }: Readonly<Record<string, string>>) => {
    if (send.isPending || isTooLong || numbers.length === 0) return
    void send({ body: { from_number, text, to_numbers: numbers } })
  }
  return (
    <Form onSubmit={submit} refusal={send.error ?? undefined} label={words.sendTitle}>
      {may('read_only') ? (
        <SelectField
          name="from_number"
          label={words.from}
          {...(channels.data && senders.length === 0 ? { hint: words.noSender } : {})}
          required
          options={senders.map(({ phone_number: value }) => ({ value, text: phoneNumber(value) }))}
        />
      ) : (
        <TextField name="from_number" label={words.from} required />
      )}
      <TextareaField name="text" label={words.text} rows={4} maxLength={mostText} required />
      <TextareaField
        name="to_numbers"
        label={words.to}
        hint={words.toHint}
        placeholder={words.toExample}
        rows={6}
        required
        code
        value={list}
        onInput={setList}
        foot={<span role="status">{words.numbers(numbers.length)}</span>}
        {...(isTooLong ? { error: words.tooMany(formatNumber(mostNumbers)) } : {})}
      />
      <FormActions>
        <Button type="submit" kind="primary" icon="send" busy={send.isPending}>
          {words.send}
        </Button>
        <Button onClick={onCancel}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}

/** Sends one text to many numbers, and shows which of them were refused. */
export const SendMany = ({ open, onClose }: { readonly open: boolean; readonly onClose: () => void }) => {
  const [result, setResult] = useState<Result>()
  const close = () => {
    setResult(undefined)
    onClose()
  }
  return (
    <Dialog open={open} title={words.sendTitle} onClose={close}>
      {result ? <Outcome result={result} onDone={close} /> : <SendForm onResult={setResult} onCancel={close} />}
    </Dialog>
  )
}
