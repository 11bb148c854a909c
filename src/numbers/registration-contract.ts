import { Type } from 'typebox'
import { Confidential } from '../http/confidential.ts'
import { contract } from '../http/endpoint.ts'
import { Country, Enum, File, Id, Ok, paging, Time, Words } from '../http/schema.ts'
import { Given, GroupId, GroupType, Requirement } from './shapes.ts'

const open = { auth: 'account', shape: 'full', tag: 'Numbers' } as const
const operator = { auth: 'operator', shape: 'full', tag: 'Operator: registrations' } as const

const params = Type.Object({ virtual_number_uuid: Id('DID') })
const unknownNumber = 'No such virtual number of the account'
const unknownRegistration = 'There is no such number, or nothing is asked for it'
const approved = 'It is approved already'

const states = ['awaiting', 'refused', 'approved'] as const

const fields = {
  virtual_number_uuid: Id('DID'),
  phone_number: Type.String({ examples: ['+4930901820'] }),
  iso_country_code: Country,
  did_type: GroupType,
  status_text: Type.String({ description: 'Of the number', examples: ['AWAITING_REGISTRATION'] }),
}

const Registration = Type.Object({
  ...fields,
  state: Enum(['none', ...states], {
    description: 'none: nothing is asked; awaiting: something is missing, or the operator has not decided yet',
  }),
  reason: Type.Optional(Type.String({ description: 'Why it was refused' })),
  due_at: Type.Optional({
    ...Time,
    description: 'The number is suspended then, if something is missing or was refused',
  }),
  satisfied: Type.Boolean({ description: 'Nothing is missing' }),
  requirements: Type.Array(Requirement),
  missing: Type.Array(Requirement),
  given: Type.Array(
    Type.Object({
      requirement_id: Type.Integer(),
      document_uuid: Type.Optional(Id('DOC')),
      value: Type.Optional(Confidential(Type.String())),
    }),
  ),
})

export const checkRequirements = contract({
  ...open,
  id: 'checkNumberRequirements',
  needs: 'numbers',
  method: 'POST',
  url: '/open/numbers/requirements/check',
  summary: 'Check before buying what the regulator would still miss',
  body: Type.Object({ group_id: GroupId, requirements: Type.Optional(Given) }),
  status: 200,
  reply: Ok({
    data: Type.Object({
      satisfied: Type.Boolean({ description: 'Nothing is missing' }),
      missing: Type.Array(Requirement),
    }),
  }),
  errors: { notFound: 'There is no such number group, or no such document of the account' },
})

export const getRegistration = contract({
  ...open,
  id: 'getNumberRequirements',
  needs: 'numbers',
  method: 'GET',
  url: '/open/voip/virtual-numbers/:virtual_number_uuid/requirements',
  summary: 'What is asked for a number, what was given, and what is missing',
  params,
  status: 200,
  reply: Ok({ data: Registration }),
  errors: { notFound: unknownNumber },
})

export const giveRequirements = contract({
  ...open,
  id: 'giveNumberRequirements',
  needs: 'numbers',
  method: 'PUT',
  url: '/open/voip/virtual-numbers/:virtual_number_uuid/requirements',
  summary: 'Give what is asked for a number; what was given for other requirements stays',
  params,
  body: Type.Object({ requirements: Given }),
  status: 200,
  reply: Ok({ data: Registration }),
  errors: {
    notFound: 'No such virtual number, or no such document, of the account',
    conflict: 'Nothing is asked for the number, or it is approved already',
  },
})

const Listed = Type.Object({
  ...fields,
  account_uuid: Id('ACC'),
  state: Enum([...states]),
  missing: Type.Integer({ description: 'Requirements for which nothing is given' }),
  reason: Type.Optional(Type.String()),
  due_at: Time,
  created_at: Time,
})

export const listRegistrations = contract({
  ...operator,
  id: 'listRegistrations',
  method: 'GET',
  url: '/operator/registrations',
  summary: 'Registrations of numbers, the oldest first: those that await a decision, unless told otherwise',
  query: Type.Object({ state: Type.Optional(Enum([...states, 'all'])), ...paging }),
  status: 200,
  reply: Ok({
    count: Type.Integer({ description: 'Rows in this page' }),
    page: Type.Integer(),
    total: Type.Integer(),
    registrations: Type.Array(Listed),
  }),
  errors: {},
  cli: 'registrations list',
})

export const showRegistration = contract({
  ...operator,
  id: 'showRegistration',
  method: 'GET',
  url: '/operator/registrations/:virtual_number_uuid',
  summary: 'What was given for a number, and what is missing',
  params,
  status: 200,
  reply: Ok({ registration: Type.Object({ ...Registration.properties, account_uuid: Id('ACC') }) }),
  errors: { notFound: unknownRegistration },
  cli: 'registrations show',
})

export const readRegistrationDocument = contract({
  ...operator,
  id: 'readRegistrationDocument',
  role: 'operator',
  method: 'GET',
  url: '/operator/registrations/:virtual_number_uuid/documents/:document_uuid',
  summary: 'A document that was given for a number: the file itself',
  params: Type.Object({ virtual_number_uuid: Id('DID'), document_uuid: Id('DOC') }),
  status: 200,
  reply: File('application/pdf', '%PDF-1.7 …'),
  errors: { notFound: 'There is no such number, or the document was not given for it' },
  cli: 'registrations document',
})

export const approveRegistration = contract({
  ...operator,
  id: 'approveRegistration',
  method: 'POST',
  url: '/operator/registrations/:virtual_number_uuid/approve',
  summary: 'Approve: the number is active, and no longer suspended for want of its registration',
  params,
  status: 200,
  reply: Ok({}),
  errors: { notFound: unknownRegistration, conflict: approved },
  cli: 'registrations approve',
})

export const refuseRegistration = contract({
  ...operator,
  id: 'refuseRegistration',
  method: 'POST',
  url: '/operator/registrations/:virtual_number_uuid/refuse',
  summary: 'Refuse with a reason that the account reads: its days begin again, or the number is suspended at once',
  params,
  body: Type.Object({
    reason: Words(500, 'What is wrong, and how to mend it'),
    suspend: Type.Optional(Type.Boolean({ description: 'Suspend the number at once' })),
  }),
  status: 200,
  reply: Ok({}),
  errors: { notFound: unknownRegistration, conflict: approved },
  cli: 'registrations refuse',
})
