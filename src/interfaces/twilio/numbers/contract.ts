import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Country, Named } from '../../../platform/http/schema.ts'
import {
  AccountSid,
  accountParams,
  accountPath,
  compatGroup,
  Method,
  Nothing,
  Nullable,
  Rfc2822,
  sidParams,
  Url,
} from '../compat-schemas.ts'
import { pageQuery, pageReply } from '../list-pages.ts'

const group = compatGroup('Twilio: numbers')
const read = { ...group, needs: 'read_only' } as const
const change = { ...group, needs: 'numbers', audited: true } as const

const Capabilities = Type.Object({
  voice: Type.Boolean(),
  sms: Type.Boolean(),
  mms: Type.Boolean(),
  fax: Type.Boolean(),
})

const text = Type.String()

const IncomingNumber = Named(
  'TwilioIncomingPhoneNumber',
  Type.Object({
    sid: Type.String({ examples: ['PN01a1fcca93ab7cbc9f10be702f775479'] }),
    account_sid: text,
    phone_number: text,
    friendly_name: text,
    api_version: Type.Literal('2010-04-01'),
    capabilities: Capabilities,
    sms_url: text,
    sms_method: text,
    sms_fallback_url: text,
    sms_fallback_method: text,
    sms_application_sid: text,
    voice_url: Nullable(text),
    voice_method: text,
    voice_fallback_url: Nullable(text),
    voice_fallback_method: text,
    voice_application_sid: text,
    voice_caller_id_lookup: Type.Boolean(),
    voice_receive_mode: text,
    status_callback: text,
    status_callback_method: text,
    trunk_sid: Type.Null(),
    address_requirements: text,
    address_sid: Type.Null(),
    bundle_sid: Type.Null(),
    identity_sid: Type.Null(),
    emergency_status: text,
    emergency_address_sid: Type.Null(),
    emergency_address_status: text,
    beta: Type.Boolean(),
    origin: text,
    status: text,
    type: text,
    subresource_uris: Type.Object({ assigned_add_ons: text }),
    date_created: Rfc2822,
    date_updated: Rfc2822,
    uri: text,
  }),
)

/** Addresses that a number takes. */
const settings = {
  FriendlyName: Type.Optional(Type.String({ maxLength: 100 })),
  SmsUrl: Type.Optional(Url('Gets each inbound message, and answers with TwiML; empty: none')),
  SmsMethod: Type.Optional(Method),
  SmsFallbackUrl: Type.Optional(Url('Gets the message if SmsUrl fails')),
  SmsFallbackMethod: Type.Optional(Method),
  SmsApplicationSid: Type.Optional(Type.String({ maxLength: 100, description: 'Empty' })),
  VoiceUrl: Type.Optional(Url('Answers calls with TwiML, in place of the user of the number; empty: none')),
  VoiceMethod: Type.Optional(Method),
  VoiceFallbackUrl: Type.Optional(Url('Is requested if VoiceUrl fails')),
  VoiceFallbackMethod: Type.Optional(Method),
  VoiceApplicationSid: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'An application of the account, in place of VoiceUrl; empty: none',
      examples: ['AP01a1fcca93ab7cbc9f10be702f775479'],
    }),
  ),
  StatusCallback: Type.Optional(Url('Gets the end of each call; with VoiceUrl')),
  StatusCallbackMethod: Type.Optional(Method),
}

const refuses = ['SmsApplicationSid', 'TrunkSid', 'BundleSid', 'AddressSid', 'IdentitySid', 'EmergencyAddressSid']

const numberParams = sidParams('PN', 'PN and the 32 digits of the number’s uuid')
const unknownNumber = 'No such number of the account'

export const listIncoming = contract({
  ...read,
  id: 'twilioListIncomingPhoneNumbers',
  method: 'GET',
  url: `${accountPath}/IncomingPhoneNumbers`,
  summary: 'The numbers of the account',
  description: 'Released numbers are not listed.',
  params: accountParams,
  query: Type.Object({
    PhoneNumber: Type.Optional(Type.String({ maxLength: 100, description: 'Digits of the number' })),
    FriendlyName: Type.Optional(Type.String({ maxLength: 100, description: 'A part of the name' })),
    ...pageQuery,
  }),
  status: 200,
  reply: Type.Object({ ...pageReply, incoming_phone_numbers: Type.Array(IncomingNumber) }),
  errors: {},
})

export const createIncoming = contract({
  ...change,
  id: 'twilioCreateIncomingPhoneNumber',
  method: 'POST',
  url: `${accountPath}/IncomingPhoneNumbers`,
  summary: 'Buy a number',
  description:
    'Set-up and first month are charged. If its regulator has requirements, the number works fully once they are met, in the ' +
    'console or by the native interface. An Idempotency-Key prevents a second purchase.',
  form: true,
  refuses,
  waits: true,
  params: accountParams,
  body: Type.Object(
    {
      PhoneNumber: Type.Optional(Type.String({ maxLength: 100, examples: ['+442079460123'] })),
      AreaCode: Type.Optional(Type.String({ maxLength: 10, description: 'Any free number of this US area code' })),
      ...settings,
    },
    { examples: [{ PhoneNumber: '+442079460123' }] },
  ),
  status: 201,
  reply: IncomingNumber,
  codes: {
    conflict: ['number_unavailable', 'group_sold_out'],
    unavailable: ['supplier_unavailable', 'supplier_busy'],
    forbidden: ['program_not_allowed'],
  },
  errors: {
    invalid:
      'A parameter is missing, false or not supported, PhoneNumber is not E.164 (21421), or no number of the area code is free (21452)',
    conflict: 'The number is taken (21422), or its group has none (21452)',
    balance: 'The balance does not cover set-up and first month, or the key may spend no more today (20005)',
    forbidden:
      'The key lacks the scope numbers; or SmsUrl or a program of calls is set by a key without inbox and inbox.all, or with spend_per_day (20403)',
    notFound: 'There is no such number on offer, or no such application of the account (20404)',
    unavailable: 'The supplier does not answer (20503): nothing was charged',
  },
})

export const fetchIncoming = contract({
  ...read,
  id: 'twilioFetchIncomingPhoneNumber',
  method: 'GET',
  url: `${accountPath}/IncomingPhoneNumbers/:Sid`,
  summary: 'One number of the account',
  description: 'The SID has the digits of its uuid in the native interface.',
  params: numberParams,
  status: 200,
  reply: IncomingNumber,
  errors: { notFound: unknownNumber },
})

export const updateIncoming = contract({
  ...change,
  id: 'twilioUpdateIncomingPhoneNumber',
  method: 'POST',
  url: `${accountPath}/IncomingPhoneNumbers/:Sid`,
  summary: 'Change the name or the addresses of a number',
  description: 'Absent parameters stay unchanged, and empty addresses are removed.',
  form: true,
  refuses: [...refuses, 'AccountSid'],
  params: numberParams,
  body: Type.Object(settings, { examples: [{ SmsUrl: 'https://example.com/sms' }] }),
  status: 200,
  reply: IncomingNumber,
  codes: { forbidden: ['contents_not_visible', 'program_not_allowed'] },
  errors: {
    notFound: `${unknownNumber}, or no such application`,
    invalid: 'An address is refused (21402), StatusCallback has no VoiceUrl, or a parameter is not supported',
    forbidden:
      'The key lacks the scope numbers; or SmsUrl or a program of calls is set by a key without inbox and inbox.all, or with spend_per_day (20403)',
  },
})

export const deleteIncoming = contract({
  ...change,
  id: 'twilioDeleteIncomingPhoneNumber',
  method: 'DELETE',
  url: `${accountPath}/IncomingPhoneNumbers/:Sid`,
  summary: 'Release a number at once, without refund',
  description: 'The number cannot be recovered.',
  params: numberParams,
  status: 204,
  reply: Nothing,
  errors: { notFound: unknownNumber },
})

const AvailableNumber = Named(
  'TwilioAvailablePhoneNumber',
  Type.Object({
    phone_number: text,
    friendly_name: text,
    iso_country: text,
    region: Nullable(text),
    locality: Nullable(text),
    rate_center: Type.Null(),
    lata: Type.Null(),
    latitude: Type.Null(),
    longitude: Type.Null(),
    postal_code: Type.Null(),
    address_requirements: text,
    beta: Type.Boolean(),
    capabilities: Capabilities,
  }),
)

const countryParams = Type.Object({ AccountSid, CountryCode: Country })

const typeUris = Type.Object({
  local: Type.Optional(text),
  mobile: Type.Optional(text),
  toll_free: Type.Optional(text),
  national: Type.Optional(text),
})

const AvailableCountry = Named(
  'TwilioAvailableCountry',
  Type.Object({ country: text, country_code: text, beta: Type.Boolean(), uri: text, subresource_uris: typeUris }),
)

export const listAvailableCountries = contract({
  ...read,
  id: 'twilioListAvailablePhoneNumberCountries',
  method: 'GET',
  url: `${accountPath}/AvailablePhoneNumbers`,
  summary: 'Countries of which numbers are on offer',
  description: 'All countries are on one page.',
  params: accountParams,
  query: Type.Object(pageQuery),
  status: 200,
  reply: Type.Object({ ...pageReply, countries: Type.Array(AvailableCountry) }),
  errors: {},
})

export const fetchAvailableCountry = contract({
  ...read,
  id: 'twilioFetchAvailablePhoneNumberCountry',
  method: 'GET',
  url: `${accountPath}/AvailablePhoneNumbers/:CountryCode`,
  summary: 'Types of numbers of a country',
  description: 'Follow subresource_uris to search.',
  params: countryParams,
  status: 200,
  reply: AvailableCountry,
  errors: { notFound: 'There are no numbers of the country' },
})

const search = {
  ...read,
  method: 'GET',
  waits: true,
  params: countryParams,
  query: Type.Object({
    AreaCode: Type.Optional(Type.Integer({ minimum: 0, maximum: 99_999, description: 'Leading digits of the number' })),
    Contains: Type.Optional(
      Type.String({ maxLength: 30, description: 'Digits, or letters as on a keypad; * for any' }),
    ),
    InLocality: Type.Optional(Type.String({ maxLength: 100, description: 'Beginning of the name of a place' })),
    InRegion: Type.Optional(Type.String({ maxLength: 100, description: 'Has no effect: use InLocality or AreaCode' })),
    SmsEnabled: Type.Optional(Type.Boolean()),
    VoiceEnabled: Type.Optional(Type.Boolean()),
    MmsEnabled: Type.Optional(Type.Boolean({ description: 'true finds nothing' })),
    ...pageQuery,
  }),
  status: 200,
  reply: Type.Object({ ...pageReply, available_phone_numbers: Type.Array(AvailableNumber) }),
  codes: { unavailable: ['supplier_unavailable', 'supplier_busy'] },
  errors: {
    notFound: 'The country is unknown',
    unavailable: 'The supplier does not answer, or has too many pending requests (20503)',
  },
} as const

export const searchLocal = contract({
  ...search,
  id: 'twilioSearchLocalNumbers',
  url: `${accountPath}/AvailablePhoneNumbers/:CountryCode/Local`,
  summary: 'Free local numbers',
  description: 'One page: ask for as many as you need by PageSize.',
})

export const searchMobile = contract({
  ...search,
  id: 'twilioSearchMobileNumbers',
  url: `${accountPath}/AvailablePhoneNumbers/:CountryCode/Mobile`,
  summary: 'Free mobile numbers',
  description: 'One page: ask for as many as you need by PageSize.',
})

export const searchTollFree = contract({
  ...search,
  id: 'twilioSearchTollFreeNumbers',
  url: `${accountPath}/AvailablePhoneNumbers/:CountryCode/TollFree`,
  summary: 'Free toll-free numbers',
  description: 'One page: ask for as many as you need by PageSize.',
})

export const searchNational = contract({
  ...search,
  id: 'twilioSearchNationalNumbers',
  url: `${accountPath}/AvailablePhoneNumbers/:CountryCode/National`,
  summary: 'Free national numbers',
  description: 'One page: ask for as many as you need by PageSize.',
})
