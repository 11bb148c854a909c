import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Id, Ok, Phone, Time, Words } from '../http/schema.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: accounts' } as const
const params = Type.Object({ account_uuid: Id('ACC') })
const unknownAccount = 'No such account'

const NumberGrant = Type.Object({
  account_uuid: Id('ACC'),
  phone_number: Type.String({ examples: ['+447911123456'] }),
  note: Type.String({ examples: ['contract 4711, checked by call'] }),
  created_at: Time,
})

export const createNumberGrant = contract({
  ...operator,
  id: 'createNumberGrant',
  method: 'POST',
  url: '/operator/accounts/:account_uuid/number-grants',
  summary: 'Vouch that a number is an account’s: it may call and write as that number',
  params,
  body: Type.Object({
    phone_number: Phone('The number, E.164'),
    note: Type.Optional(Words(500, 'How possession was checked; default empty')),
  }),
  status: 201,
  reply: Ok({ grant: NumberGrant }),
  errors: {
    notFound: unknownAccount,
    conflict: 'Another account owns the number on the platform (number_owned)',
    unprocessable: 'The phone number is not E.164',
  },
  cli: 'number-grants create',
})

export const listNumberGrants = contract({
  ...operator,
  id: 'listNumberGrants',
  method: 'GET',
  url: '/operator/accounts/:account_uuid/number-grants',
  summary: 'The numbers that the operator granted to an account, by number',
  params,
  status: 200,
  reply: Ok({ grants: Type.Array(NumberGrant) }),
  errors: { notFound: unknownAccount },
  cli: 'number-grants list',
})

export const deleteNumberGrant = contract({
  ...operator,
  id: 'deleteNumberGrant',
  method: 'DELETE',
  url: '/operator/accounts/:account_uuid/number-grants/:phone_number',
  summary: 'Withdraw a grant; a channel that nothing else proves is deleted',
  params: Type.Object({ account_uuid: Id('ACC'), phone_number: Phone('The number, E.164') }),
  status: 200,
  reply: Ok({}),
  errors: { notFound: 'The account has no such grant', unprocessable: 'The phone number is not E.164' },
  cli: 'number-grants delete',
})
