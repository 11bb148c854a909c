import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { roles } from '../../../platform/http/role.ts'
import { Enum, FreeText, Id, Named, Ok, pageFields, pagingQuery, Time } from '../../../platform/http/schema.ts'
import { Delivery, invitationLink, linkErrors } from '../schemas.ts'

const member = { auth: 'account', needs: 'people', shape: 'full', tag: 'Members' } as const

const RoleSchema = Enum([...roles], {
  description: 'Decides what the person may do in the account; see docs/security.md',
})
const Name = FreeText(100)
const params = Type.Object({ user_uuid: Id('USR') })

const Member = Named(
  'Member',
  Type.Object({
    uuid: Id('USR'),
    first_name: Type.String({ examples: ['Ada'] }),
    last_name: Type.String({ examples: ['Lovelace'] }),
    email: Type.String(),
    status: Enum(['ACTIVE', 'PENDING_INVITE', 'SUSPENDED']),
    role: RoleSchema,
    person: Type.Optional(
      Type.Object(
        { name: Type.String(), second_factor: Type.Boolean(), passkeys: Type.Integer() },
        { description: 'Absent until the invitation is accepted' },
      ),
    ),
    last_seen_at: Type.Optional(Time),
    availability: Enum(['available', 'away'], { description: 'Set with PUT /open/me/availability' }),
    created_at: Time,
  }),
)

export const listMembers = contract({
  ...member,
  id: 'listMembers',
  csv: 'members',
  client: 'members.list',
  method: 'GET',
  url: '/open/members',
  summary: 'List the members of the account, oldest first',
  description: 'Users who were deleted are not listed. Follow next_cursor for further members.',
  query: Type.Object(pagingQuery),
  status: 200,
  reply: Ok({ ...pageFields, members: Type.Array(Member) }),
  errors: {},
})

export const createMember = contract({
  ...member,
  id: 'createMember',
  makes: 'person',
  proof: true,
  client: 'members.create',
  audited: true,
  ownAnswer: true,
  method: 'POST',
  url: '/open/members',
  summary: 'Invite a person to the account',
  description:
    'The invitation works once, for seven days. It is mailed, or the reply has a link: send that by a channel that only the person reads. An administrator may not make owners. A key with scopes, an end or addresses invites no one.',
  body: Type.Object({
    first_name: Name,
    last_name: Name,
    email: Type.String({ format: 'email', maxLength: 254, examples: ['ada@example.com'] }),
    role: Type.Optional({ ...RoleSchema, default: 'agent' as const }),
    delivery: Type.Optional(Delivery),
  }),
  status: 201,
  reply: Ok({ member: Member, ...invitationLink }),
  errors: {
    forbidden:
      'The account is blocked, the role has rights that yours lacks, the key has limits (key_limited), or the account has as many members as it may (limit_exceeded)',
    conflict:
      'Another user of the account has this e-mail address (email_exists), or the installation sends no mail (mail_not_configured)',
    tooMany: linkErrors.tooMany,
  },
})

export const changeMember = contract({
  ...member,
  id: 'changeMember',
  makes: 'person',
  proof: true,
  client: 'members.update',
  audited: true,
  method: 'PATCH',
  url: '/open/members/:user_uuid',
  summary: 'Change a member: role, status, names',
  description:
    'A change of rights takes effect within half a second in every process. An administrator may not change owners. A key with scopes, an end or addresses raises no role, and restores no suspended member.',
  params,
  body: Type.Object(
    {
      role: Type.Optional(RoleSchema),
      status: Type.Optional(Enum(['ACTIVE', 'SUSPENDED', 'DELETED'])),
      first_name: Type.Optional(Name),
      last_name: Type.Optional(Name),
      revoke_keys: Type.Optional(
        Type.Boolean({
          description:
            'With the status SUSPENDED or DELETED: also revokes the API keys that the member made in the console, and those that these keys made. Default: false, as programs use them',
        }),
      ),
    },
    { examples: [{ first_name: 'Ada' }] },
  ),
  status: 200,
  reply: Ok({
    member: Member,
    revoked_keys: Type.Optional(Type.Array(Id('KEY'), { description: 'Present with revoke_keys' })),
  }),
  errors: {
    forbidden:
      'The account is blocked, the role has rights that yours lacks, or the key has limits, and the change gives rights (key_limited)',
    notFound: 'No such member',
    conflict:
      'The member is the last active owner (last_owner), or is still to accept the invitation (invitation_pending)',
  },
})

export const inviteMember = contract({
  ...member,
  id: 'inviteMember',
  makes: 'link',
  proof: true,
  client: 'members.invite',
  audited: true,
  ownAnswer: true,
  method: 'POST',
  url: '/open/members/:user_uuid/invitation',
  summary: 'Mail or show a new link for a member: an invitation, or one to set a new password',
  description:
    'Earlier links of the member end. A shown link with which a new password was set ends the proof of the address. Persons who belong to other accounts, or operate the installation, get a password link from the operator only. A key with scopes, an end or addresses makes no links.',
  params,
  body: Type.Object({ delivery: Type.Optional(Delivery) }),
  status: 201,
  reply: Ok(invitationLink),
  errors: {
    forbidden: 'The account is blocked, the role has rights that yours lacks, or the key has limits (key_limited)',
    notFound: 'No such member',
    conflict:
      'Only the operator may create a password link for this person (operator_needed), or the installation sends no mail (mail_not_configured)',
    tooMany: linkErrors.tooMany,
  },
})
