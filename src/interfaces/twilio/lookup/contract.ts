import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Country, Named } from '../../../platform/http/schema.ts'
import { compatGroup, Nullable } from '../compat-schemas.ts'

const read = { ...compatGroup('Twilio: look-up'), needs: 'read_only', method: 'GET', status: 200 } as const
const params = Type.Object({
  PhoneNumber: Type.String({ maxLength: 100, description: 'E.164, or national with CountryCode' }),
})
const text = Nullable(Type.String())

export const lookUpV1 = contract({
  ...read,
  id: 'twilioLookUpV1',
  url: '/v1/PhoneNumbers/:PhoneNumber',
  summary: 'Country and form of a number',
  description: 'By the numbering plans alone: no network is asked, and nothing is charged. The carrier is always null.',
  params,
  query: Type.Object({
    CountryCode: Type.Optional(Country),
    Type: Type.Optional(Type.Unsafe<string>({ description: 'carrier or caller-name; once or more' })),
    AddOns: Type.Optional(Type.Unsafe<string>({ description: 'Has no effect' })),
  }),
  reply: Named(
    'TwilioLookupV1',
    Type.Object({
      phone_number: Type.String(),
      national_format: Type.String(),
      country_code: text,
      carrier: Type.Union([
        Type.Null(),
        Type.Object({
          name: text,
          type: text,
          mobile_country_code: text,
          mobile_network_code: text,
          error_code: Nullable(Type.Integer()),
        }),
      ]),
      caller_name: Type.Null(),
      add_ons: Type.Null(),
      url: Type.String(),
    }),
  ),
  errors: { notFound: 'It is no possible number (20404)' },
})

export const lookUpV2 = contract({
  ...read,
  id: 'twilioLookUpV2',
  url: '/v2/PhoneNumbers/:PhoneNumber',
  summary: 'Whether a number is valid',
  description: 'By the numbering plans alone: no network is asked, and nothing is charged. Paid fields are null.',
  params,
  query: Type.Object({
    CountryCode: Type.Optional(Country),
    Fields: Type.Optional(
      Type.String({ maxLength: 300, description: 'validation and line_type_intelligence; others are null' }),
    ),
  }),
  reply: Named(
    'TwilioLookupV2',
    Type.Object({
      calling_country_code: text,
      country_code: text,
      phone_number: Type.String(),
      national_format: text,
      valid: Type.Boolean(),
      validation_errors: Type.Array(Type.String()),
      line_type_intelligence: Type.Union([
        Type.Null(),
        Type.Object({
          type: text,
          carrier_name: text,
          mobile_country_code: text,
          mobile_network_code: text,
          error_code: Nullable(Type.Integer()),
        }),
      ]),
      caller_name: Type.Null(),
      sim_swap: Type.Null(),
      call_forwarding: Type.Null(),
      line_status: Type.Null(),
      identity_match: Type.Null(),
      reassigned_number: Type.Null(),
      sms_pumping_risk: Type.Null(),
      url: Type.String(),
    }),
  ),
  errors: {},
})
