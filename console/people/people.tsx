import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { useList } from '../api/query.ts'
import { account } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { Section } from '../parts/page.tsx'
import { Empty } from '../parts/page-states.tsx'
import { Status, type Tone } from '../parts/status.tsx'
import { Moment } from '../parts/values.tsx'
import { type PageOf, paths } from '../paths.ts'
import { ListTable } from '../shell/list-table.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/people.ts'
import { words as shell } from '../words/en/shell.ts'
import { fullName } from '../words/format.ts'
import { ChangeRole } from './change-role.tsx'
import { Invite } from './invite.tsx'
import type { Link, Member } from './member.ts'
import { type MemberAct, MemberActDialog } from './member-act.tsx'
import { NewLink } from './new-link.tsx'
import { mayGive, RoleTable } from './roles.tsx'

const tones: Readonly<Record<Member['status'], Tone>> = {
  ACTIVE: 'good',
  PENDING_INVITE: 'info',
  SUSPENDED: 'notice',
}

const isSelf = ({ uuid }: Member): boolean => uuid === account.value?.user_uuid

const columns = [
  {
    key: 'name',
    title: words.name,
    cell: (member: Member) => (
      <span class="row">
        <span dir="auto">{fullName(member)}</span>
        {isSelf(member) && <Status tone="info">{words.you}</Status>}
      </span>
    ),
  },
  { key: 'email', title: words.email, cell: ({ email }: Member) => <bdi>{email}</bdi> },
  { key: 'role', title: words.role, cell: ({ role }: Member) => shell.roles[role] },
  {
    key: 'status',
    title: words.status,
    cell: ({ status }: Member) => <Status tone={tones[status]}>{words.states[status]}</Status>,
  },
  {
    key: 'seen',
    title: words.lastSeen,
    cell: ({ last_seen_at }: Member) =>
      last_seen_at ? <Moment time={last_seen_at} show="relative" /> : <span class="soft">{words.never}</span>,
  },
]

/** The members of the account. Dialogs of invitation and role are in the address. */
export const PeoplePage = ({ search }: PageOf<typeof paths.people>) => {
  const { route: go } = useLocation()
  const members = useList('GET /open/members', { live: ['member'] })
  const [act, setAct] = useState<MemberAct>()
  const [link, setLink] = useState<Link>()
  const changing = members.rows?.find(({ uuid }) => uuid === search.role)
  const close = () => go(paths.people(), true)

  const menuOf = (member: Member) => {
    const { status, role } = member
    const beyond = mayGive(role) ? undefined : words.notOwners
    const reason = beyond ?? (isSelf(member) ? words.notYourself : undefined)
    const start = (kind: MemberAct['kind']) => () => setAct({ kind, member })
    return [
      {
        text: words.changeRole,
        icon: 'shield' as const,
        reason: beyond,
        onSelect: () => go(paths.people({}, { role: member.uuid })),
      },
      {
        text: status === 'PENDING_INVITE' ? words.newLink : words.passwordLink,
        icon: 'link' as const,
        reason: beyond,
        onSelect: start('link'),
      },
      ...(status === 'ACTIVE'
        ? [{ text: words.suspend, icon: 'ban' as const, reason, divided: true, onSelect: start('suspend') }]
        : []),
      ...(status === 'SUSPENDED'
        ? [{ text: words.reactivate, icon: 'play' as const, reason, divided: true, onSelect: start('reactivate') }]
        : []),
      {
        text: status === 'PENDING_INVITE' ? words.withdraw : words.remove,
        icon: 'trash-2' as const,
        danger: true,
        reason,
        onSelect: start('remove'),
      },
    ]
  }

  const invite = (
    <Button kind="primary" icon="user-plus" onClick={() => go(paths.people({}, { invite: '1' }))}>
      {words.invite}
    </Button>
  )
  return (
    <Page title={words.title} lead={words.about} actions={invite}>
      <ListTable
        of={members}
        label={words.caption}
        columns={columns}
        rowKey={({ uuid }) => uuid}
        rowName={fullName}
        menu={menuOf}
        empty={
          <Empty icon="users" title={words.empty} act={invite}>
            {words.emptyHint}
          </Empty>
        }
      />
      {/* After the list, whose length is known then: nothing below it jumps. */}
      {members.rows && (
        <Section title={words.rights.title}>
          <RoleTable />
        </Section>
      )}
      <Invite open={search.invite !== undefined} onClose={close} onInvited={setLink} />
      <ChangeRole member={changing} onClose={close} />
      <MemberActDialog act={act} onClose={() => setAct(undefined)} onLink={setLink} />
      <NewLink link={link} onClose={() => setLink(undefined)} />
    </Page>
  )
}
