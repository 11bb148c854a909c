import { useAct } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { RadioField } from '../parts/choice-fields.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { showToast } from '../parts/toast.tsx'
import { words as parts } from '../words/en/parts.ts'
import { words } from '../words/en/people.ts'
import { words as shell } from '../words/en/shell.ts'
import { fullName } from '../words/format.ts'
import { type Member, refusalOf } from './member.ts'
import { isRole, roleOptions } from './roles.tsx'

export const ChangeRole = ({ member, onClose }: { member: Member | undefined; onClose: () => void }) => (
  <Dialog open={member !== undefined} title={words.changeRoleOf(member ? fullName(member) : '')} onClose={onClose}>
    {member && <RoleForm key={member.uuid} member={member} onClose={onClose} />}
  </Dialog>
)

const RoleForm = ({ member, onClose }: { member: Member; onClose: () => void }) => {
  const change = useAct('PATCH /open/members/:user_uuid', {
    stale: ['GET /open/members'],
    after: ({ member }) => {
      showToast(words.roleChanged(fullName(member), shell.roles[member.role]))
      onClose()
    },
  })
  const submit = ({ role = '' }: Readonly<Record<string, string>>) => {
    if (change.isPending || !isRole(role)) return
    void change({ params: { user_uuid: member.uuid }, body: { role } })
  }
  return (
    <Form onSubmit={submit} refusal={refusalOf(change.error)} label={words.changeRole}>
      <RadioField
        name="role"
        label={words.role}
        hint={words.roleWhen}
        look="cards"
        initial={member.role}
        options={roleOptions()}
      />
      <FormActions>
        <Button type="submit" kind="primary" busy={change.isPending}>
          {words.save}
        </Button>
        <Button onClick={onClose}>{parts.cancel}</Button>
      </FormActions>
    </Form>
  )
}
