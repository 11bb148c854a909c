import { Type } from 'typebox'
import { contract } from '../../platform/http/endpoint.ts'
import {
  Country,
  Enum,
  FreeText,
  Id,
  Named,
  Ok,
  Phone,
  pageFields,
  pageNumberQuery,
  pagingQuery,
  Success,
  Time,
} from '../../platform/http/schema.ts'
import { groupTypes } from './catalogue/catalogue-rows.ts'
import {
  Group,
  GroupId,
  GroupType,
  missingSupplier,
  NearbyCity,
  Requirement,
  Reservation,
  SubmittedAnswers,
  VirtualNumber,
  VoiceSetting,
} from './number-schemas.ts'

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
  client: 'numbers.countries',
  url: '/open/numbers/countries',
  summary: 'Countries that have numbers, with the types on offer',
  description: 'The list shows only countries whose numbers can be bought here.',
  status: 200,
  reply: Ok({
    data: Type.Object({
      countries: Type.Array(
        Named(
          'NumberCountry',
          Type.Object({
            iso_country_code: Country,
            name: Type.String(),
            prefix: Type.String({ description: 'Calling code', examples: ['44'] }),
            did_types: Type.Array(GroupType),
          }),
        ),
      ),
    }),
  }),
  errors: {},
})

export const listRegions = contract({
  ...read,
  id: 'listNumberRegions',
  client: 'numbers.regions',
  url: '/open/numbers/regions',
  summary: 'Regions of a country: US, CA and GB have some',
  description: 'Use the id of a region to filter cities and groups.',
  query: Type.Object({ country: Country }),
  status: 200,
  reply: Ok({
    data: Type.Object({
      regions: Type.Array(
        Named(
          'NumberRegion',
          Type.Object({ id: Type.Integer(), region_name: Type.String(), iso_country_code: Country }),
        ),
      ),
    }),
  }),
  codes: { invalid: ['unknown_country'] },
  errors: { invalid: 'country is missing, or not one that has numbers' },
})

export const listCities = contract({
  ...read,
  id: 'listNumberCities',
  client: 'numbers.cities',
  url: '/open/numbers/cities',
  summary: 'Cities of a country, or of one of its regions, that have numbers',
  description: 'Cities are found by the beginning of any word of their name, with or without accents.',
  query: Type.Object({ country: Country, region: Type.Optional(Integer('Id of a region')) }),
  status: 200,
  reply: Ok({
    data: Type.Object({
      cities: Type.Array(
        Named('NumberCity', Type.Object({ id: Type.Integer(), city_name: Type.String(), iso_country_code: Country })),
      ),
    }),
  }),
  codes: { invalid: ['unknown_country'] },
  errors: { invalid: 'country is missing, or not one that has numbers' },
})

export const listTypes = contract({
  ...read,
  id: 'listNumberTypes',
  client: 'numbers.types',
  url: '/open/numbers/did-types',
  summary: 'Types of numbers',
  description: 'Use the name of a type to filter groups and requirements.',
  status: 200,
  reply: Ok({
    data: Named(
      'NumberType',
      Type.Object({ did_types: Type.Array(Type.Object({ id: Type.Integer(), name: GroupType })) }),
    ),
  }),
  errors: {},
})

export const listRequirements = contract({
  ...read,
  id: 'listNumberRequirements',
  client: 'numbers.requirements',
  url: '/open/numbers/requirements',
  summary: 'Requirements of the country’s regulator for owners of a number',
  description: 'Each requirement states the kind of answer and the documents that the regulator accepts.',
  query: Type.Object({
    country: Country,
    did_type: Type.Optional(Type.String({ maxLength: 20, description: 'Id or name of a type' })),
  }),
  status: 200,
  reply: Ok({ data: Type.Object({ requirements: Type.Array(Requirement) }) }),
  codes: { invalid: ['unknown_country'] },
  errors: { invalid: 'country is missing, or not one that has numbers' },
})

export const listGroups = contract({
  ...read,
  id: 'listNumberGroups',
  client: 'numbers.groups',
  url: '/open/numbers/groups',
  summary: 'Groups of numbers by country, region, city, prefix and type',
  description:
    'A group has one price, one set of features and one set of requirements. Use its id to reserve or buy a number.',
  query: Type.Object({
    country: Country,
    region_id: Type.Optional(
      Integer(
        'Id of a region; the US requires this, a city or a prefix. Toll-free numbers are of every region of their country',
      ),
    ),
    city_id: Type.Optional(Integer('Id of a city')),
    city_name_or_prefix: Type.Optional(
      Type.String({ maxLength: 100, description: 'With or without accents; prefix with or without country code' }),
    ),
    did_type: Type.Optional(Enum([...groupTypes, 'all'])),
    group_id: Type.Optional(Type.String({ ...GroupId, description: 'One group; replaces the region of the US' })),
    ...pageNumberQuery,
  }),
  headers,
  status: 200,
  reply: Ok({
    count: pageFields.count,
    page: pageFields.page,
    total: Type.Integer({ description: 'All matches' }),
    data: Type.Object({
      groups: Type.Array(Group),
      nearby: Type.Optional(
        Type.Array(NearbyCity, {
          description:
            'Present if a city or region was named and none of its groups has a free number: at most ten cities ' +
            'of the country that have some, those of the same region first',
        }),
      ),
    }),
  }),
  codes: { invalid: ['unknown_country', 'region_required'] },
  errors: {
    invalid:
      'country is missing or unknown; or it is the US, and neither region, city, prefix, group_id nor the type tollfree is given',
    notFound: unknownGroup,
  },
})

export const listAvailable = contract({
  ...read,
  id: 'listAvailableNumbers',
  client: 'numbers.available',
  url: '/open/numbers/available',
  summary: 'Free numbers of a group that supports number selection',
  description:
    'Filter by digits or by the letters of a keypad. A page may be short without being the last: follow next_cursor.',
  waits: true,
  query: Type.Object({
    group_id: GroupId,
    number_contains: Type.Optional(
      Type.String({ maxLength: 30, description: 'Digits, or letters as on a keypad', examples: ['TAXI'] }),
    ),
    contains: Type.Optional(
      Type.String({ maxLength: 30, description: 'The same as number_contains', examples: ['HELLO'] }),
    ),
    cursor: Type.Optional(
      Type.String({ maxLength: 20, description: 'next_cursor of the previous page; replaces page' }),
    ),
    ...pageNumberQuery,
  }),
  headers,
  status: 200,
  reply: Ok({
    count: Type.Integer({ description: 'Rows in this page' }),
    page: Type.Integer(),
    total: Type.Integer({
      description:
        'Number of matches. A search by digits examines 20,000 free numbers at a time; the total counts matches among these',
    }),
    data: Type.Object({
      numbers: Type.Array(Named('AvailableNumber', Type.Object({ id: Type.String(), number: Type.String() }))),
    }),
    next_cursor: Type.Optional(
      Type.String({
        description:
          'Present when there are more results. A page costs the same at any depth; a search continues beyond the 20,000',
      }),
    ),
  }),
  codes: { invalid: ['number_selection_not_allowed'], unavailable: ['supplier_unavailable', 'supplier_busy'] },
  errors: {
    invalid: 'The group does not support number selection, or number_contains holds no digits',
    notFound: unknownGroup,
  },
})

export const reserveNumber = contract({
  ...change,
  id: 'reserveNumber',
  client: 'reservations.create',
  method: 'POST',
  url: '/open/numbers/reservations',
  summary: 'Reserve a number for a limited time: the given one, or any free one of the group',
  description: 'A reservation costs nothing and holds the number until expires_at. Buy the number before that time.',
  body: Type.Object({ group_id: GroupId, number: Type.Optional(Phone('A free number of the group')) }),
  status: 201,
  reply: Ok({
    data: Type.Object({
      reservation_details: Named(
        'NewReservation',
        Type.Object({
          uuid: Type.String(),
          number: Type.String(),
          created_at: Time,
          expires_at: Time,
        }),
      ),
    }),
  }),
  codes: { conflict: ['number_unavailable', 'group_sold_out'], unavailable: ['supplier_unavailable', 'supplier_busy'] },
  errors: {
    notFound: unknownGroup,
    conflict:
      'The number, or every number of the group, is taken; or the group does not support reservations (not_reservable), or its supplier’s reservation limit is reached (holds_used_up)',
    unprocessable: 'number is not E.164',
  },
})

export const listReservations = contract({
  ...read,
  id: 'listReservations',
  csv: 'data.reservations',
  client: 'reservations.list',
  url: '/open/numbers/reservations',
  summary: 'Active reservations of the account',
  description: 'An expired reservation leaves the list at once.',
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
  client: 'reservations.cancel',
  method: 'DELETE',
  url: '/open/numbers/reservations/:reservation_uuid',
  summary: 'Cancel a reservation',
  description: 'The number is free for others again at once. Nothing is charged or refunded.',
  params: Type.Object({ reservation_uuid: Type.String({ maxLength: 64 }) }),
  status: 200,
  reply: Ok({ message: Type.String() }),
  codes: { conflict: ['reservation_expired', 'reservation_purchased', 'reservation_cancelled'] },
  errors: { notFound: 'No such reservation of the account', conflict: 'It has expired, or was purchased or cancelled' },
})

export const purchaseNumber = contract({
  ...audited,
  id: 'purchaseNumber',
  client: 'numbers.purchase',
  method: 'POST',
  url: '/open/numbers/purchase',
  summary:
    'Buy a number: set-up and first month are charged in the same transaction. If its regulator has requirements, the number works fully in state AWAITING_REGISTRATION until the operator approves the documents or the deadline passes',
  description:
    'Without group_id and number, all active reservations of the account are bought; unknown fields are then refused, so that a mistyped name buys nothing. An Idempotency-Key prevents a second purchase when the request is repeated. The event is number.purchased.',
  body: Type.Object(
    {
      group_id: Type.Optional(GroupId),
      number: Type.Optional(Phone('A number that is free or reserved by the account')),
      friendly_name: Type.Optional(FreeText(100, 'Default: the formatted number')),
      inbound_user_uuid: Type.Optional(
        Type.Union([Id('USR'), Type.Null()], { description: 'The user whose browser rings. Default: null, no user' }),
      ),
      requirements: Type.Optional(SubmittedAnswers),
    },
    { examples: [{ group_id: 'GB-local-20-london', friendly_name: 'Reception' }] },
  ),
  status: 201,
  reply: Ok({
    purchased: Type.Array(Type.String()),
    failed: Type.Array(Type.String()),
    data: Type.Object({ numbers: Type.Array(VirtualNumber) }),
  }),
  codes: {
    conflict: ['number_unavailable', 'group_sold_out', 'nothing_reserved'],
    unavailable: ['supplier_unavailable'],
  },
  errors: {
    notFound: 'There is no such number group, or no such document or active user of the account',
    conflict:
      'No matching number is free; or the supplier refuses the order (not_delivered) or has not delivered yet (order_pending: repeat the request with its Idempotency-Key)',
    balance: 'The balance does not cover set-up and first month, or the key may spend no more today (key_spend_limit)',
    unavailable: 'The supplier does not answer, or has too many pending requests (supplier_busy): nothing was charged',
    unprocessable: 'number is not E.164',
  },
})

const unknownNumber = 'No such virtual number of the account'
const numberParams = Type.Object({ virtual_number_uuid: Id('DID') })

export const listVirtualNumbers = contract({
  ...read,
  id: 'listVirtualNumbers',
  csv: 'numbers',
  client: 'numbers.list',
  url: '/open/voip/virtual-numbers',
  summary: 'The numbers of the account',
  description: 'Released numbers are not listed. Filter and page by the query parameters.',
  query: Type.Object({
    q: Type.Optional(
      FreeText(100, 'Digits of the number, or a part of its name; spaces and a leading + do not count in numbers'),
    ),
    status: Type.Optional(Enum(['ACTIVE', 'AWAITING_REGISTRATION', 'PENDING_ACTIVATION', 'SUSPENDED'])),
    country: Type.Optional(Country),
    ...pagingQuery,
  }),
  status: 200,
  reply: Ok({
    ...pageFields,
    numbers: Type.Array(VirtualNumber),
  }),
  codes: { invalid: ['unknown_country'] },
  errors: { invalid: 'country is unknown' },
  cli: 'numbers own',
})

export const getVirtualNumber = contract({
  ...read,
  id: 'getVirtualNumber',
  client: 'numbers.get',
  url: '/open/voip/virtual-numbers/:virtual_number_uuid',
  summary: 'One number of the account',
  description: 'The reply includes the state of the number, its renewal and its settings.',
  params: numberParams,
  status: 200,
  reply: Ok({ number: VirtualNumber }),
  errors: { notFound: unknownNumber },
})

export const changeVirtualNumber = contract({
  ...audited,
  id: 'changeVirtualNumber',
  client: 'numbers.update',
  method: 'PUT',
  url: '/open/voip/virtual-numbers/:virtual_number_uuid',
  summary: 'Change a number: its name, recording, time zone, and the user whose browser rings',
  description:
    'Absent fields stay unchanged. An inbound user receives the calls of the number in the voice client. With voice, calls run a program: the last one written of both counts, and in one request voice.',
  params: numberParams,
  body: Type.Object(
    {
      friendly_name: Type.Optional(FreeText(100)),
      record_inbound: Type.Optional(
        Type.Boolean({ description: 'Records the calls to the number, those that a program runs as a whole' }),
      ),
      timezone: Type.Optional(Type.String({ maxLength: 64, description: 'IANA name' })),
      inbound_user_uuid: Type.Optional(
        Type.Union([Id('USR'), Type.Null()], { description: 'The same as voice of the kind user; null: no user' }),
      ),
      voice: Type.Optional(VoiceSetting),
    },
    { examples: [{ friendly_name: 'Reception' }] },
  ),
  status: 200,
  reply: Ok({ number: VirtualNumber }),
  codes: { invalid: ['voice_field', 'url_refused'], forbidden: ['program_not_allowed'] },
  errors: {
    invalid: 'voice lacks a field of its kind (voice_field), or an address is refused (url_refused)',
    forbidden:
      'A program as voice needs inbox and inbox.all, too, and a key without spend_per_day (program_not_allowed)',
    notFound: 'No such virtual number, active user or application of the account',
  },
})

export const deleteVirtualNumber = contract({
  ...audited,
  shape: 'brief',
  id: 'deleteVirtualNumber',
  proof: true,
  client: 'numbers.release',
  method: 'DELETE',
  url: '/open/voip/virtual-numbers/:virtual_number_uuid',
  summary: 'Release a number at once, without refund',
  description: 'The number cannot be recovered and rests before it is sold again. The event is number.released.',
  params: numberParams,
  status: 200,
  reply: Success,
  errors: { notFound: unknownNumber },
})
