import { conflict, forbidden, invalid, notFound, unavailable, unprocessable } from '../../platform/http/problem.ts'

export const refusals = {
  optedOut: (contact: string, number: string) =>
    forbidden(`${contact} has opted out of messages from ${number} (STOP)`, 'opted_out'),
  tooManyWaiting: () => unavailable('Too many messages are waiting to be accepted. Try again in a second'),
  usUnsupported: () =>
    unprocessable('to_number is in the US: A2P messaging to US numbers is not supported', 'a2p_us_unsupported'),
  destinationNotPriced: (number: string) =>
    unprocessable(`There is no price for SMS to ${number}`, 'destination_not_priced'),
  unknownSender: (number: string) =>
    notFound(`${number} is not an SMS-capable number of this account. List yours with GET /open/sms/channels`),
  numberSuspended: (number: string) => forbidden(`${number} is suspended`, 'number_suspended'),
  sandboxNumber: (number: string) =>
    forbidden(
      `${number} is a sandbox number: only sandbox accounts can send from it, while the sandbox is on. Buy another number`,
      'sandbox_number',
    ),
  cannotSend: (number: string) => notFound(`${number} cannot send SMS`),
  unknownMessage: (message: string) => notFound(`SMS ${message} does not exist`),
  textTooLong: (length: number, limit: number) =>
    invalid(`text has ${length} UTF-16 units; at most ${limit} are allowed`),
  sendAtTooFar: () => invalid('send_at must be at most a year ahead'),
  unknownChannel: (channel: string) => notFound(`SMS channel ${channel} does not exist`),
  notScheduled: (message: string) => conflict(`${message} is no longer scheduled`, 'not_scheduled'),
}
