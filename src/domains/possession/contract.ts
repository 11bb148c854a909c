import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import { FreeText, Id, Named, Ok, Phone, Success, Time } from '../../platform/http/schema.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: accounts' } as const
const params = Type.Object({ account_uuid: Id('ACC') })
const unknownAccount = 'No such account'

const NumberGrant = Named(
  'NumberGrant',
  Type.Object({
    account_uuid: Id('ACC'),
    phone_number: Type.String({ examples: ['+447911123456'] }),
    note: Type.String({ examples: ['contract 4711, checked by call'] }),
    created_at: Time,
  }),
)

export const createNumberGrant = contract({
  ...operator,
  id: 'createNumberGrant',
  client: 'numberGrants.create',
  method: 'POST',
  url: '/operator/accounts/:account_uuid/number-grants',
  summary: 'Vouch that a number belongs to an account: the account may call and send messages from that number',
  description: 'A grant counts as proof of possession. Repeating the request can change the note.',
  params,
  body: Type.Object({
    phone_number: Phone('The number, E.164'),
    note: Type.Optional(FreeText(500, 'How possession was checked. Default: empty')),
  }),
  status: 201,
  reply: Ok({ grant: NumberGrant }),
  errors: {
    notFound: unknownAccount,
    conflict:
      'Another account owns the number on the platform (number_owned), or the account is closed (account_closed)',
    unprocessable: 'The phone number is not E.164',
  },
  cli: 'number-grants create',
})

export const listNumberGrants = contract({
  ...operator,
  id: 'listNumberGrants',
  client: 'numberGrants.list',
  method: 'GET',
  url: '/operator/accounts/:account_uuid/number-grants',
  summary: 'The numbers that the operator granted to an account, ordered by number',
  description: 'Each grant shows its note and the time at which it was created.',
  params,
  status: 200,
  reply: Ok({ grants: Type.Array(NumberGrant) }),
  errors: { notFound: unknownAccount },
  cli: 'number-grants list',
})

export const deleteNumberGrant = contract({
  ...operator,
  id: 'deleteNumberGrant',
  client: 'numberGrants.delete',
  method: 'DELETE',
  url: '/operator/accounts/:account_uuid/number-grants/:phone_number',
  summary: 'Withdraw a grant; a channel without another proof is deleted',
  description: 'Calls and messages of the account can no longer show the number, unless another proof exists.',
  params: Type.Object({ account_uuid: Id('ACC'), phone_number: Phone('The number, E.164') }),
  status: 200,
  reply: Success,
  errors: { notFound: 'The account has no such grant', unprocessable: 'The phone number is not E.164' },
  cli: 'number-grants delete',
})
