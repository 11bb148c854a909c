import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { api, type ReplyOf } from '../api/client.ts'
import { type ApiError, asApiError } from '../api/errors.ts'
import { session } from '../api/session.ts'
import type { Session } from '../api/session-types.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Form } from '../parts/form.tsx'
import { Skeleton } from '../parts/states.tsx'
import { PasswordField, TextField } from '../parts/text-fields.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/sign-in.ts'
import { SessionCard } from './card.tsx'
import { CodeField, useCodeNeed } from './sign-in-form.tsx'
import { useSubmit } from './use-submit.ts'
import { useToken } from './use-token.ts'

type Invitation = ReplyOf<'GET /console/invitations/:token'>

/** Joins an account, or sets a new password, by the link that an administrator passed on. */
export const InvitationPage = () => {
  const [token] = useToken()
  const { route: go } = useLocation()
  const [invitation, setInvitation] = useState<Invitation>()
  const [fault, setFault] = useState<ApiError>()
  useEffect(() => {
    api('GET /console/invitations/:token', { params: { token: token || '-' } }).then(setInvitation, (error) =>
      setFault(asApiError(error)),
    )
  }, [token])
  const { submit, isPending, error } = useSubmit<Session>('POST /console/invitations/:token', (reply) => {
    session.value = reply
    go('/console', true)
  })
  const needsCode = useCodeNeed(error)
  const refusal = error?.code === 'second_factor_required' ? undefined : error
  const isUsed = (error ?? fault)?.code === 'invitation_used'
  if (fault || isUsed)
    return (
      <SessionCard
        title={isUsed ? words.invitation.used : words.invitation.missing}
        lead={isUsed ? words.invitation.usedHint : words.invitation.missingHint}
      >
        <ButtonLink href={paths.signIn()} kind="primary" wide>
          {words.toSignIn}
        </ButtonLink>
      </SessionCard>
    )
  if (!invitation)
    return (
      <SessionCard title={words.invitation.plainTitle}>
        <Skeleton rows={3} />
      </SessionCard>
    )
  const { account_name, email, invited_by, name, kind } = invitation
  const isNew = kind === 'invite'
  return (
    <SessionCard
      title={isNew ? words.invitation.title(account_name) : words.invitation.newPassword}
      lead={isNew ? words.invitation.from(invited_by, email) : words.invitation.toEmail(email)}
    >
      <Form
        refusal={refusal}
        label={words.invitation.plainTitle}
        onSubmit={({ name = '', password = '', code }) => {
          const proof = code === undefined ? { password } : { password, code }
          if (!isPending) void submit(isNew ? { name, ...proof } : proof, { token })
        }}
      >
        <input type="hidden" name="username" autocomplete="username" value={email} />
        {isNew && (
          <TextField name="name" label={words.name} initial={name} autocomplete="name" required maxLength={100} />
        )}
        <PasswordField
          name="password"
          label={words.newPassword}
          hint={words.passwordHint}
          autocomplete="new-password"
          required
          autofocus
        />
        {needsCode && <CodeField />}
        <Button type="submit" kind="primary" wide busy={isPending}>
          {isNew ? words.invitation.act : words.invitation.set}
        </Button>
      </Form>
    </SessionCard>
  )
}
