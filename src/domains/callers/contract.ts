import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import {
  Enum,
  FreeText,
  Id,
  Named,
  Ok,
  Phone,
  pageFields,
  pagingQuery,
  Success,
  Time,
} from '../../platform/http/schema.ts'

const account = { auth: 'account', shape: 'full', tag: 'Calls' } as const

const CallerId = Named(
  'CallerId',
  Type.Object({
    uuid: Id('VCI'),
    account_uuid: Id('ACC'),
    channel_uuid: Type.Optional(
      Type.String({ description: 'DID… of a bought number, WPN… of a messaging app number' }),
    ),
    phone_number: Type.String({ examples: ['+447700900001'] }),
    friendly_name: Type.String(),
    iso_country_code: Type.String({ examples: ['GB'] }),
    type: Enum(['VN', 'WW', 'CI'], {
      description: 'VN: a bought number; WW: a messaging app number; CI: a number proved by a code',
    }),
    verified: Type.Boolean({
      description:
        'Possession was proved: the account owns the number, entered a code that was sent to it or typed one in a call to it, paired its phone with a real network, or has the operator’s grant. Only verified numbers can be shown in calls',
    }),
    verification: Type.Optional(
      Named(
        'CallerIdVerification',
        Type.Object(
          {
            method: Enum(['sms', 'call']),
            state: Enum(['pending', 'expired'], {
              description: 'pending: the code can still be entered; expired: request another one',
            }),
            expires_at: Type.String({
              format: 'date-time',
              description: 'Latest expiry of the code; a code by call ends with its call',
            }),
            call_uuid: Type.Optional(Type.String({ description: 'The call of the code in the call history' })),
          },
          { description: 'State of the newest code of an unverified number. The code itself is never listed' },
        ),
      ),
    ),
    created_at: Time,
    updated_at: Time,
  }),
)

const one = { params: Type.Object({ caller_id_uuid: Id('VCI') }) }
const unknown = 'No such caller ID of the account'

export const listCallerIds = contract({
  ...account,
  id: 'listCallerIds',
  csv: 'caller_ids',
  client: 'callerIds.list',
  needs: 'read_only',
  orNeeds: 'inbox',
  method: 'GET',
  url: '/open/voip/caller-ids',
  summary: 'List the numbers that calls of the account may show',
  description: 'Only verified numbers can be shown by calls. Numbers of the account are verified from the start.',
  query: Type.Object(pagingQuery),
  status: 200,
  reply: Ok({
    ...pageFields,
    caller_ids: Type.Array(CallerId),
  }),
  errors: {},
})

export const createCallerId = contract({
  ...account,
  id: 'createCallerId',
  client: 'callerIds.create',
  audited: true,
  needs: 'numbers',
  method: 'POST',
  url: '/open/voip/caller-ids',
  summary: 'Add your own number as a caller ID, proved by a code by SMS or call. Repeat for a new code',
  description:
    'The code expires after ten minutes and allows five attempts. ' +
    'Enter it with verifyCallerId, or type it in the call.',
  body: Type.Object({
    phone_number: Phone('The number to prove, E.164'),
    friendly_name: Type.Optional(FreeText(100)),
    from_number: Type.Optional(
      Phone(
        'sms: the sending number of the account. Default: the oldest with SMS. call: the verified caller ID that the call shows. Default: any',
      ),
    ),
    method: Type.Optional(
      Enum(['sms', 'call'], {
        description:
          'sms (default): the code comes by SMS and is entered with POST …/verify. call, also for landlines: the platform calls the number at the usual price, the answer of this request shows the code, and the callee types it on the keypad after the tone (0 to 9; * or # begins again; three tries within a minute). The call speaks no words, as it has no recorded speech: tell the callee what to do',
      }),
    ),
  }),
  status: 201,
  reply: Ok({
    caller_id: CallerId,
    message_uuid: Type.Optional(
      Type.String({
        description: 'Only for sms: the message with the code',
        examples: ['SMO01a1fcca-93ab-7cbc-9f10-be702f775479'],
      }),
    ),
    call_uuid: Type.Optional(
      Type.String({
        description: 'Only for call: the call in the call history',
        examples: ['CDR01a1fcca-93ab-7cbc-9f10-be702f775479'],
      }),
    ),
    code: Type.Optional(
      Type.String({
        description: 'Only for call, and shown only here: the code to type in the call',
        examples: ['482913'],
      }),
    ),
    expires_at: Time,
  }),
  codes: { unprocessable: ['a2p_us_unsupported', 'destination_not_priced'], tooMany: ['attempt_limit'] },
  errors: {
    notFound: 'from_number is not an SMS-capable number of the account or, for a call, not a usable caller ID of it',
    conflict:
      'The number is a caller ID already (caller_id_exists), the account has no number with SMS (no_sms_number) or no caller ID to show (no_caller_id), or the number is one of the account (number_of_account)',
    unprocessable: 'A phone number is not E.164, or no SMS can be sent or call made there',
    forbidden:
      'The account is blocked, the number is suspended (number_suspended) or a sandbox number (sandbox_number), the recipient has opted out (opted_out), or the account may not call it (destination_not_allowed, too_many_calls, spend_limit)',
    balance:
      'The balance does not cover the SMS or a minute of the call, the key may spend no more today (key_spend_limit), or the quota of API calls is used up',
    tooMany:
      'A code was sent within the last minute, or ten within a day (code_too_soon); the account or the number reached its limit of codes a day (code_limit); more calls than the account may try (too_many_attempts); or more requests than the account may make',
    unavailable: 'No trunk carries the call (no_trunk), or no process runs calls (no_voice)',
  },
})

export const verifyCallerId = contract({
  ...account,
  id: 'verifyCallerId',
  client: 'callerIds.verify',
  audited: true,
  needs: 'numbers',
  method: 'POST',
  url: '/open/voip/caller-ids/:caller_id_uuid/verify',
  summary: 'Prove your own number by the code that was sent to it',
  description: 'A verified number can be shown by calls at once. A code allows five wrong attempts.',
  ...one,
  body: Type.Object({ code: Type.String({ pattern: '^[0-9]{6}$', examples: ['482913'] }) }),
  status: 200,
  reply: Ok({ caller_id: CallerId }),
  errors: {
    notFound: unknown,
    unprocessable: 'The code is wrong (code_wrong)',
    conflict:
      'There is no valid code: it is older than ten minutes, or five attempts were wrong (code_expired); or it must be typed in the call (code_by_call)',
    tooMany:
      'The account or the number reached its limit of attempts a day (attempt_limit), or more requests than the account may make',
  },
})

export const deleteCallerId = contract({
  ...account,
  id: 'deleteCallerId',
  client: 'callerIds.delete',
  audited: true,
  needs: 'numbers',
  method: 'DELETE',
  url: '/open/voip/caller-ids/:caller_id_uuid',
  summary: 'Remove your own number. Other caller IDs are removed with their number or channel',
  description: 'Calls can no longer show the number. Add it again to prove it again.',
  ...one,
  status: 200,
  reply: Success,
  errors: {
    notFound: unknown,
    conflict:
      'The caller ID belongs to a number or a channel (not_own), or a channel has no other proof (channel_needs_proof)',
  },
})
