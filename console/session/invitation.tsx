import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { api, type ReplyOf } from '../api/client.ts'
import { type ApiError, asApiError } from '../api/errors.ts'
import { session } from '../api/session.ts'
import type { Session } from '../api/session-types.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { CheckboxField } from '../parts/choice-fields.tsx'
import { Form } from '../parts/form.tsx'
import { Skeleton } from '../parts/page-states.tsx'
import { PasswordField, TextField } from '../parts/text-fields.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/sign-in.ts'
import { SessionCard } from './card.tsx'
import { CodeField, useCodeNeed, useRefusal } from './sign-in-form.tsx'
import { useSubmit } from './use-submit.ts'
import { useToken } from './use-token.ts'

type Invitation = ReplyOf<'POST /console/invitations/show'>

const useInvitation = (token: string | undefined) => {
  const [invitation, setInvitation] = useState<Invitation>()
  const [fault, setFault] = useState<ApiError>()
  useEffect(() => {
    api('POST /console/invitations/show', { body: { token: token || '-' } }).then(setInvitation, (error) =>
      setFault(asApiError(error)),
    )
  }, [token])
  return { invitation, fault }
}

const UnusableInvitation = ({ isUsed }: { isUsed: boolean }) => (
  <SessionCard
    title={isUsed ? words.invitation.used : words.invitation.missing}
    lead={isUsed ? words.invitation.usedHint : words.invitation.missingHint}
  >
    <ButtonLink href={paths.signIn()} kind="primary" wide>
      {words.toSignIn}
    </ButtonLink>
  </SessionCard>
)

/** Joins an account, or sets a new password, by the link that an administrator passed on. */
export const InvitationPage = () => {
  const [token] = useToken()
  const { route: go } = useLocation()
  const { invitation, fault } = useInvitation(token)
  const { submit, isPending, error } = useSubmit<Session>('POST /console/invitations/accept', (reply) => {
    session.value = reply
    go('/console', true)
  })
  const needsCode = useCodeNeed(error)
  const [isExisting, setExisting] = useState(false)
  const [removesPasskeys, setRemovesPasskeys] = useState(true)
  const [known, setKnown] = useState<ApiError>()
  // A mailed link, whose reader has a password here.
  if (error?.code === 'password_exists' && error !== known) {
    setKnown(error)
    setExisting(true)
  }
  const refusal = useRefusal(error, error?.code === 'password_exists' ? words.invitation.known : words.wrong)
  const isUsed = (error ?? fault)?.code === 'invitation_used'
  if (fault || isUsed) return <UnusableInvitation isUsed={isUsed} />
  if (!invitation)
    return (
      <SessionCard title={words.invitation.plainTitle}>
        <Skeleton rows={3} />
      </SessionCard>
    )
  const { account_name, email, invited_by, name, kind, passkeys = [] } = invitation
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
          if (isPending) return
          const proof = { token, password, ...(code === undefined ? {} : { code }) }
          if (!isNew) void submit({ ...proof, remove_passkeys: removesPasskeys })
          else void submit(isExisting ? { ...proof, existing: true } : { ...proof, name })
        }}
      >
        <input type="hidden" name="username" autocomplete="username" value={email} />
        {isNew && !isExisting && (
          <TextField name="name" label={words.name} initial={name} autocomplete="name" required maxLength={100} />
        )}
        <PasswordField
          name="password"
          label={words.newPassword}
          hint={isExisting ? undefined : words.passwordHint}
          autocomplete={isExisting ? 'current-password' : 'new-password'}
          required
          autofocus
        />
        {isNew && (
          <CheckboxField
            name="existing"
            label={words.invitation.existing}
            hint={words.invitation.existingHint}
            checked={isExisting}
            onChange={setExisting}
          />
        )}
        {passkeys.length > 0 && (
          <CheckboxField
            name="remove_passkeys"
            label={words.invitation.removePasskeys}
            hint={words.invitation.removePasskeysHint(passkeys.map(({ name }) => name).join(', '))}
            checked={removesPasskeys}
            onChange={setRemovesPasskeys}
          />
        )}
        {needsCode && <CodeField />}
        <Button type="submit" kind="primary" wide busy={isPending}>
          {isNew ? words.invitation.act : words.invitation.set}
        </Button>
      </Form>
      {isExisting && (
        <a class="session-other" href={paths.forgotten()}>
          {words.signIn.forgotten}
        </a>
      )}
    </SessionCard>
  )
}
