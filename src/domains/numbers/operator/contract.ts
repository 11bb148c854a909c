import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Country, Enum, FreeText, Id, Named, Ok, Phone, Time } from '../../../platform/http/schema.ts'
import { groupTypes } from '../catalogue/catalogue-rows.ts'
import { GroupId, VirtualNumber } from '../number-schemas.ts'

const operator = { auth: 'operator', shape: 'full', tag: 'Operator: numbers' } as const

const States = ['free', 'held', 'owned', 'quarantine', 'withdrawn'] as const

const pages = {
  results_per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Default 50' })),
  cursor: Type.Optional(Type.String({ maxLength: 200, description: 'next_cursor of the previous page' })),
}
const Prefix = Type.Optional(
  Type.String({
    pattern: '^\\+?[0-9]{1,15}$',
    description: 'Leading digits with the calling code',
    examples: ['4420'],
  }),
)

export const listInventory = contract({
  ...operator,
  id: 'listInventory',
  client: 'inventory.list',
  method: 'GET',
  url: '/operator/inventory',
  summary: 'Numbers of the inventory, ordered by number',
  description:
    'The list shows the state of each number: free, held, owned, in quarantine or withdrawn. ' +
    'Follow next_cursor for more. A page of free numbers examines 20,000 numbers, so it may be short and still have one.',
  query: Type.Object({
    state: Type.Optional(Enum([...States])),
    group_id: Type.Optional(GroupId),
    country: Type.Optional(Country),
    prefix: Prefix,
    ...pages,
  }),
  status: 200,
  reply: Ok({
    count: Type.Integer({ description: 'Rows in this page' }),
    numbers: Type.Array(
      Named(
        'InventoryNumber',
        Type.Object({
          number: Type.String({ examples: ['+442079460958'] }),
          state: Enum([...States]),
          group_id: Type.String(),
          iso_country_code: Country,
          type: Enum([...groupTypes]),
          location: Type.String(),
          supplier: Type.String({ description: 'own, or the name of the supplier' }),
          account_uuid: Type.Optional(Id('ACC', 'Account that holds or owns it')),
          rests_until: Type.Optional(Time),
        }),
      ),
    ),
    next_cursor: Type.Optional(Type.String()),
  }),
  codes: { invalid: ['unknown_country'] },
  errors: { notFound: 'No such group' },
  cli: 'inventory list',
})

const Which = Named(
  'InventorySelection',
  Type.Object(
    {
      numbers: Type.Optional(Type.Array(Phone(), { minItems: 1, maxItems: 1000 })),
      group_id: Type.Optional({ ...GroupId, description: 'All numbers of a group, instead of numbers' }),
    },
    { examples: [{ numbers: ['+447700900123'] }] },
  ),
)
const Refused = Type.Array(Named('RefusedNumber', Type.Object({ number: Type.String(), reason: Type.String() })), {
  description: 'Named numbers that were not changed',
})
const whichErrors = { invalid: 'Neither numbers nor group_id is given, or both are', notFound: 'No such group' }

export const withdrawInventory = contract({
  ...operator,
  id: 'withdrawInventory',
  client: 'inventory.withdraw',
  method: 'POST',
  url: '/operator/inventory/withdraw',
  summary: 'Take numbers off sale if they are free or in quarantine. Held and owned numbers are not changed',
  description: 'Name the numbers, or a group for all of its numbers. Use restoreInventory to undo it.',
  body: Which,
  status: 200,
  reply: Ok({ withdrawn: Type.Integer(), refused: Refused }),
  errors: whichErrors,
  cli: 'inventory withdraw',
})

export const restoreInventory = contract({
  ...operator,
  id: 'restoreInventory',
  client: 'inventory.restore',
  method: 'POST',
  url: '/operator/inventory/restore',
  summary: 'Put withdrawn numbers on sale again',
  description:
    'Name the numbers, or a group for all of its withdrawn numbers. ' +
    'The reply lists numbers that were refused, with the reason.',
  body: Which,
  status: 200,
  reply: Ok({ restored: Type.Integer(), refused: Refused }),
  errors: whichErrors,
  cli: 'inventory restore',
})

const Sold = Named(
  'SoldNumber',
  Type.Object({
    ...VirtualNumber.properties,
    account_name: Type.String(),
    suspended_for: Type.Optional(Type.String({ description: 'Why it is suspended' })),
  }),
)

export const listSoldNumbers = contract({
  ...operator,
  id: 'listSoldNumbers',
  client: 'numbers.list',
  method: 'GET',
  url: '/operator/numbers',
  summary: 'Numbers of all accounts, those bought last first',
  description: 'Filter by account or state to find a number. Follow next_cursor for more.',
  query: Type.Object({
    account_uuid: Type.Optional(Id('ACC')),
    country: Type.Optional(Country),
    status_text: Type.Optional(
      Enum(['ACTIVE', 'AWAITING_REGISTRATION', 'PENDING_ACTIVATION', 'SUSPENDED', 'PENDING_CANCELLATION']),
    ),
    prefix: Prefix,
    ...pages,
  }),
  status: 200,
  reply: Ok({ count: Type.Integer(), numbers: Type.Array(Sold), next_cursor: Type.Optional(Type.String()) }),
  codes: { invalid: ['unknown_country'] },
  errors: { invalid: 'A parameter is wrong, or the cursor does not belong to this list', notFound: 'No such account' },
  cli: 'numbers list',
})

const params = Type.Object({ virtual_number_uuid: Id('DID') })
const unknown = 'No such virtual number'

export const suspendNumber = contract({
  ...operator,
  id: 'suspendNumber',
  client: 'numbers.suspend',
  method: 'POST',
  url: '/operator/numbers/:virtual_number_uuid/suspend',
  summary: 'Suspend a number: it stays its owner’s, but can neither send nor receive messages',
  description: 'The number works again after reinstateNumber. The event is number.suspended.',
  params,
  body: Type.Object({ reason: FreeText(200, 'Shown to the account') }),
  status: 200,
  reply: Ok({ number: VirtualNumber }),
  codes: { conflict: ['number_suspended'] },
  errors: { notFound: unknown, conflict: 'It is suspended already' },
  cli: 'numbers suspend',
})

export const reinstateNumber = contract({
  ...operator,
  id: 'reinstateNumber',
  client: 'numbers.reinstate',
  method: 'POST',
  url: '/operator/numbers/:virtual_number_uuid/reinstate',
  summary: 'End the suspension of a number and restore its previous state',
  description: 'The owner can use the number again at once.',
  params,
  status: 200,
  reply: Ok({ number: VirtualNumber }),
  codes: { conflict: ['number_not_suspended'] },
  errors: { notFound: unknown, conflict: 'It is not suspended' },
  cli: 'numbers reinstate',
})
