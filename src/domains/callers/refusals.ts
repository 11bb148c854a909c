import { conflict, notFound, retryAfter, tooMany, unprocessable } from '../../platform/http/problem.ts'

export const refusals = {
  unknownCallerId: (callerId: string) => notFound(`Caller ID ${callerId} does not exist`).at('caller_id_uuid'),
  codeTooSoon: () =>
    tooMany('A code was sent within the last minute, or ten within a day', 'code_too_soon', retryAfter(60)),
  noSmsNumber: () => conflict('The account has no number that can send the code by SMS', 'no_sms_number'),
  callerIdExists: (number: string) =>
    conflict(`${number} is a caller ID of the account already`, 'caller_id_exists').at('phone_number', 'number'),
  codeByCall: (number: string) =>
    conflict(
      `The code for ${number} must be typed on the keypad of the telephone that the platform calls`,
      'code_by_call',
    ),
  codeExpired: (number: string) =>
    conflict(`There is no valid code for ${number}: request a new one`, 'code_expired').at('code'),
  codeWrong: () => unprocessable('code is not the one that was sent', 'code_wrong').at('code'),
  callerIdNotRemovable: (number: string) =>
    conflict(`${number} belongs to a number or channel: remove that instead`, 'not_own'),
  callerIdProvesChannel: (number: string) =>
    conflict(`${number} is the only proof of a channel: delete the channel first`, 'channel_needs_proof'),
  codeLimit: (who: string, limit: number, seconds: number) =>
    tooMany(`${who} has reached the limit of ${limit} codes a day`, 'code_limit', retryAfter(seconds)),
  attemptLimit: (who: string, limit: number, seconds: number) =>
    tooMany(`${who} has reached the limit of ${limit} attempts a day`, 'attempt_limit', retryAfter(seconds)),
}
