import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { api } from '../api/client.ts'
import { session } from '../api/session.ts'
import type { Session } from '../api/session-types.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Form } from '../parts/form.tsx'
import { PasswordField, TextField } from '../parts/text-fields.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/sign-in.ts'
import { SessionCard } from './card.tsx'
import { CodeField, useCodeNeed } from './sign-in-form.tsx'
import { useSubmit } from './use-submit.ts'
import { useToken } from './use-token.ts'

/** Makes the first person of the installation, by the link that the first start prints. */
export const ClaimPage = () => {
  const [token, paste] = useToken()
  const { route: go } = useLocation()
  const [isClaimed, setClaimed] = useState(false)
  const { submit, isPending, error } = useSubmit<Session>('POST /console/claim', (reply) => {
    session.value = reply
    go('/console', true)
  })
  const needsCode = useCodeNeed(error)
  useEffect(() => {
    api('GET /console/claim', {}).then(
      ({ claimed }) => setClaimed(claimed),
      () => {},
    )
  }, [])
  if (isClaimed || error?.code === 'already_claimed')
    return (
      <SessionCard title={words.claim.claimed} lead={words.claim.claimedHint}>
        <ButtonLink href={paths.signIn()} kind="primary" wide>
          {words.toSignIn}
        </ButtonLink>
      </SessionCard>
    )
  if (!token)
    return (
      <SessionCard title={words.claim.noToken} lead={words.claim.noTokenHint}>
        <Form label={words.claim.noToken} onSubmit={({ link = '' }) => paste(link)}>
          <TextField name="link" label={words.claim.link} required autofocus autocomplete="off" maxLength={500} code />
          <Button type="submit" kind="primary" wide>
            {words.claim.toForm}
          </Button>
        </Form>
      </SessionCard>
    )
  const isWrongToken = error?.status === 401 && error.code !== 'wrong_code'
  return (
    <SessionCard title={words.claim.title} lead={words.claim.why}>
      <Form
        refusal={error?.code === 'second_factor_required' ? undefined : error}
        label={words.claim.title}
        onSubmit={(values) => {
          if (!isPending) void submit({ ...values, token })
        }}
      >
        <TextField name="name" label={words.name} autocomplete="name" required autofocus maxLength={100} />
        <TextField name="email" type="email" label={words.email} autocomplete="username" required maxLength={254} />
        <PasswordField
          name="password"
          label={words.newPassword}
          hint={words.passwordHint}
          autocomplete="new-password"
          required
        />
        {needsCode && <CodeField />}
        {isWrongToken && (
          <Button kind="quiet" wide onClick={() => paste('')}>
            {words.claim.otherLink}
          </Button>
        )}
        <Button type="submit" kind="primary" wide busy={isPending}>
          {words.claim.act}
        </Button>
      </Form>
    </SessionCard>
  )
}
