import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Enum, Id, Ok, Phone, paging, Time, Words } from '../http/schema.ts'

const account = { auth: 'account', shape: 'full', tag: 'Calls' } as const

const CallerId = Type.Object({
  uuid: Id('VCI'),
  account_uuid: Id('ACC'),
  channel_uuid: Type.Optional(
    Type.String({ description: 'DID… of a bought number, WPN… of one of the messaging app' }),
  ),
  phone_number: Type.String({ examples: ['+447700900001'] }),
  friendly_name: Type.String(),
  iso_country_code: Type.String({ examples: ['GB'] }),
  type: Enum(['VN', 'WW', 'CI'], {
    description: 'VN: a bought number; WW: a number of the messaging app; CI: a number that is proved by a code',
  }),
  verified: Type.Boolean({
    description:
      'Possession was proved: the account owns the number, entered a code that was sent to it, paired its phone with a real network, or has the operator’s grant. Only verified ones can be shown in calls',
  }),
  created_at: Time,
  updated_at: Time,
})

const one = { params: Type.Object({ caller_id_uuid: Id('VCI') }) }
const unknown = 'No such caller ID of the account'

export const listCallerIds = contract({
  ...account,
  id: 'listCallerIds',
  needs: 'read_only',
  method: 'GET',
  url: '/open/voip/caller-ids',
  summary: 'Numbers that calls of the account may show',
  query: Type.Object(paging),
  status: 200,
  reply: Ok({
    count: Type.Integer(),
    page: Type.Integer(),
    total: Type.Integer(),
    caller_ids: Type.Array(CallerId),
  }),
  errors: {},
})

export const createCallerId = contract({
  ...account,
  id: 'createCallerId',
  audited: true,
  needs: 'numbers',
  method: 'POST',
  url: '/open/voip/caller-ids',
  summary: 'Add a number of your own: a code goes there by SMS, from a number of the account; again for a new code',
  body: Type.Object({
    phone_number: Phone('The number to prove, E.164'),
    friendly_name: Type.Optional(Words(100)),
    from_number: Type.Optional(
      Phone('The number of the account that the code is sent from. Default: the oldest with SMS'),
    ),
  }),
  status: 201,
  reply: Ok({
    caller_id: CallerId,
    message_uuid: Type.String({ examples: ['SMO01a1fcca-93ab-7cbc-9f10-be702f775479'] }),
    expires_at: Time,
  }),
  errors: {
    notFound: 'from_number is no number of the account with SMS',
    conflict:
      'The number is a caller ID already (caller_id_exists), or the account has no number with SMS (no_sms_number)',
    unprocessable: 'A phone number is not E.164, or no SMS can be sent there',
    forbidden: 'The account is blocked, the number is suspended (number_suspended), or it wants no texts (opted_out)',
    balance: 'The balance does not cover the SMS, or the quota of API calls is used up',
    tooMany:
      'A code was sent within the last minute, or ten within a day (code_too_soon); the account or the number reached its limit of codes a day (code_limit); or more requests than the account may make',
  },
})

export const verifyCallerId = contract({
  ...account,
  id: 'verifyCallerId',
  audited: true,
  needs: 'numbers',
  method: 'POST',
  url: '/open/voip/caller-ids/:caller_id_uuid/verify',
  summary: 'Prove a number of your own by the code that was sent to it',
  ...one,
  body: Type.Object({ code: Type.String({ pattern: '^[0-9]{6}$', examples: ['482913'] }) }),
  status: 200,
  reply: Ok({ caller_id: CallerId }),
  errors: {
    notFound: unknown,
    unprocessable: 'The code is wrong (code_wrong)',
    conflict: 'There is no code to be right: it is older than ten minutes, or five were wrong (code_expired)',
    tooMany:
      'The account or the number reached its limit of attempts a day (attempt_limit), or more requests than the account may make',
  },
})

export const deleteCallerId = contract({
  ...account,
  id: 'deleteCallerId',
  audited: true,
  needs: 'numbers',
  method: 'DELETE',
  url: '/open/voip/caller-ids/:caller_id_uuid',
  summary: 'Remove a number of your own; those of the others go with their number or channel',
  ...one,
  status: 200,
  reply: Ok({}),
  errors: {
    notFound: unknown,
    conflict: 'It belongs to a number or a channel (not_own), or a channel has no other proof (channel_needs_proof)',
  },
})
