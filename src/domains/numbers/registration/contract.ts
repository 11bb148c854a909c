import { Type } from 'typebox'
import { Confidential } from '../../../platform/http/confidential.ts'
import { contract } from '../../../platform/http/endpoint.ts'
import {
  Country,
  Enum,
  FileBody,
  FreeText,
  Id,
  Named,
  Ok,
  pageFields,
  pagingQuery,
  Success,
  Time,
} from '../../../platform/http/schema.ts'
import { GroupId, GroupType, Requirement, SubmittedAnswers } from '../number-schemas.ts'

const open = { auth: 'account', shape: 'full', tag: 'Numbers' } as const
const operator = { auth: 'operator', shape: 'full', tag: 'Operator: registrations' } as const

const params = Type.Object({ virtual_number_uuid: Id('DID') })
const unknownNumber = 'No such virtual number of the account'
const unknownRegistration = 'There is no such number, or it has no requirements'
const approved = 'It is approved already'

const states = ['awaiting', 'refused', 'approved'] as const

const fields = {
  virtual_number_uuid: Id('DID'),
  phone_number: Type.String({ examples: ['+4930901820'] }),
  iso_country_code: Country,
  did_type: GroupType,
  status_text: Type.String({ description: 'State of the number', examples: ['AWAITING_REGISTRATION'] }),
}

const Registration = Named(
  'NumberRegistration',
  Type.Object({
    ...fields,
    state: Enum(['none', ...states], {
      description:
        'none: the number has no requirements; awaiting: an answer is missing, or the operator has not decided yet',
    }),
    reason: Type.Optional(Type.String({ description: 'Why it was refused' })),
    due_at: Type.Optional({
      ...Time,
      description: 'At this time the number is suspended if an answer is missing or was refused',
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
  }),
)

export const checkRequirements = contract({
  ...open,
  id: 'checkNumberRequirements',
  unrecorded: true,
  client: 'numbers.checkRequirements',
  needs: 'numbers',
  method: 'POST',
  url: '/open/numbers/requirements/check',
  summary: 'Check before buying which requirements are not met',
  description: 'The check stores nothing and charges nothing. Pass the same answers to purchaseNumber.',
  body: Type.Object({ group_id: GroupId, requirements: Type.Optional(SubmittedAnswers) }),
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
  client: 'numbers.getRequirements',
  needs: 'numbers',
  method: 'GET',
  url: '/open/voip/virtual-numbers/:virtual_number_uuid/requirements',
  summary: 'Requirements of a number, the answers given, and what is missing',
  description: 'The reply includes the deadline and the reason of the last refusal, if any.',
  params,
  status: 200,
  reply: Ok({ data: Registration }),
  errors: { notFound: unknownNumber },
})

export const giveRequirements = contract({
  ...open,
  id: 'giveNumberRequirements',
  client: 'numbers.setRequirements',
  needs: 'numbers',
  method: 'PUT',
  url: '/open/voip/virtual-numbers/:virtual_number_uuid/requirements',
  summary: 'Answer requirements of a number; answers to other requirements stay',
  description:
    'New answers replace earlier answers to the same requirements. The operator then approves or refuses them.',
  params,
  body: Type.Object(
    { requirements: SubmittedAnswers },
    { examples: [{ requirements: [{ requirement_id: 1, document_uuid: 'DOC01a1fcca-93ab-7cbc-9f10-be702f775479' }] }] },
  ),
  status: 200,
  reply: Ok({ data: Registration }),
  codes: { conflict: ['already_registered', 'nothing_required', 'number_released'] },
  errors: {
    notFound: 'No such virtual number, or no such document, of the account',
    conflict: 'The number has no requirements, or it is approved already',
  },
})

const Listed = Named(
  'RegistrationListing',
  Type.Object({
    ...fields,
    account_uuid: Id('ACC'),
    state: Enum([...states]),
    missing: Type.Integer({ description: 'Requirements without an answer' }),
    reason: Type.Optional(Type.String()),
    due_at: Time,
    created_at: Time,
  }),
)

export const listRegistrations = contract({
  ...operator,
  id: 'listRegistrations',
  client: 'registrations.list',
  method: 'GET',
  url: '/operator/registrations',
  summary: 'Registrations of numbers, oldest first. Default: those that await a decision',
  description: 'Filter by state to see registrations that were approved or refused.',
  query: Type.Object({ state: Type.Optional(Enum([...states, 'all'])), ...pagingQuery }),
  status: 200,
  reply: Ok({
    ...pageFields,
    registrations: Type.Array(Listed),
  }),
  errors: {},
  cli: 'registrations list',
})

export const showRegistration = contract({
  ...operator,
  id: 'showRegistration',
  client: 'registrations.get',
  method: 'GET',
  url: '/operator/registrations/:virtual_number_uuid',
  summary: 'The answers given for a number, and what is missing',
  description: 'The reply includes the account, the deadline and the documents that were submitted.',
  params,
  status: 200,
  reply: Named(
    'OperatorNumberRegistration',
    Ok({ registration: Type.Object({ ...Registration.properties, account_uuid: Id('ACC') }) }),
  ),
  errors: { notFound: unknownRegistration },
  cli: 'registrations show',
})

export const readRegistrationDocument = contract({
  ...operator,
  id: 'readRegistrationDocument',
  audited: true,
  client: 'registrations.document',
  role: 'operator',
  method: 'GET',
  url: '/operator/registrations/:virtual_number_uuid/documents/:document_uuid',
  summary: 'A document submitted for a number: the file itself',
  description: 'Only a document that was submitted for this number can be read.',
  params: Type.Object({ virtual_number_uuid: Id('DID'), document_uuid: Id('DOC') }),
  status: 200,
  reply: FileBody('application/pdf', '%PDF-1.7 …'),
  errors: { notFound: 'There is no such number, or the document was not submitted for it' },
  cli: 'registrations document',
})

export const approveRegistration = contract({
  ...operator,
  id: 'approveRegistration',
  client: 'registrations.approve',
  method: 'POST',
  url: '/operator/registrations/:virtual_number_uuid/approve',
  summary: 'Approve: the number is active, and no longer suspended for its missing registration',
  description: 'The account sees the new state at once. Approval cannot be withdrawn.',
  params,
  status: 200,
  reply: Success,
  codes: { conflict: ['already_registered', 'number_released'], notFound: ['not_found'] },
  errors: { notFound: unknownRegistration, conflict: approved },
  cli: 'registrations approve',
})

export const refuseRegistration = contract({
  ...operator,
  id: 'refuseRegistration',
  client: 'registrations.refuse',
  method: 'POST',
  url: '/operator/registrations/:virtual_number_uuid/refuse',
  summary:
    'Refuse with a reason that the account can read: its deadline starts again, or the number is suspended at once',
  description: 'With suspend, the number can neither send nor receive until its documents are approved.',
  params,
  body: Type.Object({
    reason: FreeText(500, 'What is wrong, and how to correct it'),
    suspend: Type.Optional(Type.Boolean({ description: 'Suspend the number at once' })),
  }),
  status: 200,
  reply: Success,
  codes: { conflict: ['already_registered', 'number_released'] },
  errors: { notFound: unknownRegistration, conflict: approved },
  cli: 'registrations refuse',
})
