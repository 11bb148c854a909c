import { Type } from 'typebox'
import { contract } from '../http/endpoint.ts'
import { Country, Enum, Id, listed, Ok, Phone, paging, Time, Words } from '../http/schema.ts'
import { groupTypes } from './rows.ts'
import { Given, Group, GroupId, GroupType, missingSupplier, Requirement, Reservation, VirtualNumber } from './shapes.ts'

const change = { auth: 'account', needs: 'numbers', shape: 'full', tag: 'Numbers' } as const
const audited = { ...change, audited: true } as const
const read = { ...change, needs: 'read_only', method: 'GET' } as const

const Integer = (description: string) => Type.Integer({ minimum: 1, maximum: 2_147_483_647, description })
const headers = {
  [missingSupplier]: 'Names of suppliers that did not answer, separated by commas: their numbers may be missing',
}

const unknownGroup = 'There is no such number group'

export const listCountries = contract({
  ...read,
  id: 'listNumberCountries',
  url: '/open/numbers/countries',
  summary: 'Countries that have numbers, with the types on offer',
  status: 200,
  reply: Ok({
    data: Type.Object({
      countries: Type.Array(
        Type.Object({
          iso_country_code: Country,
          name: Type.String(),
          prefix: Type.String({ description: 'Calling code', examples: ['44'] }),
          did_types: Type.Array(GroupType),
        }),
      ),
    }),
  }),
  errors: {},
})

export const listRegions = contract({
  ...read,
  id: 'listNumberRegions',
  url: '/open/numbers/regions',
  summary: 'Regions of a country: US, CA and GB have some',
  query: Type.Object({ country: Country }),
  status: 200,
  reply: Ok({
    data: Type.Object({
      regions: Type.Array(Type.Object({ id: Type.Integer(), region_name: Type.String(), iso_country_code: Country })),
    }),
  }),
  errors: { invalid: 'country is missing, or not one that has numbers' },
})

export const listCities = contract({
  ...read,
  id: 'listNumberCities',
  url: '/open/numbers/cities',
  summary: 'Cities of a country, or of one of its regions, that have numbers',
  query: Type.Object({ country: Country, region: Type.Optional(Integer('Id of a region')) }),
  status: 200,
  reply: Ok({
    data: Type.Object({
      cities: Type.Array(Type.Object({ id: Type.Integer(), city_name: Type.String(), iso_country_code: Country })),
    }),
  }),
  errors: { invalid: 'country is missing, or not one that has numbers' },
})

export const listTypes = contract({
  ...read,
  id: 'listNumberTypes',
  url: '/open/numbers/did-types',
  summary: 'Types of numbers',
  status: 200,
  reply: Ok({ data: Type.Object({ did_types: Type.Array(Type.Object({ id: Type.Integer(), name: GroupType })) }) }),
  errors: {},
})

export const listRequirements = contract({
  ...read,
  id: 'listNumberRequirements',
  url: '/open/numbers/requirements',
  summary: 'What the regulator of a country asks of who takes a number',
  query: Type.Object({
    country: Country,
    did_type: Type.Optional(Type.String({ maxLength: 20, description: 'Id or name of a type' })),
  }),
  status: 200,
  reply: Ok({ data: Type.Object({ requirements: Type.Array(Requirement) }) }),
  errors: { invalid: 'country is missing, or not one that has numbers' },
})

export const listGroups = contract({
  ...read,
  id: 'listNumberGroups',
  url: '/open/numbers/groups',
  summary: 'Groups of numbers by country, region, city, prefix and type',
  query: Type.Object({
    country: Country,
    region_id: Type.Optional(Integer('Id of a region; the US wants this, a city or a prefix')),
    city_id: Type.Optional(Integer('Id of a city')),
    city_name_or_prefix: Type.Optional(
      Type.String({ maxLength: 100, description: 'With or without accents; prefix with or without country code' }),
    ),
    did_type: Type.Optional(Enum([...groupTypes, 'all'])),
    ...paging,
  }),
  headers,
  status: 200,
  reply: Ok({
    ...listed,
    data: Type.Object({
      groups: Type.Array(Group),
    }),
  }),
  errors: { invalid: 'country is missing or unknown; or it is the US, and neither region, city nor prefix is given' },
})

export const listAvailable = contract({
  ...read,
  id: 'listAvailableNumbers',
  url: '/open/numbers/available',
  summary: 'Free numbers of a group that lets one choose',
  waits: true,
  query: Type.Object({
    group_id: GroupId,
    number_contains: Type.Optional(
      Type.String({ maxLength: 30, description: 'Digits, or letters as on a keypad', examples: ['TAXI'] }),
    ),
    cursor: Type.Optional(
      Type.String({ maxLength: 20, description: 'next_cursor of the page before; goes instead of a page' }),
    ),
    ...paging,
  }),
  headers,
  status: 200,
  reply: Ok({
    count: Type.Integer({ description: 'Rows in this page' }),
    page: Type.Integer(),
    total: Type.Integer({
      description: 'All matches. A search by digits looks through 20,000 free numbers at a time, and counts in these',
    }),
    data: Type.Object({ numbers: Type.Array(Type.Object({ id: Type.String(), number: Type.String() })) }),
    next_cursor: Type.Optional(
      Type.String({ description: 'There is more: costs the same however deep, and goes on behind the 20,000' }),
    ),
  }),
  errors: { invalid: 'The group does not let one choose, or number_contains holds no digits', notFound: unknownGroup },
})

export const reserveNumber = contract({
  ...change,
  id: 'reserveNumber',
  method: 'POST',
  url: '/open/numbers/reservations',
  summary: 'Hold a number for a while: the one named, or any free one of the group',
  body: Type.Object({ group_id: GroupId, number: Type.Optional(Phone('A free number of the group')) }),
  status: 201,
  reply: Ok({
    data: Type.Object({
      reservation_details: Type.Object({
        uuid: Type.String(),
        number: Type.String(),
        created_at: Time,
        expires_at: Time,
      }),
    }),
  }),
  errors: {
    notFound: unknownGroup,
    conflict:
      'The number, or any of the group, is not free; or none of the group can be held (not_reservable), or its supplier holds no more (holds_used_up)',
    unprocessable: 'number is not E.164',
  },
})

export const listReservations = contract({
  ...read,
  id: 'listReservations',
  url: '/open/numbers/reservations',
  summary: 'Active reservations of the account',
  status: 200,
  reply: Ok({
    data: Type.Object({
      reservations: Type.Array(Reservation),
    }),
  }),
  errors: {},
})

export const cancelReservation = contract({
  ...change,
  id: 'cancelReservation',
  method: 'DELETE',
  url: '/open/numbers/reservations/:reservation_uuid',
  summary: 'Give a reserved number back',
  params: Type.Object({ reservation_uuid: Type.String({ maxLength: 64 }) }),
  status: 200,
  reply: Ok({ message: Type.String() }),
  errors: { notFound: 'No such reservation of the account', conflict: 'It has expired, or was purchased or cancelled' },
})

export const purchaseNumber = contract({
  ...audited,
  id: 'purchaseNumber',
  method: 'POST',
  url: '/open/numbers/purchase',
  summary:
    'Buy a number: set-up and first month are charged in the same transaction. Where its regulator asks for something, it awaits registration and works fully, until the operator approves what was given, or the days for giving it are over',
  body: Type.Object({
    group_id: Type.Optional(GroupId),
    number: Type.Optional(Phone('A number that is free or reserved by the account')),
    friendly_name: Type.Optional(Words(100, 'Default: the number as people write it')),
    requirements: Type.Optional(Given),
  }),
  status: 201,
  reply: Ok({
    purchased: Type.Array(Type.String()),
    failed: Type.Array(Type.String()),
    data: Type.Object({ numbers: Type.Array(VirtualNumber) }),
  }),
  errors: {
    notFound: 'There is no such number group, or no such document of the account',
    conflict:
      'Nothing of what was asked for is free; or its supplier refuses (not_delivered), or has not delivered yet (order_pending: the number comes, repeat the request with its Idempotency-Key)',
    balance: 'The balance does not cover set-up and first month',
    unavailable: 'The supplier does not answer, or is asked by too many (supplier_busy): nothing was charged',
    unprocessable: 'number is not E.164',
  },
})

const unknownNumber = 'No such virtual number of the account'
const numberParams = Type.Object({ virtual_number_uuid: Id('DID') })

export const listVirtualNumbers = contract({
  ...read,
  id: 'listVirtualNumbers',
  url: '/open/voip/virtual-numbers',
  summary: 'The numbers of the account',
  query: Type.Object({ ...paging }),
  status: 200,
  reply: Ok({
    count: Type.Integer({ description: 'Rows in this page' }),
    page: Type.Integer(),
    total: Type.Integer(),
    numbers: Type.Array(VirtualNumber),
  }),
  errors: {},
})

export const getVirtualNumber = contract({
  ...read,
  id: 'getVirtualNumber',
  url: '/open/voip/virtual-numbers/:virtual_number_uuid',
  summary: 'One number of the account',
  params: numberParams,
  status: 200,
  reply: Ok({ number: VirtualNumber }),
  errors: { notFound: unknownNumber },
})

export const changeVirtualNumber = contract({
  ...audited,
  id: 'changeVirtualNumber',
  method: 'PUT',
  url: '/open/voip/virtual-numbers/:virtual_number_uuid',
  summary: 'Change a number: its name, recording, time zone, and whose browser rings',
  params: numberParams,
  body: Type.Object({
    friendly_name: Type.Optional(Words(100)),
    record_inbound: Type.Optional(Type.Boolean()),
    timezone: Type.Optional(Type.String({ maxLength: 64, description: 'IANA name' })),
    inbound_user_uuid: Type.Optional(Type.Union([Id('USR'), Type.Null()], { description: 'null: nobody’s' })),
  }),
  status: 200,
  reply: Ok({ number: VirtualNumber }),
  errors: { notFound: 'No such virtual number, or no such active user, of the account' },
})

export const deleteVirtualNumber = contract({
  ...audited,
  shape: 'brief',
  id: 'deleteVirtualNumber',
  method: 'DELETE',
  url: '/open/voip/virtual-numbers/:virtual_number_uuid',
  summary: 'Release a number at once, without refund',
  params: numberParams,
  status: 200,
  reply: Ok({}),
  errors: { notFound: unknownNumber },
})
