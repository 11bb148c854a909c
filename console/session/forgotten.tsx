import { useEffect, useState } from 'preact/hooks'
import { api } from '../api/client.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Form } from '../parts/form.tsx'
import { TextField } from '../parts/text-fields.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/sign-in.ts'
import { SessionCard } from './card.tsx'
import { inWords } from './sign-in-form.tsx'
import { useSubmit } from './use-submit.ts'

const { forgotten: text } = words

const ToSignIn = () => (
  <ButtonLink href={paths.signIn()} wide>
    {words.toSignIn}
  </ButtonLink>
)

/** Mails a link to a person who forgot the password. The page is the same whether the address has a person. */
export const ForgottenPage = () => {
  const [hasMail, setMail] = useState(true)
  const [email, setEmail] = useState('')
  const [isSent, setSent] = useState(false)
  const { submit, isPending, error } = useSubmit('POST /console/password-reset', () => setSent(true))
  useEffect(() => {
    api('GET /console/claim', {}).then(
      ({ smtp }) => setMail(smtp),
      () => {},
    )
  }, [])
  if (!hasMail)
    return (
      <SessionCard title={text.noMail} lead={text.noMailHint}>
        <ToSignIn />
      </SessionCard>
    )
  if (isSent)
    return (
      <SessionCard title={text.sent} lead={text.sentHint(email)}>
        <ToSignIn />
      </SessionCard>
    )
  return (
    <SessionCard title={text.title} lead={text.why}>
      <Form
        refusal={inWords(error, words.wrong)}
        label={text.title}
        onSubmit={({ email = '' }) => {
          if (isPending) return
          setEmail(email)
          void submit({ email })
        }}
      >
        <TextField
          name="email"
          type="email"
          label={words.email}
          autocomplete="username"
          initial={email}
          maxLength={254}
          required
          autofocus
        />
        <Button type="submit" kind="primary" wide busy={isPending}>
          {text.act}
        </Button>
      </Form>
      <ToSignIn />
    </SessionCard>
  )
}
