import { Type } from 'typebox'
import { contract } from '../../../platform/http/endpoint.ts'
import { Enum, Named } from '../../../platform/http/schema.ts'
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
import { dayFilters } from '../day-filter.ts'
import { pageQuery, pageReply } from '../list-pages.ts'

const group = compatGroup('Twilio: recordings')
const read = { ...group, needs: 'read_only', orNeeds: 'inbox' } as const
const change = { ...group, needs: 'inbox', audited: true } as const

const text = Type.String()

const Recording = Named(
  'TwilioRecording',
  Type.Object({
    sid: Type.String({ examples: ['RE01a1fcca93ab7cbc9f10be702f775479'] }),
    account_sid: text,
    call_sid: text,
    conference_sid: Type.Null(),
    api_version: Type.Literal('2010-04-01'),
    status: Enum(['in-progress', 'paused', 'stopped', 'processing', 'completed', 'absent']),
    channels: Type.Integer(),
    track: Type.Literal('both'),
    source: Enum(['DialVerb', 'OutboundAPI', 'RecordVerb', 'StartCallRecordingAPI', 'StartCallRecordingTwiML']),
    duration: Nullable(Type.String({ description: 'Seconds; null until it is complete' })),
    start_time: Rfc2822,
    price: Type.Null(),
    price_unit: Type.Literal('USD'),
    error_code: Type.Null(),
    encryption_details: Type.Null(),
    media_url: Nullable(Type.String({ description: 'Of the WAV file. The link expires after eight days' })),
    date_created: Rfc2822,
    date_updated: Rfc2822,
    uri: text,
    subresource_uris: Type.Object({}),
  }),
)

const recordingParams = sidParams('RE', 'RE and the 32 digits of the recording’s uuid')
const unknownRecording = 'No such recording of the account'

const CallSid = Type.String({
  maxLength: 100,
  description: 'CA and the 32 digits of the call’s uuid',
  examples: ['CA01a1fcca93ab7cbc9f10be702f775479'],
})
const ofCallParams = Type.Object({ AccountSid, CallSid })

const page = { ...pageReply, recordings: Type.Array(Recording) }

export const listRecordings = contract({
  ...read,
  id: 'twilioListRecordings',
  method: 'GET',
  url: `${accountPath}/Recordings`,
  summary: 'The recordings of the account, newest first',
  description: 'Recordings in progress are not listed.',
  refuses: ['ConferenceSid'],
  params: accountParams,
  query: Type.Object({
    CallSid: Type.Optional(CallSid),
    ...dayFilters('DateCreated'),
    ...pageQuery,
  }),
  status: 200,
  reply: Type.Object(page),
  errors: {},
})

export const listCallRecordings = contract({
  ...read,
  id: 'twilioListCallRecordings',
  method: 'GET',
  url: `${accountPath}/Calls/:CallSid/Recordings`,
  summary: 'The recordings of a call, newest first',
  description: 'Recordings in progress are not listed.',
  params: ofCallParams,
  query: Type.Object(pageQuery),
  status: 200,
  reply: Type.Object(page),
  errors: { notFound: 'No such call of the account' },
})

export const fetchRecording = contract({
  ...read,
  id: 'twilioFetchRecording',
  method: 'GET',
  url: `${accountPath}/Recordings/:Sid`,
  summary: 'One recording',
  description: 'The path with .wav answers with the file.',
  params: recordingParams,
  status: 200,
  reply: Recording,
  errors: { notFound: unknownRecording },
})

export const fetchCallRecording = contract({
  ...read,
  id: 'twilioFetchCallRecording',
  method: 'GET',
  url: `${accountPath}/Calls/:CallSid/Recordings/:Sid`,
  summary: 'One recording of a call',
  description: 'The same as that of the account.',
  params: Type.Object({ ...recordingParams.properties, CallSid }),
  status: 200,
  reply: Recording,
  errors: { notFound: unknownRecording },
})

export const fetchRecordingFile = contract({
  ...read,
  id: 'twilioFetchRecordingFile',
  method: 'GET',
  url: `${accountPath}/Recordings/:Sid/Media`,
  summary: 'The file of a recording: a redirection to its temporary link',
  description: 'Also the path of the recording with .wav. The file is WAV with both sides, or one of them.',
  params: recordingParams,
  status: 302,
  reply: Nothing,
  headers: { location: 'Temporary link to the file' },
  errors: { notFound: unknownRecording },
})

export const deleteRecording = contract({
  ...change,
  id: 'twilioDeleteRecording',
  method: 'DELETE',
  url: `${accountPath}/Recordings/:Sid`,
  summary: 'Delete a recording for good',
  description: 'It is not found any more at once. Its file is removed within minutes, by the process that has it.',
  params: recordingParams,
  status: 204,
  reply: Nothing,
  codes: { conflict: ['recording_in_progress'] },
  errors: { notFound: unknownRecording, conflict: 'The recording is in progress (21220)' },
})

export const startRecording = contract({
  ...change,
  id: 'twilioCreateCallRecording',
  method: 'POST',
  url: `${accountPath}/Calls/:CallSid/Recordings`,
  summary: 'Record a call that a program runs, from now on',
  description: 'Both sides, on two channels, until the call ends.',
  form: true,
  refuses: ['RecordingTrack', 'Trim', 'RecordingConfigurationId'],
  waits: true,
  params: ofCallParams,
  body: Type.Object({
    RecordingStatusCallback: Type.Optional(Url('Gets the recording once it is stored')),
    RecordingStatusCallbackMethod: Type.Optional(Method),
    RecordingChannels: Type.Optional(Type.Unsafe<'dual'>({ type: 'string', enum: ['dual', 'mono', ''] })),
  }),
  status: 201,
  reply: Recording,
  codes: { unavailable: ['no_voice'] },
  errors: {
    invalid: 'The call is not in progress, or no program runs it (21220)',
    notFound: 'No such call of the account',
    notSupported: 'The call is on the messaging app (20406)',
    unavailable: 'No process runs calls (20503)',
  },
})

export const updateRecording = contract({
  ...change,
  id: 'twilioUpdateCallRecording',
  method: 'POST',
  url: `${accountPath}/Calls/:CallSid/Recordings/:Sid`,
  summary: 'Pause, resume or stop the recording of a call',
  description: 'Twilio.CURRENT stands for the recording in progress.',
  form: true,
  waits: true,
  params: Type.Object({ ...recordingParams.properties, CallSid }),
  body: Type.Object({
    Status: Type.Optional(
      Type.Unsafe<'paused' | 'in-progress' | 'stopped'>({
        type: 'string',
        enum: ['paused', 'in-progress', 'stopped', ''],
      }),
    ),
    PauseBehavior: Type.Optional(
      Type.Unsafe<'skip' | 'silence'>({
        type: 'string',
        enum: ['skip', 'silence', ''],
        description: 'Default: silence',
      }),
    ),
  }),
  status: 200,
  reply: Recording,
  codes: { unavailable: ['no_voice'] },
  errors: {
    invalid: 'The call is not in progress, or no program runs it (21220)',
    notFound: unknownRecording,
    notSupported: 'The call is on the messaging app (20406)',
    unavailable: 'No process runs calls (20503)',
  },
})
