import {
  conflict,
  forbidden,
  insufficient,
  invalid,
  notFound,
  notSupported,
  retryAfter,
  tooMany,
  unauthorized,
  unavailable,
  unprocessable,
} from '../../platform/http/problem.ts'

const badUrl = (fault: string) => `url ${fault}`
const notConnected = (number: string) => `${number} is not connected at the moment`

export const refusals = {
  unknownChannel: (channel: string) => notFound(`Channel ${channel} does not exist`),
  unknownNumber: (number: string) => notFound(`${number} is not a number of this account on the messaging app`),
  channelDisconnected: (number: string) =>
    conflict(`${number} is disconnected: connect it first`, 'channel_disconnected'),
  numberUnproved: (number: string) =>
    forbidden(
      `Possession of ${number} is not proved: buy the number, prove it by a code (POST /open/voip/caller-ids), or ask the operator for a grant`,
      'number_unproved',
    ),
  numberTaken: (number: string) => forbidden(`${number}: phone number already exists`, 'phone_number_exists'),
  notPairing: (number: string, phase: string) =>
    conflict(`${number} is not being paired: it is ${phase}`, 'not_pairing'),
  /** The same for a missing connection, so that callers cannot find out which ones exist. */
  wrongSignature: () => unauthorized('The request is not the network’s', 'wrong_signature'),
  checksUsedUp: (quota: number) => insufficient(`The quota of ${quota} number checks is used up`, 'quota_exceeded'),
  notAConnectedNumber: (number: string) => notFound(`${number} is not a connected number of this account`),
  noConnectedNumber: () => conflict('The account has no connected number', 'channel_connecting', retryAfter(10)),
  batchDeleted: () => notFound('the batch was deleted'),
  unknownBatch: (batch: string) => notFound(`No batch ${batch}`),
  unknownDeadLetter: (deadLetter: string) => notFound(`No dead letter ${deadLetter}`),
  stillRefused: (reason: string) => conflict(`Still rejected: ${reason}`, 'still_refused'),
  unknownGroup: (group: string) => notFound(`Group ${group} does not exist`),
  refusedByNetwork: (reason: string) => unprocessable(`The network rejected it: ${reason}`, 'refused_by_network'),
  groupDeleted: () => notFound('The group was deleted'),
  noOtherParticipant: () => invalid('group.participants must name a number other than from_number'),
  mediaNotFound: () => notFound('No such file, or the link has expired', 'media_not_found'),
  mediaPending: () => unavailable('The file is still being fetched: try again', 'media_pending', retryAfter(5)),
  tooManyWaiting: () => unavailable('Too many messages are waiting: try again in a second'),
  oneRecipient: () => invalid('Give exactly one of to_number, to_group_uuid and to_remote_id'),
  templateNeedsRecipient: () => invalid('A template needs to_number or to_remote_id'),
  templateWithContent: () => invalid('A template cannot be combined with text, url or pin'),
  parametersOrComponents: () => invalid('template takes parameters or components, not both'),
  noContent: () => invalid('Give at least one of text, url, pin and template'),
  unknownMessage: (message: string) => notFound(`Message ${message} does not exist in this conversation`),
  notInGroup: (number: string, group: string | undefined) => notFound(`${number} is not in group ${group}`),
  unknownPerson: (person: string, number: string) =>
    notFound(`No person with the id ${person} has written to ${number}`),
  ownNumber: (number: string) => unprocessable(`to_number is ${number} itself`, 'own_number'),
  groupPending: (group: string | undefined) => conflict(`${group} is still being created`, 'group_pending'),
  unknownConversation: (conversation: string) => notFound(`Conversation ${conversation} does not exist`),
  notAPerson: (remote: string) =>
    unprocessable(`${remote} is neither a phone number nor the id of a person who wrote`, 'invalid_phone_number'),
  noDriver: () => notSupported('No driver for the network of this channel is installed'),
  notSupported: (kind: string, reason: string) => notSupported(`${kind} cannot do this: ${reason}`),
  channelBooting: (number: string) => conflict(notConnected(number), 'channel_booting', retryAfter(10)),
  channelConnecting: (number: string) => conflict(notConnected(number), 'channel_connecting', retryAfter(5)),
  noConnection: () => notFound('No connection to a messaging app is available'),
  tooManyChecks: (limit: number, seconds: number) =>
    tooMany(`More than ${limit} checks a minute: try again in ${seconds} s`, 'too_many_checks', retryAfter(seconds)),
  networkCheckLimit: (limit: number, seconds: number) =>
    tooMany(
      `The network allows ${limit} checks a minute per number: try again in ${seconds} s`,
      'too_many_checks',
      retryAfter(seconds),
    ),
  resultUnknown: (why: string) => conflict(`The result is unknown: ${why}`, 'channel_busy', retryAfter(30)),
  groupNotCreated: () => conflict('The group is not created yet', 'group_pending', retryAfter(5)),
  urlRefused: (fault: string) => invalid(badUrl(fault), 'url_refused'),
  badPictureUrl: (fault: string) => invalid(badUrl(fault)),
}
