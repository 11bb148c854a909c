import { countryOf, mainCountryOf } from '@trunkline/phone/phone.ts'
import type {
  ProgramCall,
  ProgramErrorCode,
  ProgramRequest,
  RecordingRow,
  RecordingSource,
  StreamPayload,
  VerbResult,
} from '../../../domains/calls/compat/ops.ts'
import { printSid } from '../../../platform/lib/sid.ts'
import type { TwilioCallStatus } from '../calls/statuses.ts'
import { rfc2822 } from '../times.ts'
import type { Parameters } from './signature.ts'

const apiVersion = '2010-04-01'

type CallStatus = ProgramCall['status']

/** Statuses of Twilio by ours. */
const statuses = {
  QUEUED: 'queued',
  RINGING: 'ringing',
  ANSWERED: 'in-progress',
  COMPLETED: 'completed',
  MISSED: 'no-answer',
  NO_ANSWER: 'no-answer',
  BUSY: 'busy',
  FAILED: 'failed',
  CANCELED: 'canceled',
} as const satisfies { readonly [status in CallStatus]: TwilioCallStatus }

export const callStatusOf = (status: CallStatus): TwilioCallStatus => statuses[status]

/** Directions of Twilio. A person's own call to a program is one that comes in. */
const directions = {
  trunk: 'inbound',
  device: 'inbound',
  api: 'outbound-api',
  dial: 'outbound-dial',
} as const satisfies { readonly [origin in ProgramCall['origin']]: string }

export const directionOf = (origin: ProgramCall['origin']) => directions[origin]

/** Codes of Twilio's error dictionary by those of a program's failure. */
const errorCodes = {
  unreachable: 11200,
  timeout: 11200,
  status: 11200,
  forbidden_address: 11200,
  too_large: 11750,
  content_type: 12300,
  malformed: 12100,
  verb: 12200,
  attribute: 12200,
  // Twilio's code for too many redirects.
  loop: 11215,
} as const satisfies { readonly [code in ProgramErrorCode]: number }

/** Returns Twilio's code of a program's failure. */
export const errorCodeOf = (code: ProgramErrorCode): number => errorCodes[code]

/** Returns a party of a call as Twilio names it: a number, or `client:` and a user. */
export const partyOf = (party: string): string => (party.startsWith('USR') ? `client:${party}` : party)

/** Returns the parameters that every request about a call has. */
export const callParameters = (call: Omit<ProgramCall, 'number' | 'tags' | 'direction'>): Parameters => {
  const [from, to] = [call.from, call.to].map((number) => countryOf(number) ?? mainCountryOf(number))
  return {
    CallSid: printSid('CA', call.id),
    AccountSid: printSid('AC', call.account),
    From: partyOf(call.from),
    To: partyOf(call.to),
    Caller: partyOf(call.from),
    Called: partyOf(call.to),
    CallStatus: callStatusOf(call.status),
    ApiVersion: apiVersion,
    Direction: directionOf(call.origin),
    ...(call.parent === null ? {} : { ParentCallSid: printSid('CA', call.parent) }),
    ...(call.divertedFrom === null ? {} : { ForwardedFrom: call.divertedFrom }),
    ...(from ? { FromCountry: from, CallerCountry: from } : {}),
    ...(to ? { ToCountry: to, CalledCountry: to } : {}),
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')

const whole = (seconds: unknown): string => String(Math.round(Number(seconds) || 0))

/** Returns the uuid of an id in a result, which has the prefix of the native interface; null without one. */
const uuidIn = (id: unknown): string | null => {
  const bare = textOf(id).slice(-36)
  return bare.length === 36 ? bare : null
}

/** Returns the link to the file of a recording, to which programs may add `.wav`. Bare ids. */
export type RecordingUrl = (account: string, recording: string) => string

type ResultReader = (result: VerbResult, urlOf: (recording: string) => string) => Parameters

const gathered: ResultReader = ({ digits, reason, finished_on_key: key }) => ({
  Digits: textOf(digits),
  ...(key === undefined || key === null ? {} : { FinishedOnKey: textOf(key) }),
  // The words of Twilio for an input that ended without a key.
  ...(reason === 'timeout' && textOf(digits) === '' ? { msg: 'Gather End', FinishedOnKey: '' } : {}),
})

const recorded: ResultReader = ({ recording_uuid, seconds, digits, reason }, urlOf) => {
  const id = uuidIn(recording_uuid)
  return {
    ...(id === null ? {} : { RecordingSid: printSid('RE', id), RecordingUrl: urlOf(id) }),
    RecordingDuration: whole(seconds),
    Digits: reason === 'hangup' ? 'hangup' : textOf(digits),
  }
}

const dialled: ResultReader = ({ status, call_uuid, seconds, recording_uuid }, urlOf) => {
  const wasBridged = status === 'completed' || status === 'answered'
  const [call, recording] = [uuidIn(call_uuid), uuidIn(recording_uuid)]
  return {
    DialCallStatus: textOf(status).replaceAll('_', '-'),
    ...(call === null ? {} : { DialCallSid: printSid('CA', call) }),
    ...(wasBridged ? { DialCallDuration: whole(seconds) } : {}),
    DialBridged: String(wasBridged),
    ...(recording === null ? {} : { RecordingUrl: urlOf(recording) }),
  }
}

/** By the verb whose result it is. Other results have no parameters there. */
const readers: ReadonlyMap<string, ResultReader> = new Map(
  Object.entries({ gather: gathered, record: recorded, dial: dialled }),
)

/** Returns the parameters of a request to the program of a call. */
export const programParameters = (urlOf: RecordingUrl, { call, verb, result, error }: ProgramRequest): Parameters => ({
  ...callParameters(call),
  ...(verb && result ? readers.get(verb.name)?.(result, (id) => urlOf(call.account, id)) : {}),
  ...(error === null ? {} : { ErrorCode: String(errorCodeOf(error.code)), ErrorUrl: error.url ?? '' }),
})

/** Sources of recordings in Twilio's documentation, by ours. A setting has none of its own there. */
const sources = {
  record: 'RecordVerb',
  record_call: 'StartCallRecordingTwiML',
  dial: 'DialVerb',
  order: 'OutboundAPI',
  command: 'StartCallRecordingAPI',
  call: 'StartCallRecordingAPI',
} as const satisfies { readonly [source in RecordingSource]: string }

/** Returns how a recording began, as Twilio names it. */
export const sourceOf = ({ source }: Pick<RecordingRow, 'source'>) => sources[source ?? 'call']

/** Returns the parameters of the report that a recording is stored. @param row of a complete one */
export const recordingParameters = (urlOf: RecordingUrl, row: RecordingRow): Parameters => ({
  AccountSid: printSid('AC', row.account_id),
  CallSid: printSid('CA', row.call_id),
  RecordingSid: printSid('RE', row.id),
  RecordingUrl: urlOf(row.account_id, row.id),
  RecordingStatus: 'completed',
  RecordingDuration: whole(row.seconds),
  RecordingChannels: String(row.channels),
  RecordingSource: sourceOf(row),
  RecordingStartTime: rfc2822(row.created_at),
  RecordingTrack: 'both',
  ErrorCode: '0',
})

/** Returns the parameters of the report of a stream. Without a name, its SID is its name. */
export const streamParameters = (account: string, payload: StreamPayload): Parameters => {
  const { call, stream, name, change, error, at } = payload
  const sid = printSid('MZ', stream)
  return {
    AccountSid: printSid('AC', account),
    CallSid: printSid('CA', call),
    StreamSid: sid,
    StreamName: name ?? sid,
    StreamEvent: `stream-${change}`,
    ...(error === null ? {} : { StreamError: `${error.code}: ${error.detail}` }),
    Timestamp: at,
  }
}
