import { send } from '../api/send.ts'
import { account, session } from '../api/session.ts'
import type { Session } from '../api/session-types.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form } from '../parts/form.tsx'
import { PasswordField } from '../parts/text-fields.tsx'
import { words as parts } from '../words/en/parts.ts'
import { words } from '../words/en/sign-in.ts'
import { PasskeyButton } from './passkey-button.tsx'
import { inWords, SignInForm } from './sign-in-form.tsx'
import { useSubmit } from './use-submit.ts'

type DialogProps = { readonly onEnd: (isDone: boolean) => void }

/** Over the page whose session ended: what was typed stays, and the refused request is repeated. */
export const SignInAgain = ({ onEnd }: DialogProps) => {
  const before = session.value
  const onDone = (reply: Session) => {
    session.value = reply
    // Another person must not see, or send, what the first one left.
    if (reply.person?.uuid !== before?.person?.uuid || reply.kind !== before?.kind) location.reload()
    else onEnd(true)
  }
  return (
    <Dialog open title={words.again.title} size="small" onClose={() => onEnd(false)}>
      <div class="stack">
        <p>{words.again.why}</p>
        <SignInForm
          onDone={onDone}
          email={before?.person?.email}
          startWithKey={!before?.person}
          account={account.value?.uuid}
        />
      </div>
    </Dialog>
  )
}

/** Asks for the password, or the key, before an act that needs a fresh proof. The act follows by itself. */
export const Proof = ({ onEnd }: DialogProps) => {
  const name = session.value?.person ? 'password' : 'key'
  const { submit, isPending, error } = useSubmit('POST /console/session/proof', () => onEnd(true))
  return (
    <Dialog open title={words.proof.title} size="small" onClose={() => onEnd(false)}>
      <Form
        refusal={inWords(error, words.proof.wrong)}
        label={words.proof.title}
        onSubmit={(values) => {
          if (!isPending) void submit(values)
        }}
      >
        <p>{words.proof.why}</p>
        <PasswordField
          name={name}
          label={name === 'key' ? words.key : words.password}
          autocomplete={name === 'key' ? 'off' : 'current-password'}
          required
          autofocus
        />
        {session.value?.person && (
          <PasskeyButton
            onAnswer={async (passkey) => {
              await send('POST /console/session/proof', { body: { passkey } }, { recover: false })
              onEnd(true)
            }}
          />
        )}
        <div class="row dialog-acts">
          <Button onClick={() => onEnd(false)}>{parts.cancel}</Button>
          <Button type="submit" kind="primary" busy={isPending}>
            {words.proof.act}
          </Button>
        </div>
      </Form>
    </Dialog>
  )
}
