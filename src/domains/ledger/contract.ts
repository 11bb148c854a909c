import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { Decimal, Enum, FreeText, Id, Named, Ok, Time } from '../../platform/http/schema.ts'
import { transferKinds } from './transfer-kinds.ts'

const Moment = (description: string) => Type.String({ format: 'date-time', maxLength: 40, description })
const cursored = {
  results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default 50' })),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: 'next_cursor of the previous page' })),
}

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: money' } as const
const params = Type.Object({ account_uuid: Id('ACC') })

const closed = 'The account is closed (account_closed)'

const Reason = FreeText(500, 'Reason, stored with the transfer and in the audit trail')
const AllowNegative = Type.Optional(
  Type.Boolean({ description: 'Debit even if the balance falls below zero. Default: false' }),
)
const BalanceChange = Named('BalanceChange', Ok({ transfer_uuid: Id('TRF'), balance: Decimal }))
const uncovered = 'The balance does not cover the amount, and allow_negative is not true'

const Amount = Type.Unsafe<string | number>({
  type: ['string', 'number'],
  description: 'USD: a decimal string with at most six places, or a number; more than zero, at most 1,000,000,000',
  examples: ['25.00'],
})

export const creditAccount = contract({
  ...operator,
  id: 'creditAccount',
  proof: true,
  client: 'accounts.credit',
  method: 'POST',
  url: '/operator/accounts/:account_uuid/credit',
  summary: 'Add money to the balance of an account',
  description:
    'The transfer appears in the ledger with the note and the operator key. Repeat safely with an Idempotency-Key.',
  params,
  body: Type.Object({
    amount: Amount,
    note: Type.Optional(Type.String({ maxLength: 500 })),
  }),
  status: 201,
  reply: Ok({ balance: Decimal }),
  errors: { notFound: 'No such account', conflict: closed },
  cli: 'accounts credit',
})

export const debitAccount = contract({
  ...operator,
  id: 'debitAccount',
  proof: true,
  client: 'accounts.debit',
  method: 'POST',
  url: '/operator/accounts/:account_uuid/debit',
  summary: 'Debit the balance of an account, for example after a returned payment',
  description:
    'The balance does not become negative unless allow_negative is true. Repeat safely with an Idempotency-Key.',
  params,
  body: Type.Object({
    amount: Amount,
    reason: Reason,
    allow_negative: AllowNegative,
  }),
  status: 201,
  reply: BalanceChange,
  errors: { notFound: 'No such account', balance: uncovered },
  cli: 'accounts debit',
})

export const correctBalance = contract({
  ...operator,
  id: 'correctBalance',
  proof: true,
  client: 'accounts.correct',
  method: 'POST',
  url: '/operator/accounts/:account_uuid/corrections',
  summary: 'Correct the balance of an account, up or down, for example after a wrong charge',
  description:
    'The transfer appears in the ledger with the reason and the operator key. With transfer_uuid, the sum of the corrections and refunds of that transfer never exceeds its amount; a correction of a correction counts for the same transfer. Repeat safely with an Idempotency-Key.',
  params,
  body: Type.Object({
    amount: Type.Unsafe<string | number>({
      type: ['string', 'number'],
      description:
        'USD: a decimal string with at most six places, or a number; negative to debit; not zero, at most 1,000,000,000 either way',
      examples: ['-1.25'],
    }),
    reason: Reason,
    transfer_uuid: Type.Optional(Id('TRF', 'The transfer of the account to correct')),
    allow_negative: AllowNegative,
  }),
  status: 201,
  reply: BalanceChange,
  errors: {
    notFound: 'No such account, or it has no such transfer',
    balance: uncovered,
    conflict:
      'The corrections and refunds of the transfer would exceed it; the message names what is left (correction_exceeds_transfer). Or the transfer moves money into or out of a hold (transfer_not_final)',
  },
  cli: 'accounts correct',
})

const ledgerFilters = {
  kind: Type.Optional(Enum([...transferKinds], { description: 'Only transfers of this kind', examples: ['sms'] })),
  since: Type.Optional(Moment('Only transfers from this time on')),
  until: Type.Optional(Moment('Only transfers before this time')),
}
const Held = Type.String({
  description: 'Held for pending operations; not included in the balance',
  examples: ['0.00'],
})

const transferColumns = {
  'x-columns': ['created_at', 'kind', 'amount', 'reference', 'note', 'made_by.label', 'uuid', 'debit', 'credit'],
}

export const getLedger = contract({
  ...operator,
  id: 'getLedger',
  client: 'accounts.ledger',
  method: 'GET',
  url: '/operator/accounts/:account_uuid/ledger',
  summary: 'List the transfers into and out of the balance of an account, newest first',
  description: 'The sum of all transfers is the balance. Follow next_cursor for older transfers.',
  params,
  query: Type.Object({
    ...ledgerFilters,
    ...cursored,
  }),
  status: 200,
  reply: Ok({
    balance: Decimal,
    held: Held,
    count: Type.Integer(),
    transfers: Type.Array(
      Named(
        'Transfer',
        Type.Object(
          {
            uuid: Id('TRF'),
            kind: Enum([...transferKinds], { examples: ['credit'] }),
            debit: Type.String({ description: 'Book that the money came from' }),
            credit: Type.String({ description: 'Book that the money went to' }),
            amount: Decimal,
            reference: Type.Optional(
              Type.String({ description: 'Id of the item paid for, or of the corrected transfer' }),
            ),
            note: Type.Optional(Type.String({ description: 'The note or reason of the request' })),
            made_by: Type.Optional(
              Named(
                'TransferActor',
                Type.Object(
                  {
                    kind: Enum(['operator', 'api_key', 'person']),
                    uuid: Type.String({ description: 'KEY…; USR… for a member, PRS… for a person who operates' }),
                    label: Type.Optional(
                      Type.String({
                        description: 'Label of the key, or name of the person. Absent if the key was deleted',
                      }),
                    ),
                  },
                  {
                    description:
                      'The key or person of the request. Absent for the platform itself, for example a renewal',
                  },
                ),
              ),
            ),
            created_at: Time,
          },
          transferColumns,
        ),
      ),
    ),
    next_cursor: Type.Optional(Type.String()),
  }),
  errors: { notFound: 'No such account' },
  cli: 'accounts ledger',
})

export const listHolds = contract({
  ...operator,
  id: 'listHolds',
  client: 'accounts.holds',
  method: 'GET',
  url: '/operator/accounts/:account_uuid/holds',
  summary: 'List money held for pending operations, such as calls, oldest first',
  description: 'Held money is not available for other operations. A hold ends with its operation.',
  params,
  query: Type.Object(cursored),
  status: 200,
  reply: Ok({
    held: Decimal,
    count: Type.Integer(),
    holds: Type.Array(
      Named(
        'Hold',
        Type.Object({
          uuid: Id('HLD'),
          kind: Type.String({ examples: ['call'] }),
          reference: Type.String({ description: 'Id of the item that the money is held for' }),
          amount: Decimal,
          created_at: Time,
        }),
      ),
    ),
    next_cursor: Type.Optional(Type.String()),
  }),
  errors: { notFound: 'No such account' },
  cli: 'accounts holds',
})

const account = { auth: 'account', needs: 'money', shape: 'full', tag: 'Money', method: 'GET' } as const

const PaidItem = Named(
  'PaidItem',
  Type.Object(
    {
      kind: Enum(['message', 'call', 'number', 'transfer']),
      uuid: Type.Optional(
        Type.String({
          description: 'Its id: SMO… or SMI…, CDR…, DID… or TRF…. Absent for a number that was never delivered',
        }),
      ),
      number: Type.Optional(Type.String({ description: 'The number paid for, in E.164' })),
    },
    { description: 'The item paid for. A transfer for several messages names the first of them' },
  ),
)

export const getOwnLedger = contract({
  ...account,
  id: 'getOwnLedger',
  client: 'money.ledger',
  csv: 'transfers',
  url: '/open/ledger',
  summary: 'List the transfers into and out of the balance, newest first, with the item that each one paid for',
  description: 'The sum of all transfers is the balance. Follow next_cursor for older transfers.',
  query: Type.Object({ ...ledgerFilters, ...cursored }),
  status: 200,
  reply: Ok({
    balance: Decimal,
    held: Held,
    count: Type.Integer(),
    transfers: Type.Array(
      Named(
        'OwnTransfer',
        Type.Object({
          uuid: Id('TRF'),
          kind: Enum([...transferKinds], { examples: ['credit'] }),
          debit: Type.String({ description: 'Book that the money came from' }),
          credit: Type.String({ description: 'Book that the money went to' }),
          amount: Decimal,
          change: Type.String({
            description: 'Effect on the balance: negative for a debit, 0.00 where a hold had taken the amount before',
            examples: ['-0.04'],
          }),
          item: Type.Optional(PaidItem),
          note: Type.Optional(Type.String({ description: 'The note or reason of the request' })),
          made_by: Type.Optional(
            Named(
              'OwnTransferActor',
              Type.Object(
                {
                  kind: Enum(['operator', 'api_key', 'person']),
                  uuid: Type.Optional(
                    Type.String({ description: 'KEY…, or USR… of a member. Absent for an operator' }),
                  ),
                  label: Type.Optional(
                    Type.String({
                      description: 'Label of the key, or name of the member. Absent for an operator and a deleted key',
                    }),
                  ),
                },
                { description: 'Absent for the platform itself, for example a renewal' },
              ),
            ),
          ),
          created_at: Time,
        }),
      ),
    ),
    next_cursor: Type.Optional(Type.String()),
  }),
  errors: {},
})

export const listOwnHolds = contract({
  ...account,
  id: 'listOwnHolds',
  client: 'money.holds',
  csv: 'holds',
  url: '/open/holds',
  summary: 'List money held for pending operations, such as calls, oldest first',
  description: 'Held money is not available for other operations. A hold ends with its operation.',
  query: Type.Object({
    kind: Type.Optional(Enum([...transferKinds], { description: 'Only holds of this kind', examples: ['call'] })),
    since: Type.Optional(Moment('Only holds from this time on')),
    until: Type.Optional(Moment('Only holds before this time')),
    ...cursored,
  }),
  status: 200,
  reply: Ok({
    held: Decimal,
    count: Type.Integer(),
    holds: Type.Array(
      Named(
        'OwnHold',
        Type.Object({
          uuid: Id('HLD'),
          kind: Type.String({ examples: ['call'] }),
          item: Type.Optional(PaidItem),
          amount: Decimal,
          created_at: Time,
        }),
      ),
    ),
    next_cursor: Type.Optional(Type.String()),
  }),
  errors: {},
})
