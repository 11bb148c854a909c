import { useState } from 'preact/hooks'
import type { ReplyOf } from '../api/client.ts'
import { useAct } from '../api/query.ts'
import { account } from '../api/session.ts'
import type { Capability } from '../api/session-types.ts'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { CheckboxGroup, RadioField, SelectField } from '../parts/choice-fields.tsx'
import { CodeBlock } from '../parts/code-block.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { MoneyField, TextareaField, TextField } from '../parts/text-fields.tsx'
import { Copy } from '../parts/values.tsx'
import { words } from '../words/en/developers.ts'
import { words as parts } from '../words/en/parts.ts'

type NewApiKey = ReplyOf<'POST /open/keys'>

/** Days until a key expires, by choice. */
const lifetimes = { never: 0, month: 30, quarter: 90, year: 365 } as const
const isLifetime = (text: string): text is keyof typeof lifetimes => text in lifetimes

const day = 86_400_000

/** The time of expiry in ISO 8601 with seconds; undefined for never. */
const expiryOf = (choice: string): string | undefined => {
  const days = isLifetime(choice) ? lifetimes[choice] : 0
  return days === 0 ? undefined : new Date(Date.now() + days * day).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** Creates a key, and shows it once. */
export const CreateKey = ({ open, onClose }: { open: boolean; onClose: () => void }) => {
  const [created, setCreated] = useState<NewApiKey>()
  const close = () => {
    setCreated(undefined)
    onClose()
  }
  return (
    <Dialog
      open={open || created !== undefined}
      title={created ? words.keys.created_ : words.keys.create}
      // A click next to the dialog must not lose the key that is shown once.
      onClose={close}
    >
      {created ? <NewKey created={created} onDone={close} /> : <KeyForm onCreated={setCreated} onCancel={close} />}
    </Dialog>
  )
}

const KeyForm = ({ onCreated, onCancel }: { onCreated: (key: NewApiKey) => void; onCancel: () => void }) => {
  const create = useAct('POST /open/keys', { stale: ['GET /open/keys'], after: onCreated })
  const [rights, setRights] = useState('every')
  const [scopes, setScopes] = useState<readonly string[]>([])
  const [isMissing, setMissing] = useState(false)
  // No one passes on rights that they lack.
  const own = Object.entries(words.capabilities).filter(([name]) =>
    account.value?.capabilities.some((each) => each === name),
  )
  const submit = ({
    label = '',
    lifetime = '',
    allowed_addresses: addresses = '',
    spend_per_day: spend = '',
  }: Readonly<Record<string, string>>) => {
    if (create.isPending) return
    const isNone = rights === 'chosen' && scopes.length === 0
    setMissing(isNone)
    if (isNone) return
    const allowed = addresses.split(/[\s,]+/).filter(Boolean)
    const expiry = expiryOf(lifetime)
    void create({
      body: {
        label,
        // The choices are the capabilities of the catalogue.
        ...(rights === 'chosen' ? { scopes: scopes as Capability[] } : {}),
        ...(expiry ? { expires_at: expiry } : {}),
        ...(allowed.length > 0 ? { allowed_addresses: allowed } : {}),
        ...(spend === '' ? {} : { spend_per_day: spend }),
      },
    })
  }
  return (
    <Form onSubmit={submit} refusal={create.error ?? undefined} label={words.keys.create}>
      <TextField name="label" label={words.keys.label} hint={words.keys.labelHint} maxLength={100} required autofocus />
      <RadioField
        name="rights"
        label={words.keys.rights}
        look="cards"
        value={rights}
        onChange={setRights}
        options={[
          { value: 'every', text: words.keys.every, hint: words.keys.everyHint },
          { value: 'chosen', text: words.keys.chosen },
        ]}
      />
      {rights === 'chosen' && (
        <CheckboxGroup
          name="scopes"
          label={words.keys.scopes}
          hideLabel
          values={scopes}
          onChange={setScopes}
          options={own.map(([value, text]) => ({ value, text }))}
          error={isMissing && scopes.length === 0 ? words.keys.chooseOne : undefined}
        />
      )}
      <SelectField
        name="lifetime"
        label={words.keys.expires}
        initial="never"
        options={Object.entries(words.keys.endsIn).map(([value, text]) => ({ value, text }))}
      />
      <MoneyField name="spend_per_day" label={words.keys.spend} hint={words.keys.spendHint} optional />
      <TextareaField
        name="allowed_addresses"
        label={words.keys.addresses}
        hint={words.keys.addressesHint}
        rows={2}
        optional
        code
      />
      <FormActions>
        <Button type="submit" kind="primary" busy={create.isPending}>
          {words.keys.create}
        </Button>
        <Button onClick={onCancel}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}

const NewKey = ({ created, onDone }: { created: NewApiKey; onDone: () => void }) => (
  <div class="stack">
    <Banner tone="notice">{words.keys.once}</Banner>
    <p>
      <Copy value={created.key} what={words.keys.newKey} />
    </p>
    <CodeBlock
      label={words.keys.tryIt}
      samples={[
        { language: parts.code.curl, code: `curl ${location.origin}/open/info -H 'X-User-Api-Key: ${created.key}'` },
      ]}
    />
    <FormActions>
      <Button kind="primary" onClick={onDone} autofocus>
        {words.keys.done}
      </Button>
    </FormActions>
  </div>
)
