import { conflict, invalid, notFound, unavailable } from '../../platform/http/problem.ts'

export const refusals = {
  unknownCall: () => notFound('The handset has no such call'),
  unknownNumber: (number: string) => notFound(`${number} is not a number of the account`),
  noRecipient: () => invalid('to or group_uuid is required').at('to'),
  noContent: () => invalid('At least one of text, url and pin is required').at('text'),
  unknownGroup: (group: string) => notFound(`There is no group ${group}`).at('group_uuid'),
  unknownMessage: (message: string) => notFound(`There is no message ${message}`).at('message_uuid'),
  noReceiver: () => notFound('No number of the platform can receive it'),
  notOnNetwork: (number: string) => notFound(`${number} is not on the network`),
  messageNotWritten: () => notFound('The handset wrote no such message'),
  messageNotReceived: () => notFound('The handset has no such message'),
  notInGroup: () => notFound('The handset is in no such group'),
  cannotJoin: () => notFound('The handset is already in the group, or is not on the messaging app'),
  noPairingCode: (number: string) => notFound(`${number} shows no code`),
  recipientUnreachable: (number: string) => notFound(`${number} cannot reach the recipient`),
  numberUnreachable: (from: string, to: string) => notFound(`${from} cannot reach ${to}`),
  notAHandset: (number: string) =>
    invalid(`${number} is a number of the platform on the messaging app, not a handset`, 'not_a_handset').at(
      'number',
      'phone_number',
    ),
  clockShared: () =>
    conflict('All accounts share the clock, and some are not marked as sandbox accounts', 'clock_is_shared'),
  clockTooFar: () => invalid('advance_seconds would move the clock more than a century ahead').at('advance_seconds'),
  carriersDown: () => unavailable('The sandbox carriers are not running', 'sandbox_down'),
  notDelivered: (what: string) => unavailable(`The sandbox did not deliver ${what}`, 'sandbox_down'),
  handsetCannot: (number: string, deed: string) =>
    conflict(
      `The handset ${number} cannot do this (${deed}): check its settings, made with PUT /sandbox/handsets/${number}`,
    ),
  missingChannel: (what: string) => conflict(`The account has no ${what}, then trigger again`, 'channel_missing'),
  rejectedBySandbox: (reason: string) => invalid(reason),
  noExample: (reason: string) => conflict(reason, 'no_example'),
}
