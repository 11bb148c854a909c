import { callbackEvents } from '../../domains/applications/ops.ts'
import { conflict, forbidden, invalid, notFound, notSupported, Problem } from '../../platform/http/problem.ts'
import { maxTokens } from './limits.ts'

/** Gives a refusal the code that Twilio has for it. */
const coded = (problem: Problem, code: number): Problem => {
  const { problem: kind, message, code: name, headers, fields } = problem
  return new Problem(kind, message, name, { ...headers }, { ...problem.extraFields, code }).at(...fields)
}

export const refusals = {
  interfaceOff: () =>
    conflict(
      'The operator has turned the interface off (TRUNKLINE_COMPAT=off): a token would open nothing',
      'compat_off',
    ),
  tooManyTokens: () =>
    conflict(
      `The account has ${maxTokens} tokens, which is enough for a rotation: revoke one of them first`,
      'too_many_tokens',
    ),
  unknownToken: (key: string) => notFound(`The account has no token with the key ${key}`).at('key_uuid'),
  noRecipient: () => coded(invalid("A 'To' phone number is required").at('To'), 21604),
  badRecipient: (to: string) => coded(invalid(`The 'To' number ${to} is not a valid phone number`).at('To'), 21211),
  noSender: () =>
    coded(invalid("A 'From' phone number is required: MessagingServiceSid is not supported").at('From'), 21603),
  badSender: (from: string) =>
    coded(invalid(`The 'From' number ${from} is not a valid phone number`).at('From'), 21212),
  noBody: () => coded(invalid('Message body is required').at('Body'), 21602),
  bodyTooLong: (limit: number) =>
    coded(invalid(`The message body exceeds the ${limit} character limit`).at('Body'), 21617),
  badUrl: (field: string, url: string, why: string) =>
    coded(
      invalid(`${field} is not a valid URL: ${url} (${why})`).at(field),
      field === 'StatusCallback' ? 21609 : 21402,
    ),
  badScheduleType: () => coded(invalid('SendAt needs ScheduleType=fixed').at('ScheduleType'), 35126),
  noSendAt: () => coded(invalid('ScheduleType=fixed needs SendAt').at('SendAt'), 35111),
  badSendAt: () => coded(invalid('SendAt must be a time in ISO 8601, at most a year ahead').at('SendAt'), 35114),
  badPageToken: () =>
    coded(
      invalid('PageToken must be that of a next_page_uri of this list: begin without one at first_page_uri').at(
        'PageToken',
      ),
      20001,
    ),
  badDay: (field: string) => coded(invalid(`${field} must be a day from 1970 to 9998, YYYY-MM-DD`).at(field), 20001),
  // Not 503, which would say that another attempt is harmless.
  maybeAccepted: () =>
    coded(
      new Problem(
        'internal',
        'The message may have been accepted: the database did not answer. List the messages before you send it again',
        'maybe_accepted',
      ),
      20500,
    ),
  tooExpensive: (price: string) =>
    coded(invalid(`The price of the message, ${price} USD, exceeds MaxPrice`).at('MaxPrice'), 30010),
  unknownResource: (path: string) => notFound(`The requested resource ${path} was not found`),
  notOffered: (path: string, instead: string) => notFound(`${path} is not offered here: ${instead}`, 'not_offered'),
  noXml: () => notSupported('Answers are JSON: end the path in .json, or in nothing'),
  notCancelable: () => coded(conflict('The message is no longer scheduled', 'not_scheduled').at('Status'), 30409),
  underWay: () =>
    coded(conflict('The message is under way: try again when its status is final', 'message_under_way'), 20009),
  bodyNotEmpty: () => coded(invalid("Body may only be '', which erases the text").at('Body'), 20001),
  badPhone: (phone: string) =>
    coded(invalid(`PhoneNumber ${phone} is not a valid phone number`).at('PhoneNumber'), 21421),
  contentsNotVisible: (field: string) =>
    forbidden(
      `${field} gets messages that you may not see: it needs the scopes inbox and inbox.all, besides numbers`,
      'contents_not_visible',
    ).at(field),
  unknownCountry: (country: string) => notFound(`Country ${country} is not known`).at('CountryCode'),
  numberOrAreaCode: () => coded(invalid('Give PhoneNumber or AreaCode').at('PhoneNumber'), 21421),
  nothingInAreaCode: (area: string) =>
    coded(invalid(`There is no free number in the area code ${area}`, 'number_unavailable').at('AreaCode'), 21452),
  noCallee: () => coded(invalid("A call needs 'To'").at('To'), 21201),
  noCaller: () => coded(invalid("A call needs 'From'").at('From'), 21213),
  noProgram: () => coded(invalid('Give Url, Twiml or ApplicationSid').at('Url'), 21205),
  badCallUrl: (field: string, url: string, why: string) =>
    coded(invalid(`${field} of a call is not a valid URL: ${url} (${why})`).at(field), 21205),
  badTwiml: (why: string, code: number) => coded(invalid(`Twiml is not valid: ${why}`).at('Twiml'), code),
  badApplication: (sid: string) =>
    coded(invalid(`ApplicationSid ${sid} is no application of the account`).at('ApplicationSid'), 21218),
  badSendDigits: (digits: string) =>
    coded(invalid(`SendDigits ${digits} may have 0 to 9, *, # and w only`).at('SendDigits'), 21206),
  badCallbackEvent: (name: string) =>
    coded(
      invalid(`StatusCallbackEvent ${name} is none of ${callbackEvents.join(', ')}`).at('StatusCallbackEvent'),
      21626,
    ),
  notInProgress: (why: string) => coded(invalid(`Call is not in-progress: ${why}`).at('Sid'), 21220),
  callInProgress: () =>
    coded(conflict('The call is in progress: try again when it has ended', 'call_in_progress'), 20009),
  recordingInProgress: () =>
    coded(conflict('The recording is in progress: stop it first', 'recording_in_progress'), 21220),
  parameterTooLong: () =>
    coded(invalid('A parameter of a stream has at most 500 characters').at('Parameter1.Value'), 20001),
  needsVoiceUrl: (field: string) => coded(invalid(`${field} needs VoiceUrl`).at(field), 21502),
  badVoiceApplication: (sid: string) =>
    notFound(`The requested resource Applications/${sid} was not found`).at('VoiceApplicationSid'),
  noVoiceUrl: () => coded(invalid('VoiceUrl is required: an application is a program of calls').at('VoiceUrl'), 21205),
}
