import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import {
  Country,
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
} from '../../../platform/http/schema.ts'
import { maxOptOutNote } from '../limits.ts'

const sms = { auth: 'account', shape: 'brief', tag: 'SMS' } as const

const Reason = Enum(['keyword', 'manual', 'complaint', 'import'], {
  description:
    'keyword: the contact sent STOP or an equivalent. manual, complaint: added by a request or in the console. ' +
    'import: from a list',
})

const OptOut = Named(
  'OptOut',
  Type.Object({
    uuid: Id('OPT'),
    channel: Enum(['sms'], { description: 'Kind of messages that are refused' }),
    contact_number: Type.String({
      description: 'The contact: a number in E.164, a short code, or the name of an alphanumeric sender',
      examples: ['+447700900123'],
    }),
    phone_number: Type.Optional(
      Type.String({
        description: 'The number of the account that may not write to the contact. Absent: none of its numbers may',
        examples: ['+447700900001'],
      }),
    ),
    reason: Reason,
    keyword: Type.Optional(
      Type.String({ description: 'Only with the reason keyword: the word that the contact sent', examples: ['STOP'] }),
    ),
    note: Type.Optional(Type.String({ examples: ['Asked by telephone'] })),
    created_at: Time,
  }),
)

const Moment = Type.Optional(Type.String({ format: 'date-time', maxLength: 40, examples: ['2026-11-21T00:00:00Z'] }))

const oneOptOut = { params: Type.Object({ opt_out_uuid: Id('OPT') }) }
const unknown = 'No such opt-out of the account'
const notOwn = 'phone_number is not an SMS-capable number of the account'

export const listOptOuts = contract({
  ...sms,
  id: 'listOptOuts',
  csv: 'opt_outs',
  client: 'optOuts.list',
  needs: 'inbox',
  method: 'GET',
  url: '/open/sms/opt-outs',
  summary: 'List the contacts that have opted out of SMS, newest first',
  description:
    'SMS to these contacts are refused (403 opted_out). ' +
    'With phone_number or reason, a page examines 10,000 opt-outs, so a short page may have a next_cursor.',
  query: Type.Object({
    contact_number: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'The contact', examples: ['+447700900123'] }),
    ),
    phone_number: Type.Optional(
      Phone('A number of the account: the opt-outs that hold for it, including those of all numbers'),
    ),
    reason: Type.Optional(Reason),
    since: Moment,
    until: Moment,
    ...pagingQuery,
  }),
  status: 200,
  reply: Ok({
    count: pageFields.count,
    page: pageFields.page,
    total: Type.Optional(
      Type.Integer({
        description:
          'Number of matches, at most 10,000; with phone_number or reason, among the newest 10,000 opt-outs. Present with page_number or page',
      }),
    ),
    total_capped: pageFields.total_capped,
    opt_outs: Type.Array(OptOut),
    next_cursor: pageFields.next_cursor,
  }),
  errors: { unprocessable: 'A number begins with + and is not E.164' },
  cli: 'opt-outs list',
})

export const createOptOut = contract({
  ...sms,
  id: 'createOptOut',
  audited: true,
  client: 'optOuts.create',
  needs: 'inbox',
  method: 'POST',
  url: '/open/sms/opt-outs',
  summary: 'Opt a contact out of SMS from one number of the account, or from all',
  description:
    'It holds from the reply on, also for scheduled messages. START from the contact lifts the opt-out of the number ' +
    'that it writes to; one of all numbers stays until it is removed.',
  body: Type.Object(
    {
      contact_number: Phone('The contact, E.164'),
      phone_number: Type.Optional(Phone('A number of the account, E.164. Default: all of its numbers')),
      reason: Type.Optional(Enum(['manual', 'complaint'], { description: 'Default: manual' })),
      note: Type.Optional(FreeText(maxOptOutNote, 'Why, or who asked for it')),
    },
    { examples: [{ contact_number: '+447700900123', reason: 'manual', note: 'Asked by telephone' }] },
  ),
  status: 201,
  also: { 200: 'The opt-out exists already; it is unchanged' },
  reply: Ok({ opt_out: OptOut }),
  errors: { notFound: notOwn },
  cli: 'opt-outs add',
})

const BadLines = Type.Array(
  Named(
    'OptOutImportError',
    Type.Object({
      line: Type.Integer({ minimum: 1 }),
      error: Type.String({ examples: ['contact_number: "nobody" is not a phone number in E.164 format'] }),
    }),
  ),
  { description: 'The first 1,000 bad lines, in order. Each names its field' },
)

export const importOptOuts = contract({
  ...sms,
  id: 'importOptOuts',
  audited: true,
  client: 'optOuts.import',
  needs: 'team_settings',
  method: 'POST',
  url: '/open/sms/opt-outs/import',
  summary: 'Import opt-outs, of any number, from CSV (contact_number, phone_number, note) or a list of numbers',
  description:
    'The file is streamed. Without a line of column names, each line is a number that opts out of all numbers of the ' +
    'account. Bad lines are reported, and the others imported; a repeated import adds nothing twice.',
  stream: true,
  media: ['text/csv'],
  query: Type.Object({
    country: Type.Optional({
      ...Country,
      description: 'Country whose national numbers are accepted too, such as 07700 900123 of GB',
    }),
  }),
  body: Type.Unsafe<string>({
    type: 'string',
    contentMediaType: 'text/csv',
    examples: ['contact_number,phone_number,note\n+447700900123,,From the former provider\n'],
  }),
  status: 201,
  reply: Ok({
    read: Type.Integer({ description: 'Lines of the file, without the column names' }),
    created: Type.Integer(),
    skipped: Type.Integer({ description: 'Skipped because the opt-out exists, or occurs earlier in the file' }),
    bad_lines: Type.Integer({ description: 'Skipped because the line is bad' }),
    lines: BadLines,
  }),
  codes: { invalid: ['invalid_file'] },
  errors: {
    invalid: 'No line is an opt-out; lists the first 1,000 bad ones',
    mediaType: 'The file is not text/csv',
  },
  faults: Type.Object({
    bad_lines: Type.Optional(Type.Integer({ description: 'Total number of bad lines' })),
    lines: Type.Optional(BadLines),
  }),
  cli: 'opt-outs import',
})

export const getOptOut = contract({
  ...sms,
  ...oneOptOut,
  id: 'getOptOut',
  client: 'optOuts.get',
  needs: 'inbox',
  method: 'GET',
  url: '/open/sms/opt-outs/:opt_out_uuid',
  summary: 'One opt-out',
  description: 'Find the uuid with listOptOuts and contact_number.',
  status: 200,
  reply: Ok({ opt_out: OptOut }),
  errors: { notFound: unknown },
})

export const deleteOptOut = contract({
  ...sms,
  ...oneOptOut,
  id: 'deleteOptOut',
  audited: true,
  client: 'optOuts.delete',
  needs: 'team_settings',
  method: 'DELETE',
  url: '/open/sms/opt-outs/:opt_out_uuid',
  summary: 'Remove an opt-out: messages to the contact are sent again',
  description: 'Remove the opt-out of a keyword only with the consent of the contact. Other opt-outs of it stay.',
  status: 200,
  reply: Success,
  errors: { notFound: unknown },
  cli: 'opt-outs remove',
})
