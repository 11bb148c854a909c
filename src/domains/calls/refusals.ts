import {
  conflict,
  forbidden,
  invalid,
  notFound,
  notSupported,
  retryAfter,
  tooMany,
  unavailable,
  unprocessable,
} from '../../platform/http/problem.ts'

const attemptLimit = (attemptsPerMinute: number) => `The account may attempt ${attemptsPerMinute} calls per minute`
const noPrice = (number: string) => `There is no price for calls to ${number}`
const takesNoCallsNow = 'The number takes no calls'
const takesNoCalls = (why: string | null) => `This process takes no calls: ${why}`

/** Refusals of HTTP requests. */
export const refusals = {
  noVoice: () => unavailable('No process runs calls at this moment: try again later', 'no_voice'),
  numberOfAccount: (number: string) =>
    conflict(`${number} is a number of the account: calls to it do not leave the platform`, 'number_of_account').at(
      'to_number',
      'number',
    ),
  tooManyAttempts: (attemptsPerMinute: number) =>
    tooMany(attemptLimit(attemptsPerMinute), 'too_many_attempts', retryAfter(60)),
  noCallerId: () => conflict('The account has no caller ID for this call: buy a number', 'no_caller_id'),
  unusableCallerId: (number: string) =>
    notFound(`${number} is not a usable caller ID of the account. List yours with GET /open/voip/caller-ids`).at(
      'from_number',
      'caller_id',
    ),
  recordingNotFound: () => notFound('The recording does not exist, or the link has expired', 'recording_not_found'),
  recordingPending: () =>
    unavailable('The recording is not available at this moment: try again', 'recording_pending', retryAfter(5)),
  unknownClip: (clip: string) => notFound(`There is no clip ${clip}`).at('clip_uuid'),
  invalidSound: (reason: string) => invalid(`The sound cannot be used: ${reason}`, 'invalid_sound'),
  tooManyClips: (count: number, limit: number) =>
    conflict(`The account has ${count} clips; the limit is ${limit}: delete some`, 'too_many_clips'),
  unknownCall: (call: string) => notFound(`Call ${call} does not exist`).at('call_uuid'),
  destinationNotPriced: (number: string) =>
    unprocessable(noPrice(number), 'destination_not_priced').at('to_number', 'number'),
  callOnOtherDevices: () => notSupported('A call on the messaging app runs on other devices: only they can end it'),
  oneProgram: () =>
    invalid('Give exactly one program: application_uuid, url or verbs').at('url', 'verbs', 'application_uuid'),
  tagsTooLarge: (field: string, most: number) =>
    invalid(`${field} has more than ${most} bytes of JSON`, 'tags_too_large').at(field),
  documentInvalid: (reason: string) => invalid(reason, 'document_invalid'),
  fieldRequired: (field: string, command: string) => invalid(`${field} is required for ${command}`).at(field),
  queueFull: (most: number, seconds: number) =>
    tooMany(`${most} calls of the account wait to be placed already`, 'call_queue_full', retryAfter(seconds)),
  callEnded: () => conflict('The call has ended already', 'call_ended'),
  unknownTrunk: (name: string) => notFound(`There is no SIP trunk ${name}`).at('trunk_name'),
  /** The refusal of a call, as HTTP answers it. */
  ofCall: ({ status, reason, code }: CallRefusal) => {
    if (code === 'destination_not_priced') return unprocessable(reason, code)
    return (status === 503 ? unavailable : status === 404 ? notFound : forbidden)(reason, code)
  },
  /** The refusal of a call of the API. */
  ofOrder: (refusal: CallRefusal) => {
    const { code, reason } = refusal
    const field = code === 'caller_id' ? 'from_number' : 'to'
    return (code === 'not_e164' ? unprocessable(reason) : refusals.ofCall(refusal)).at(field)
  },
  notTakingCalls: (why: string | null) => unavailable(takesNoCalls(why), undefined, retryAfter(2)),
  noCallsHere: (why: string | null) => unavailable(takesNoCalls(why), 'no_calls_here'),
}

/** A SIP status with reason, and the reason code stored in the call record. */
export type CallRefusal = { readonly status: number; readonly reason: string; readonly code: string }

/** Stored in the record of a call from a blocked contact. */
export const blockedReason = 'caller_blocked'

/** Code of a refusal of the ledger, and stored in the record of a call: the daily spend limit of a key is reached. */
export const keyLimitCode = 'key_spend_limit'

const sip = (status: number, reason: string, code = ''): CallRefusal => ({ status, reason, code })

/** Refusals of calls and registrations, as SIP answers them. */
export const callRefusals = {
  closed: () => sip(503, 'The call was closed'),
  programFailed: () => sip(480, takesNoCallsNow, 'program_error'),
  /** Calls that dial one another (RFC 3261, 21.4.20). */
  tooDeep: (limit: number) => sip(482, `At most ${limit} calls may be dialled one from the other`, 'too_deep'),
  notPersisted: () => sip(503, 'The call could not be persisted'),
  tooManyAttempts: (attemptsPerMinute: number) => sip(403, attemptLimit(attemptsPerMinute)),
  attemptOverLimit: (attemptsPerMinute: number, attempt: number) =>
    sip(403, `${attemptLimit(attemptsPerMinute)}; this is attempt ${attempt}`, 'too_many_attempts'),
  userNotActive: () => sip(403, 'The user is not active', 'user_inactive'),
  noCallerId: () => sip(403, 'The account has no caller ID: buy or prove a number', 'caller_id'),
  unknownCallerId: (number: string) => sip(403, `${number} is not a caller ID of the account`, 'caller_id'),
  callerIdGone: () => sip(403, 'The call cannot show its caller ID any more', 'caller_id'),
  insufficientBalance: () => sip(402, 'The balance does not cover a minute of this call', 'balance'),
  keySpendLimit: (why: string) => sip(402, why, keyLimitCode),
  cut: (why: string, code: string) => sip(402, why, code),
  accountBlocked: () => sip(403, 'The account is blocked', 'suspended'),
  notPlaced: () => sip(503, 'No process placed the call in time', 'interrupted'),
  trunkFull: () => sip(503, 'All Channels Are Taken', 'no_channel'),
  unknownNumber: () => sip(404, 'The number is not in use here', 'unknown_number'),
  numberSuspended: () => sip(480, takesNoCallsNow, 'number_suspended'),
  /** The called party wants no calls from it: RFC 3261, 21.6.2. */
  callerBlocked: () => sip(603, 'The called party declines', blockedReason),
  inboundNotCovered: () => sip(480, takesNoCallsNow, 'balance'),
  badCredentials: () => sip(403, 'The credentials are unknown or have expired'),
  credentialsRevoked: () => sip(403, 'The credentials were revoked'),
  newerDevice: () => sip(403, 'A newer device has registered'),
  wrongGeneration: () => sip(403, 'X-Device-Gen does not match the credentials'),
  mayNotRegister: () => sip(403, 'The user is not active, or the account is blocked'),
  unknownUser: (user: string) => sip(404, `The account has no active user ${user}`, 'unknown_user'),
  emergency: () => sip(403, 'Emergency numbers cannot be called: use a telephone', 'emergency'),
  notE164: () => sip(404, 'The number must be E.164, such as +447700900123', 'not_e164'),
  destinationNotPriced: (number: string) => sip(403, noPrice(number), 'destination_not_priced'),
  noTrunk: (number: string) => sip(503, `No trunk carries calls to ${number}`, 'no_trunk'),
  tooManyCalls: (limit: number) => sip(403, `The account may have ${limit} concurrent calls`, 'too_many_calls'),
  spendLimit: (limit: string) => sip(403, `The account may spend USD ${limit} per day on calls`, 'spend_limit'),
  destinationNotAllowed: (number: string) => sip(403, `The account may not call ${number}`, 'destination_not_allowed'),
}
