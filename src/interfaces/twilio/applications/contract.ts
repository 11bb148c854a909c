import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Named } from '../../../platform/http/schema.ts'
import {
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

const group = { ...compatGroup('Twilio: applications'), needs: 'develop' } as const
const change = { ...group, audited: true } as const

const text = Type.String()

const Application = Named(
  'TwilioApplication',
  Type.Object({
    sid: Type.String({ examples: ['AP01a1fcca93ab7cbc9f10be702f775479'] }),
    account_sid: text,
    friendly_name: text,
    api_version: Type.Literal('2010-04-01'),
    voice_url: text,
    voice_method: text,
    voice_fallback_url: Nullable(text),
    voice_fallback_method: text,
    voice_caller_id_lookup: Type.Boolean(),
    status_callback: Nullable(text),
    status_callback_method: text,
    sms_url: Type.Null(),
    sms_method: text,
    sms_fallback_url: Type.Null(),
    sms_fallback_method: text,
    sms_status_callback: Type.Null(),
    message_status_callback: Type.Null(),
    public_application_connect_enabled: Type.Boolean(),
    date_created: Rfc2822,
    date_updated: Rfc2822,
    uri: text,
  }),
)

const settings = {
  FriendlyName: Type.Optional(Type.String({ maxLength: 100 })),
  VoiceUrl: Type.Optional(Url('Answers calls with TwiML')),
  VoiceMethod: Type.Optional(Method),
  VoiceFallbackUrl: Type.Optional(Url('Is requested if VoiceUrl fails; empty: none')),
  VoiceFallbackMethod: Type.Optional(Method),
  StatusCallback: Type.Optional(Url('Gets the end of each call; empty: none')),
  StatusCallbackMethod: Type.Optional(Method),
}

/** Parameters that would change the meaning and are not offered: applications are programs of calls. */
const refuses = ['SmsUrl', 'SmsFallbackUrl', 'SmsStatusCallback', 'MessageStatusCallback']

const params = sidParams('AP', 'AP and the 32 digits of the application’s uuid')
const unknown = 'No such application of the account'

export const createApplication = contract({
  ...change,
  id: 'twilioCreateApplication',
  method: 'POST',
  url: `${accountPath}/Applications`,
  summary: 'Store a program of calls under a name',
  description:
    'Its requests have the shape of Twilio. A number runs it by VoiceApplicationSid, a call by ApplicationSid.',
  form: true,
  refuses,
  params: accountParams,
  body: Type.Object(settings, { examples: [{ FriendlyName: 'Menu', VoiceUrl: 'https://example.com/voice' }] }),
  status: 201,
  reply: Application,
  codes: { conflict: ['too_many_applications'] },
  errors: {
    invalid: 'VoiceUrl is missing (21205), an address is refused, or a parameter is not supported',
    conflict: 'The account has too many applications',
  },
})

export const listApplications = contract({
  ...group,
  id: 'twilioListApplications',
  method: 'GET',
  url: `${accountPath}/Applications`,
  summary: 'The applications of the account, newest first',
  description: 'Applications of the native interface are listed, too.',
  params: accountParams,
  query: Type.Object({
    FriendlyName: Type.Optional(Type.String({ maxLength: 100, description: 'The whole name' })),
    ...pageQuery,
  }),
  status: 200,
  reply: Type.Object({ ...pageReply, applications: Type.Array(Application) }),
  errors: {},
})

export const fetchApplication = contract({
  ...group,
  id: 'twilioFetchApplication',
  method: 'GET',
  url: `${accountPath}/Applications/:Sid`,
  summary: 'One application',
  description: 'The SID has the digits of its uuid in the native interface.',
  params,
  status: 200,
  reply: Application,
  errors: { notFound: unknown },
})

export const updateApplication = contract({
  ...change,
  id: 'twilioUpdateApplication',
  method: 'POST',
  url: `${accountPath}/Applications/:Sid`,
  summary: 'Change an application',
  description: 'Absent parameters stay unchanged. Calls in progress keep the program that they began with.',
  form: true,
  refuses,
  params,
  body: Type.Object(settings, { examples: [{ VoiceUrl: 'https://example.com/voice' }] }),
  status: 200,
  reply: Application,
  codes: { forbidden: ['program_not_allowed'] },
  errors: {
    notFound: unknown,
    invalid: 'An address is refused (21205), or a parameter is not supported',
    forbidden: 'Another VoiceUrl or VoiceFallbackUrl needs inbox and inbox.all, too (20403)',
  },
})

export const deleteApplication = contract({
  ...change,
  id: 'twilioDeleteApplication',
  method: 'DELETE',
  url: `${accountPath}/Applications/:Sid`,
  summary: 'Delete an application',
  description: 'One that a number runs cannot be deleted.',
  params,
  status: 204,
  reply: Nothing,
  codes: { conflict: ['application_in_use'] },
  errors: { notFound: unknown, conflict: 'A number runs it (20409)' },
})
