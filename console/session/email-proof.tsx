import { useEffect, useState } from 'preact/hooks'
import { loadSession, session } from '../api/session.ts'
import type { Session } from '../api/session-types.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Form } from '../parts/form.tsx'
import { Skeleton } from '../parts/page-states.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/sign-in.ts'
import { SessionCard } from './card.tsx'
import { inWords, SignInForm } from './sign-in-form.tsx'
import { useSubmit } from './use-submit.ts'
import { useToken } from './use-token.ts'

const { emailProof: text } = words

type Person = NonNullable<Session['person']>

/** Proves the address of the person of the session, by the link that a mail brought. */
export const EmailProofPage = () => {
  const [token] = useToken()
  const [isDone, setDone] = useState(false)
  const { submit, isPending, error } = useSubmit<{ person: Person }>('POST /console/me/email-proof/accept', (reply) => {
    if (session.value) session.value = { ...session.value, person: reply.person }
    setDone(true)
  })
  useEffect(() => {
    if (session.value === undefined) void loadSession().catch(() => {})
  }, [])
  const person = session.value?.person
  if (isDone || person?.email_proved)
    return (
      <SessionCard title={text.done}>
        <ButtonLink href={paths.home()} kind="primary" wide>
          {text.toConsole}
        </ButtonLink>
      </SessionCard>
    )
  if (!token || error?.status === 404)
    return (
      <SessionCard title={text.missing} lead={text.missingHint}>
        <ButtonLink href={paths.security()} kind="primary" wide>
          {text.toConsole}
        </ButtonLink>
      </SessionCard>
    )
  if (session.value === undefined)
    return (
      <SessionCard title={text.title}>
        <Skeleton rows={2} />
      </SessionCard>
    )
  if (!person)
    return (
      <SessionCard title={text.title} lead={text.signIn}>
        <SignInForm
          onDone={(reply) => {
            session.value = reply
          }}
        />
      </SessionCard>
    )
  return (
    <SessionCard title={text.title} lead={text.why(person.email)}>
      <Form
        refusal={inWords(error, text.missing)}
        label={text.title}
        onSubmit={() => {
          if (!isPending) void submit({ token })
        }}
      >
        <Button type="submit" kind="primary" wide busy={isPending}>
          {text.act}
        </Button>
      </Form>
    </SessionCard>
  )
}
