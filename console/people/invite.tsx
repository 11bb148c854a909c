import { useAct } from '../api/query.ts'
import { session } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { CheckboxField, RadioField } from '../parts/choice-fields.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { TextField } from '../parts/text-fields.tsx'
import { words as parts } from '../words/en/parts.ts'
import { words } from '../words/en/people.ts'
import { fullName } from '../words/format.ts'
import { type Link, passOn, refusalOf } from './member.ts'
import { isRole, roleOptions } from './roles.tsx'

type InviteProps = {
  readonly open: boolean
  readonly onClose: () => void
  readonly onInvited: (link: Link) => void
}

export const Invite = ({ open, onClose, onInvited }: InviteProps) => (
  <Dialog open={open} title={words.invite} onClose={onClose}>
    <InviteForm onClose={onClose} onInvited={onInvited} />
  </Dialog>
)

/** Invites a person. The form is made by each opening, so a former refusal is gone. */
const InviteForm = ({ onClose, onInvited }: Omit<InviteProps, 'open'>) => {
  const invite = useAct('POST /open/members', {
    stale: ['GET /open/members'],
    after: ({ member, ...sent }) => {
      onClose()
      passOn(fullName(member), sent, onInvited)
    },
  })
  const submit = (values: Readonly<Record<string, string>>) => {
    const { first_name = '', last_name = '', email = '', role = '', shown } = values
    if (invite.isPending || !isRole(role)) return
    void invite({ body: { first_name, last_name, email, role, ...(shown ? { delivery: 'link' } : {}) } })
  }
  const hasMail = session.value?.installation.smtp === true
  return (
    <Form onSubmit={submit} refusal={refusalOf(invite.error)} label={words.invite}>
      <TextField name="first_name" label={words.firstName} maxLength={100} required autofocus />
      <TextField name="last_name" label={words.lastName} maxLength={100} required />
      <TextField name="email" type="email" label={words.email} maxLength={254} required />
      <RadioField name="role" label={words.role} look="cards" initial="agent" options={roleOptions()} />
      {hasMail && <CheckboxField name="shown" label={words.showLink} hint={words.showLinkHint} />}
      <FormActions>
        <Button type="submit" kind="primary" busy={invite.isPending}>
          {hasMail ? words.sendInvitation : words.createLink}
        </Button>
        <Button onClick={onClose}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}
