import {
  conflict,
  forbidden,
  invalid,
  notFound,
  notSupported,
  unauthorized,
  unavailable,
  unprocessable,
} from '../../platform/http/problem.ts'

export const refusals = {
  optedOut: (contact: string, number: string) =>
    forbidden(`${contact} has opted out of messages from ${number}. See GET /open/sms/opt-outs`, 'opted_out').at(
      'to_number',
    ),
  tooManyWaiting: () => unavailable('Too many messages are waiting to be accepted. Try again in a second'),
  usUnsupported: () =>
    unprocessable('to_number is in the US: A2P messaging to US numbers is not supported', 'a2p_us_unsupported').at(
      'to_number',
    ),
  destinationNotPriced: (number: string) =>
    unprocessable(`There is no price for SMS to ${number}`, 'destination_not_priced').at('to_number'),
  unknownSender: (number: string) =>
    notFound(`${number} is not an SMS-capable number of this account. List yours with GET /open/sms/channels`).at(
      'from_number',
    ),
  unknownOptOut: (optOut: string) => notFound(`Opt-out ${optOut} does not exist`).at('opt_out_uuid'),
  bodyNotOptOuts: () => invalid('The body must be a CSV file of opt-outs', 'invalid_file'),
  numberSuspended: (number: string) => forbidden(`${number} is suspended`, 'number_suspended').at('from_number'),
  sandboxNumber: (number: string) =>
    forbidden(
      `${number} is a sandbox number: only sandbox accounts can send from it, while the sandbox is on. Buy another number`,
      'sandbox_number',
    ).at('from_number'),
  cannotSend: (number: string) => notFound(`${number} cannot send SMS`).at('from_number'),
  unknownMessage: (message: string) => notFound(`SMS ${message} does not exist`).at('message_uuid'),
  textTooLong: (length: number, limit: number) =>
    invalid(`text has ${length} UTF-16 units; at most ${limit} are allowed`).at('text'),
  textEmpty: () => invalid('text must not be empty, unless the message has media_urls').at('text'),
  mmsNotSupported: (number: string) =>
    notSupported(`No carrier for ${number} takes files: leave out media_urls`).at('media_urls'),
  mediaUnavailable: (index: number, url: string, fault: string) =>
    unprocessable(`media_urls: ${url} could not be fetched: ${fault}`, 'media_unavailable').at(`media_urls.${index}`),
  sendAtTooFar: () => invalid('send_at must be at most a year ahead').at('send_at'),
  unknownChannel: (channel: string) => notFound(`SMS channel ${channel} does not exist`).at('channel_uuid'),
  messagesRequired: () =>
    invalid('Give either messages, or to_numbers with a text', 'messages_required').at('messages', 'to_numbers'),
  moreThanRate: (count: number, rate: number) =>
    invalid(
      `The request has ${count} messages, and each counts as a request: the account may make ${rate} a minute. Send fewer at a time`,
      'messages_over_rate',
    ).at('messages', 'to_numbers'),
  textRequired: () => invalid('text is required').at('text'),
  senderRequired: () => invalid('from_number is required').at('from_number'),
  unknownSending: (sending: string) => notFound(`Sending ${sending} does not exist`).at('sending_uuid'),
  sendingEnded: (sending: string, state: string) => conflict(`${sending} is ${state}`, 'sending_ended'),
  notScheduled: (message: string) => conflict(`${message} is no longer scheduled`, 'not_scheduled'),
  /** The same for a missing connection, so that callers cannot find out which ones exist. */
  wrongSignature: () => unauthorized('The request is not the carrier’s', 'wrong_signature'),
}
