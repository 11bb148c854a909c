import { type TSchema, Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Decimal, Enum, FreeText, Id, Named, Ok, pageFields, pagingQuery, Time } from '../../platform/http/schema.ts'
import {
  maximumQuota,
  minimumQuota,
  type QuotaName,
  quotaDefinitions,
  quotaNames,
} from '../../platform/lib/quota-definitions.ts'
import { accountParams, closed, operator, unknownAccount } from './account-schemas.ts'
import { unlimited } from './unlimited.ts'
import { weekdays } from './working-hours.ts'

/** Makes one schema field per quota. */
const forEachQuota = <T extends TSchema>(schema: (name: QuotaName) => T): Record<QuotaName, T> =>
  // The entries cover every quota name.
  Object.fromEntries(quotaNames.map((name) => [name, schema(name)])) as Record<QuotaName, T>

const Limit = (name: QuotaName) =>
  Type.Integer({
    ...{ minimum: minimumQuota(name), maximum: maximumQuota },
    ...{ description: quotaDefinitions[name].description, examples: [quotaDefinitions[name].paid] },
  })

const Quota = Type.Integer({ description: `${unlimited} if there is no quota`, examples: [unlimited] })

const time = (pattern: string, example: string) => Type.String({ pattern: `^(?:${pattern})$`, examples: [example] })

const clockTime = '(?:[01][0-9]|2[0-3]):[0-5][0-9]'

const WorkingHours = Named(
  'WorkingHours',
  Type.Object(
    {
      timezone: Type.String({ maxLength: 64, description: 'IANA name', examples: ['Europe/London'] }),
      days: Type.Array(
        Type.Object(
          { day: Enum([...weekdays]), from: time(clockTime, '09:00'), until: time(`${clockTime}|24:00`, '17:30') },
          { additionalProperties: false },
        ),
        { minItems: 1, maxItems: 21, description: 'A day may have several hours; a day without any is free' },
      ),
    },
    { description: 'Outside of them browsers get no notifications', additionalProperties: false },
  ),
)

const closeAfterDays = { minimum: 1, maximum: 365, examples: [14] }

const inboxFields = {
  working_hours: Type.Optional(WorkingHours),
  close_after_days: Type.Optional(
    Type.Integer({
      ...closeAfterDays,
      description: 'Answered conversations are closed after as many days. Absent: never',
    }),
  ),
}

export const getInfo = contract({
  id: 'getInfo',
  client: 'account.info',
  needs: 'read_only',
  method: 'GET',
  url: '/open/info',
  tag: 'Account',
  summary: 'Show the account of the key: limits, usage and balance',
  description: 'Use it to check a key and to read how much of each quota is used.',
  auth: 'account',
  shape: 'full',
  status: 200,
  reply: Ok({
    account: Named(
      'AccountProfile',
      Type.Object({
        name: Type.String(),
        uuid: Id('ACC'),
        on_trial: Type.Boolean(),
        blocked: Type.Boolean(),
        block_reason: Type.Optional(Type.String()),
        agents_see_log: Type.Boolean({ description: 'Agents have the right read_only too' }),
        agents_see_all: Type.Boolean({ description: 'Agents see conversations that are assigned to others' }),
        second_factor_required: Type.Boolean({ description: 'Members need an authenticator app or a passkey' }),
        ...inboxFields,
        created_at: Time,
        notification_names: Type.Boolean({ description: 'Notifications of browsers name the sender' }),
        expires_at: Type.Optional(Time),
      }),
    ),
    limits: Named('AccountLimits', Type.Object({ requests_per_minute: Type.Integer(), ...forEachQuota(Limit) })),
    usage: Named(
      'AccountUsage',
      Type.Object({
        webhooks: Type.Integer({ description: 'Enabled, and a tenth of the disabled' }),
        members: Type.Integer({ description: 'Not deleted, also those who are invited' }),
        channels: Type.Integer(),
        contacts: Type.Integer(),
        reservations: Type.Integer(),
        stored_bytes: Type.Integer(),
        api_request_count: Type.Integer(),
        max_api_request_count: Quota,
        number_check_count: Type.Integer(),
        max_number_check_count: Quota,
      }),
    ),
    balance: Type.Object({
      amount: Decimal,
      currency: Type.Literal('USD'),
      held: Type.String({ description: 'Held for pending operations; not part of amount', examples: ['0.00'] }),
      low_balance: Type.Optional(
        Type.String({ description: 'balance.low is published below this amount; absent: never', examples: ['5.00'] }),
      ),
    }),
  }),
  errors: {},
})

const LowBalance = Type.Optional(
  Type.Union([Type.String({ pattern: '^[0-9]{1,9}(\\.[0-9]{1,6})?$', examples: ['5.00'] }), Type.Null()], {
    description: 'USD, above 0: balance.low is published when the balance falls below; null: never',
  }),
)

const NotificationNames = Type.Optional(
  Type.Boolean({ description: 'Notifications of browsers name the sender. Default: false, a count only' }),
)

export const changeOwnAccount = contract({
  id: 'changeOwnAccount',
  client: 'account.update',
  needs: 'account',
  audited: true,
  method: 'PATCH',
  url: '/open/account',
  tag: 'Account',
  summary: 'Change the account: name, balance warning, sign-in policy, what agents see, the inbox, notifications',
  description: 'Absent fields stay unchanged. Limits and flags of the account are changed by the operator.',
  auth: 'account',
  shape: 'full',
  body: Type.Object(
    {
      name: Type.Optional(FreeText(200)),
      low_balance: LowBalance,
      agents_see_log: Type.Optional(
        Type.Boolean({
          description:
            'Agents also get the right read_only: numbers, channels, logs and timelines. No effect while agents_see_all is false',
        }),
      ),
      agents_see_all: Type.Optional(
        Type.Boolean({ description: 'false: agents see only their own conversations, and those without assignee' }),
      ),
      second_factor_required: Type.Optional(
        Type.Boolean({
          description:
            'true: sessions of members without an authenticator app or a passkey are refused (second_factor_required). Whoever turns it on must have one',
        }),
      ),
      working_hours: Type.Optional(Type.Union([WorkingHours, Type.Null()], { description: 'null: always' })),
      close_after_days: Type.Optional(
        Type.Union([Type.Integer(closeAfterDays), Type.Null()], {
          description:
            'Conversations that wait for no answer are closed as many days after their last item; null: never. A reply opens them again',
        }),
      ),
      notification_names: NotificationNames,
    },
    { examples: [{ name: 'Example Ltd', low_balance: '5.00' }] },
  ),
  status: 200,
  reply: Ok({
    account: Named(
      'OwnAccount',
      Type.Object({
        uuid: Id('ACC'),
        name: Type.String(),
        low_balance: Type.Optional(Type.String({ description: 'Absent: never', examples: ['5.00'] })),
        agents_see_log: Type.Boolean({ description: 'Agents have the right read_only too' }),
        agents_see_all: Type.Boolean({ description: 'Agents see conversations that are assigned to others' }),
        second_factor_required: Type.Boolean({ description: 'Members need an authenticator app or a passkey' }),
        ...inboxFields,
        notification_names: Type.Boolean({ description: 'Notifications of browsers name the sender' }),
        updated_at: Time,
      }),
    ),
  }),
  errors: {},
})

const Account = Named(
  'Account',
  Type.Object({
    uuid: Id('ACC'),
    name: Type.String({ examples: ['Example Ltd'] }),
    on_trial: Type.Boolean(),
    blocked: Type.Boolean(),
    block_reason: Type.Optional(Type.String()),
    requests_per_minute: Type.Integer(),
    max_api_request_count: Type.Optional(Type.Integer()),
    max_number_check_count: Type.Optional(Type.Integer()),
    a2p_us: Type.Boolean({ description: 'May send SMS to US numbers' }),
    quotas: Named(
      'Quotas',
      Type.Object(forEachQuota(Limit), { description: 'Limits on what the account may create and store' }),
    ),
    sandbox: Type.Boolean({
      description: 'A sandbox account: /sandbox and its effects apply to it while the sandbox is on',
    }),
    balance: Decimal,
    low_balance: Type.Optional(
      Type.String({
        description: 'balance.low is published when the balance falls below this amount',
        examples: ['5.00'],
      }),
    ),
    created_at: Time,
    updated_at: Time,
    expires_at: Type.Optional(Time),
    closed_at: Type.Optional(Time),
    close_reason: Type.Optional(Type.String()),
  }),
)

const pace = Type.Integer({ minimum: 1, maximum: 100_000_000, description: 'Requests a minute' })
const count = Type.Integer({ minimum: 0, maximum: 1_000_000_000_000 })
const QuotaChanges = Named(
  'QuotaChanges',
  Type.Object(
    forEachQuota((name) =>
      Type.Optional(
        Type.Union([Limit(name), Type.Null()], {
          description: `${quotaDefinitions[name].description} null: the default`,
        }),
      ),
    ),
    { description: 'Quotas to change; the others do not change', additionalProperties: false },
  ),
)
export const createAccount = contract({
  ...operator,
  id: 'createAccount',
  client: 'accounts.create',
  method: 'POST',
  url: '/operator/accounts',
  summary: 'Create an account',
  description:
    'The new account has no keys and no balance. Create a key and credit the account before its first request.',
  body: Type.Object({
    name: FreeText(200),
    on_trial: Type.Optional(
      Type.Boolean({ description: 'A trial account. Default limits: 30 requests a minute and 1,000 calls' }),
    ),
    requests_per_minute: Type.Optional(pace),
    quotas: Type.Optional(QuotaChanges),
    sandbox: Type.Optional(
      Type.Boolean({ description: 'A sandbox account. Default: true while the sandbox is on, else false' }),
    ),
  }),
  status: 201,
  reply: Ok({ account: Account }),
  errors: {},
  cli: 'accounts create',
})

export const listAccounts = contract({
  ...operator,
  id: 'listAccounts',
  client: 'accounts.list',
  method: 'GET',
  url: '/operator/accounts',
  summary: 'List accounts, the oldest first; all of them without paging parameters',
  description: 'The list includes blocked and closed accounts. Filter it by the query parameters.',
  query: Type.Object({
    name: Type.Optional(
      Type.String({ maxLength: 200, description: 'Only accounts of this name, ignoring letter case' }),
    ),
    name_contains: Type.Optional(
      Type.String({ maxLength: 200, description: 'Only accounts whose name contains this text' }),
    ),
    state: Type.Optional(Enum(['open', 'blocked', 'closed'], { description: 'open: neither blocked nor closed' })),
    ...pagingQuery,
  }),
  status: 200,
  reply: Ok({ ...pageFields, accounts: Type.Array(Account) }),
  errors: {},
  cli: 'accounts list',
})

export const getAccount = contract({
  ...operator,
  id: 'getAccount',
  client: 'accounts.get',
  method: 'GET',
  url: '/operator/accounts/:account_uuid',
  summary: 'One account',
  description: 'The reply includes the quotas of the account and the flags that the operator set.',
  params: accountParams,
  status: 200,
  reply: Ok({ account: Account }),
  errors: { notFound: unknownAccount },
  cli: 'accounts show',
})

export const changeAccount = contract({
  ...operator,
  id: 'changeAccount',
  client: 'accounts.update',
  method: 'PATCH',
  url: '/operator/accounts/:account_uuid',
  summary: 'Change an account: its name, limits, whether it is blocked, whether it may send to the US',
  description: 'Absent fields stay unchanged. Blocking an account refuses its next requests with account_blocked.',
  params: accountParams,
  body: Type.Object(
    {
      name: Type.Optional(FreeText(200)),
      on_trial: Type.Optional(Type.Boolean()),
      blocked: Type.Optional(Type.Boolean()),
      block_reason: Type.Optional(Type.String({ maxLength: 500 })),
      requests_per_minute: Type.Optional(pace),
      max_api_request_count: Type.Optional(
        Type.Union([count, Type.Null()], { description: 'null takes the quota away' }),
      ),
      max_number_check_count: Type.Optional(
        Type.Union([count, Type.Null()], { description: 'null takes the quota away' }),
      ),
      a2p_us: Type.Optional(Type.Boolean()),
      quotas: Type.Optional(QuotaChanges),
      sandbox: Type.Optional(
        Type.Boolean({ description: 'false: /sandbox and its effects do not apply to this account' }),
      ),
      low_balance: LowBalance,
    },
    { examples: [{ requests_per_minute: 600 }] },
  ),
  status: 200,
  reply: Ok({ account: Account }),
  errors: { notFound: unknownAccount, conflict: closed },
  cli: 'accounts change',
})

const Count = (description: string) => Type.Integer({ description })

export const closeAccount = contract({
  ...operator,
  id: 'closeAccount',
  client: 'accounts.close',
  method: 'POST',
  url: '/operator/accounts/:account_uuid/close',
  summary: 'Close an account permanently: ends its keys, tokens, webhooks, channels and numbers, and keeps its records',
  description:
    'Closing cannot be undone. ' +
    'The account must have no calls in progress and no open holds; a remaining balance needs write_off.',
  params: accountParams,
  body: Type.Object({
    reason: FreeText(500, 'Reason, stored with the account and in the audit trail'),
    write_off: Type.Optional(
      Type.Boolean({ description: 'Write off the remaining balance, positive or negative. Default: false' }),
    ),
  }),
  status: 201,
  reply: Ok({
    account: Account,
    ended: Named(
      'ClosedAccountCounts',
      Type.Object({
        keys: Count('API keys revoked'),
        users: Count('Users whose tokens were revoked'),
        webhooks: Count('Webhooks disabled'),
        messages: Count('Scheduled messages, and those of sendings, canceled and refunded'),
        channels: Count('Channels of the messaging app deleted'),
        numbers: Count('Numbers released'),
        reservations: Count('Reservations canceled'),
      }),
    ),
    written_off: Decimal,
  }),
  errors: {
    notFound: unknownAccount,
    conflict:
      'The account is closed already (account_closed), has calls in progress (calls_open) or open holds (holds_open), or a balance remains and write_off is not true (balance_remains)',
  },
  cli: 'accounts close',
})
