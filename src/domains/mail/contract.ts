import { Type } from 'typebox'
import { Confidential } from '../../platform/http/confidential.ts'
import { contract } from '../../platform/http/endpoint.ts'
import { Enum, Id, Named, Ok, Time } from '../../platform/http/schema.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: mail' } as const

const State = Enum(['queued', 'sent', 'failed'], {
  description: 'queued: waits for an attempt. sent: the mail server has taken it. failed: there is no further attempt',
})

const Template = Enum(['invitation', 'password_reset', 'prove_address', 'new_sign_in', 'security_changed'], {
  description: 'The kind of mail: docs/operating/mail.md',
})

const mailbox = { format: 'email', maxLength: 254, examples: ['ada@example.com'] }

export const listMails = contract({
  ...operator,
  id: 'listMails',
  client: 'mails.list',
  method: 'GET',
  url: '/operator/mails',
  summary: 'List the mails of the last 30 days, newest first',
  description:
    'Each entry shows the recipient, the template, and the reply or error of the mail server. Contents and links are never shown. ' +
    'Follow next_cursor for older entries.',
  query: Type.Object({
    state: Type.Optional(State),
    to: Type.Optional(Type.String({ maxLength: 254, description: 'Only mails to this address' })),
    results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default: 50' })),
    cursor: Type.Optional(Type.String({ maxLength: 300, description: 'next_cursor of the previous page' })),
  }),
  status: 200,
  reply: Ok({
    count: Type.Integer(),
    mails: Type.Array(
      Named(
        'Mail',
        Type.Object(
          {
            uuid: Id('EML'),
            to: Confidential(Type.String({ examples: ['ada@example.com'] })),
            template: Template,
            state: State,
            attempts: Type.Integer(),
            outcome: Type.Optional(
              Type.String({ description: 'Reply of the mail server, or the error of the last attempt' }),
            ),
            account_uuid: Type.Optional(Id('ACC', 'The account that caused the mail')),
            created_at: Time,
            ended_at: Type.Optional(
              Type.Unsafe<string>({ ...Time, description: 'Time at which it was sent or failed' }),
            ),
          },
          { 'x-columns': ['created_at', 'to', 'template', 'state', 'attempts', 'outcome'] },
        ),
      ),
    ),
    next_cursor: Type.Optional(Type.String()),
  }),
  errors: {},
  cli: 'mail list',
})

export const testMail = contract({
  ...operator,
  id: 'testMail',
  client: 'mails.test',
  method: 'POST',
  waits: true,
  url: '/operator/mail/test',
  summary: 'Send a test mail now, and return the reply of the mail server',
  description: 'The reply states whether the server took the mail, and else the step that failed with its cause.',
  body: Type.Object({ to: Type.String(mailbox) }),
  status: 200,
  reply: Ok({
    working: Type.Boolean({ description: 'True if the mail server has taken the mail' }),
    message: Type.String({ examples: ['250 2.0.0 Ok: queued as 4XyZ'] }),
    step: Type.Optional(
      Enum(['settings', 'name', 'connection', 'tls', 'login', 'sender', 'recipient', 'message'], {
        description: 'The step that failed',
      }),
    ),
  }),
  errors: {},
  cli: 'mail test',
})
