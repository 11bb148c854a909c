import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ApiError } from '../api/errors.ts'
import { send } from '../api/send.ts'
import type { Session } from '../api/session-types.ts'
import { Button } from '../parts/button.tsx'
import { type Option, RadioField } from '../parts/choice-fields.tsx'
import { Form } from '../parts/form.tsx'
import { PasswordField, TextField } from '../parts/text-fields.tsx'
import { words } from '../words/en/sign-in.ts'
import { PasskeyButton } from './passkey-button.tsx'
import { useSubmit } from './use-submit.ts'

/** Returns the refusal in words: the same ones whether the address or the password is wrong. */
export const inWords = (error: ApiError | undefined, wrong: string) => {
  if (!error) return undefined
  const { status, message, code, retryAfter } = error
  // The form shows a field for the code, or the choice, instead.
  if (code === 'second_factor_required' || code === 'account_choice') return undefined
  if (code === 'wrong_code') return { message: words.wrongCode, code, fields: { code: words.wrongCode } }
  if (status === 401) return { message: wrong, code }
  if (status === 429) return { message: words.paced(retryAfter ?? 30), code }
  if (status === 0) return { message: words.noConnection, code }
  return { message, code, requestId: error.requestId, fields: error.fields }
}

/** Returns the refusal in words, the same object while it is shown: the form moves the focus to a new one only. */
export const useRefusal = (error: ApiError | undefined, wrong: string): ReturnType<typeof inWords> => {
  const [refusal, setRefusal] = useState<{ of: ApiError | undefined; shown: ReturnType<typeof inWords> }>()
  if (refusal?.of !== error) setRefusal({ of: error, shown: inWords(error, wrong) })
  return refusal?.shown
}

/** True once a refusal said that the person has a second factor. */
export const useCodeNeed = (error: ApiError | undefined): boolean => {
  const [isNeeded, setNeeded] = useState(false)
  if (!isNeeded && error?.code === 'second_factor_required') setNeeded(true)
  return isNeeded
}

/** The code of the second factor. It takes the focus when it appears: what was typed before stays. */
export const CodeField = () => {
  const field = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => field.current?.querySelector('input')?.focus(), [])
  return (
    <div ref={field}>
      <TextField
        name="code"
        label={words.code}
        hint={words.codeHint}
        autocomplete="one-time-code"
        maxLength={40}
        required
        code
      />
    </div>
  )
}

type SignInFormProps = {
  readonly onDone: (session: Session) => void
  /** The address of the person who signs in again. */
  readonly email?: string | undefined
  readonly startWithKey?: boolean
  /** The account of the page to go to: its person is tried first. */
  readonly account?: string | undefined
}

/** Accounts to choose from, once the password fits several persons. */
const useChoices = (error: ApiError | undefined): readonly Option[] => {
  const [choices, setChoices] = useState<readonly Option[]>([])
  if (choices.length === 0 && error?.code === 'account_choice') {
    // As the contract of the sign-in says.
    const accounts = error.body.accounts as readonly { readonly uuid: string; readonly name: string }[]
    setChoices(accounts.map(({ uuid, name }) => ({ value: uuid, text: name })))
  }
  return choices
}

/** Sign-in by email and password, or by a key. */
export const SignInForm = ({ onDone, email, startWithKey = false, account }: SignInFormProps) => {
  const [withKey, setWithKey] = useState(startWithKey)
  const { submit, isPending, error } = useSubmit<Session>('POST /console/session', onDone)
  const refusal = useRefusal(error, withKey ? words.wrongKey : words.wrong)
  const needsCode = useCodeNeed(error)
  const choices = useChoices(error)
  const signIn = (values: Readonly<Record<string, string>>) =>
    submit(withKey ? { key: (values.key ?? '').trim() } : { ...(account ? { account } : {}), ...values })
  return (
    <div class="stack">
      <Form
        key={String(withKey)}
        refusal={refusal}
        label={words.signIn.title}
        onSubmit={(values) => {
          if (!isPending) void signIn(values)
        }}
      >
        {withKey ? (
          <PasswordField name="key" label={words.key} hint={words.keyHint} autocomplete="off" required autofocus />
        ) : (
          <>
            <TextField
              name="email"
              type="email"
              label={words.email}
              autocomplete="username"
              initial={email}
              required
              autofocus={!email}
            />
            <PasswordField name="password" label={words.password} required autofocus={Boolean(email)} />
            {choices.length > 0 && (
              <RadioField
                name="account"
                label={words.signIn.choice}
                hint={words.signIn.choiceHint}
                options={choices}
                required
              />
            )}
            {needsCode && <CodeField />}
          </>
        )}
        <Button type="submit" kind="primary" wide busy={isPending}>
          {words.signIn.act}
        </Button>
      </Form>
      <PasskeyButton
        onAnswer={async (passkey) => {
          // The contract of the route has this type.
          onDone((await send('POST /console/session', { body: { passkey } }, { recover: false })) as Session)
        }}
      />
      <button type="button" class="link session-other" onClick={() => setWithKey(!withKey)}>
        {withKey ? words.signIn.withPassword : words.signIn.withKey}
      </button>
    </div>
  )
}
