import { Type } from 'typebox'
import { Confidential } from '../../platform/http/confidential.ts'
import { Country, Decimal, Enum, FreeText, Id, Named, Time, WebAddress, WebMethod } from '../../platform/http/schema.ts'
import { groupTypes } from './catalogue/catalogue-rows.ts'

/** Response header: names of the suppliers, separated by commas, whose numbers may be missing. */
export const missingSupplier = 'trunkline-missing-supplier'

export const GroupId = Type.String({ minLength: 1, maxLength: 120, examples: ['GB-local-20-london'] })
export const GroupType = Enum([...groupTypes])

export const Requirement = Named(
  'NumberRequirement',
  Type.Object({
    id: Type.Integer(),
    did_type: GroupType,
    description: Type.String(),
    kind: Enum(['identity', 'address', 'proof']),
    documents: Type.Array(Type.String(), {
      description: 'Any one of them suffices, uploaded as a document; empty: answer in words with value',
      examples: [['Utility bill']],
    }),
    source: Type.String({ description: 'Regulation or page, with its address' }),
    source_date: Type.String({ description: 'When it was read or published', examples: ['2026-11-21'] }),
  }),
)

/** Answers to requirements, as purchase, pre-flight check and later submissions take them. */
export const SubmittedAnswers = Type.Array(
  Named(
    'RequirementAnswer',
    Type.Object({
      requirement_id: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
      document_uuid: Type.Optional(
        Id('DOC', 'For a requirement that lists documents: one that the account has uploaded'),
      ),
      value: Type.Optional(
        FreeText(500, 'For a requirement that lists none: the address, or the name and number, in words'),
      ),
    }),
  ),
  {
    maxItems: 50,
    description: 'For each requirement a document of the account, or words; see /open/numbers/requirements',
  },
)

const VoiceAddress = (description: string) => Confidential(WebAddress(description), 'path')

const kind = Enum(['none', 'user', 'application', 'url'], {
  description: 'user: rings user_uuid. application: runs application_uuid. url: runs the program at url',
})
const example = { examples: [{ kind: 'url', url: 'https://example.com/call' }] }

/** How a request lets calls to a number be handled. */
export const VoiceSetting = Type.Object(
  {
    kind,
    user_uuid: Type.Optional(Id('USR')),
    application_uuid: Type.Optional(Id('APP')),
    url: Type.Optional(VoiceAddress('Answers with the first document of a call')),
    method: Type.Optional(WebMethod),
    fallback_url: Type.Optional(
      Type.Union([VoiceAddress('Is requested once where url gives no document'), Type.Null()]),
    ),
    fallback_method: Type.Optional(WebMethod),
  },
  { description: 'How calls to the number are handled', ...example },
)

const NumberVoice = Named(
  'NumberVoice',
  Type.Object(
    {
      kind,
      user_uuid: Type.Optional(Id('USR')),
      application_uuid: Type.Optional(Id('APP')),
      url: Type.Optional(
        Confidential(Type.String({ description: 'Answers with the first document of a call' }), 'path'),
      ),
      method: Type.Optional(WebMethod),
      fallback_url: Type.Optional(
        Type.Union([Confidential(Type.String(), 'path'), Type.Null()], { description: 'Where url gives no document' }),
      ),
      fallback_method: Type.Optional(WebMethod),
    },
    { description: 'How calls to the number are handled', ...example },
  ),
)

export const VirtualNumber = Named(
  'VirtualNumber',
  Type.Object({
    uuid: Id('DID'),
    account_uuid: Id('ACC'),
    phone_number: Type.String({ examples: ['+442079460958'] }),
    formatted_phone_number: Type.String({ examples: ['+44 20 7946 0958'] }),
    iso_country_code: Country,
    region_name: Type.String({ examples: ['London'] }),
    emoji: Type.Union([Type.String(), Type.Null()], { description: 'The flag', examples: ['🇬🇧'] }),
    friendly_name: Type.String(),
    record_inbound: Type.Boolean(),
    is_toll_free: Type.Boolean(),
    provider_type: Enum(['local', 'mobile', 'national', 'tollfree', 'global', 'shared-cost']),
    priced_per_minute: Type.Boolean(),
    incoming_price_per_minute: Type.Number({ description: 'USD' }),
    monthly_price: Type.String({ description: 'USD charged at expires_at for the next month', examples: ['1.50'] }),
    ivr_uuid: Type.Null(),
    inbound_user_uuid: Type.Union([Id('USR'), Type.Null()], { description: 'The user whose browser rings' }),
    voice: NumberVoice,
    timezone: Type.String({ examples: ['Europe/London'] }),
    status: Type.Integer({
      description: '1 active, 2 awaiting registration or activation, 3 suspended, 4 ending or released',
    }),
    status_text: Enum([
      'ACTIVE',
      'AWAITING_REGISTRATION',
      'PENDING_ACTIVATION',
      'SUSPENDED',
      'PENDING_CANCELLATION',
      'RELEASED',
    ]),
    created_at: Time,
    updated_at: Time,
    expires_at: Time,
  }),
)

export const Group = Named(
  'NumberGroup',
  Type.Object({
    id: GroupId,
    prefix: Type.String({ examples: ['20'] }),
    location: Type.String({ examples: ['London'] }),
    price: Named('NumberGroupPrice', Type.Object({ setup_price: Decimal, monthly_price: Decimal, ppm: Decimal })),
    total_now: Type.String({
      description: 'USD charged by the purchase: set-up and first month. Then monthly_price each month',
      examples: ['3.00'],
    }),
    type: GroupType,
    iso_country_code: Country,
    requirements: Type.Array(Requirement),
    allow_number_selection: Type.Boolean(),
    is_eligible_for_free_number: Type.Boolean(),
    available_count: Type.Integer(),
    features: Type.Array(Enum(['voice', 'sms_in', 'sms_out', 'msgapp', 'msgapp_business'])),
  }),
)

export const NearbyCity = Named(
  'NearbyCity',
  Type.Object({
    id: Type.Integer({ description: 'For the filter city_id' }),
    city_name: Type.String({ examples: ['Manchester'] }),
    iso_country_code: Country,
    region_id: Type.Union([Type.Integer(), Type.Null()]),
    same_region: Type.Boolean({ description: 'It is in the region that was searched' }),
    available_count: Type.Integer({ description: 'Free numbers of its groups' }),
  }),
)

export const Reservation = Named(
  'Reservation',
  Type.Object({
    uuid: Type.String(),
    number: Type.String(),
    did_group_id: GroupId,
    did_type: GroupType,
    iso_country_code: Country,
    location: Type.String(),
    setup_price: Type.Number(),
    monthly_price: Type.Number(),
    ppm: Type.Number(),
    total_now: Type.String({ description: 'USD charged by the purchase: set-up and first month', examples: ['3.00'] }),
    reservation_date: Time,
    reservation_end_date: Time,
    created_at: Time,
    expires_at: Time,
    needs_registration: Type.Boolean(),
    supports_sms_in: Type.Boolean(),
    supports_sms_out: Type.Boolean(),
  }),
)
