import { account } from '../api/session.ts'
import type { Option } from '../parts/choice-fields.tsx'
import { Icon } from '../parts/icon.tsx'
import { Table } from '../parts/table.tsx'
import { NoValue } from '../parts/values.tsx'
import { type Role, rights, rightsOf, rolesWith } from '../shell/rights.ts'
import { words } from '../words/en/people.ts'
import { words as shell } from '../words/en/shell.ts'

/** Every role, from the most rights down. */
const roles: readonly Role[] = ['owner', 'admin', 'agent', 'developer', 'billing']

/** True if the person may give a role or take it away: the rights of the role are among the person's. */
export const mayGive = (role: Role): boolean =>
  rightsOf(role).every((right) => account.value?.capabilities.includes(right) === true)

/** The roles as choices. Those beyond the rights of the person say so. */
export const roleOptions = (): Option[] =>
  roles.map((role) => ({
    value: role,
    text: shell.roles[role],
    hint: words.roles[role],
    reason: mayGive(role) ? undefined : words.roleBeyond,
  }))

export const isRole = (text: string): text is Role => roles.some((role) => role === text)

/** The rights of each role. */
export const RoleTable = () => (
  <Table
    label={words.rights.caption}
    rows={rights}
    rowKey={(right) => right}
    columns={[
      { key: 'right', title: words.rights.right, cell: (right) => words.rights[right] },
      ...roles.map((role) => ({
        key: role,
        title: shell.roles[role],
        cell: (right: (typeof rights)[number]) =>
          rolesWith[right].includes(role) ? <Icon name="check" label={words.rights.yes} /> : <NoValue />,
      })),
    ]}
    empty={null}
  />
)
