import {
  conflict,
  forbidden,
  insufficient,
  invalid,
  notFound,
  notSupported,
  retryAfter,
  tooLarge,
  tooMany,
  unauthorized,
  unavailable,
  unprocessable,
} from '../../platform/http/problem.ts'

const badUrl = (fault: string) => `url ${fault}`
const notConnected = (number: string) => `${number} is not connected at the moment`

export const refusals = {
  unknownChannel: (channel: string) => notFound(`Channel ${channel} does not exist`).at('channel_uuid'),
  unknownNumber: (number: string) =>
    notFound(`${number} is not a number of this account on the messaging app`).at(
      'from_number',
      'number',
      'your_number',
    ),
  channelDisconnected: (number: string) =>
    conflict(`${number} is disconnected: connect it first`, 'channel_disconnected').at('from_number', 'number'),
  numberUnproved: (number: string) =>
    forbidden(
      `Possession of ${number} is not proved: buy the number, prove it by a code (POST /open/voip/caller-ids), or ask the operator for a grant`,
      'number_unproved',
    ).at('phone_number'),
  numberTaken: (number: string) =>
    forbidden(`${number}: phone number already exists`, 'phone_number_exists').at('phone_number'),
  notPairing: (number: string, phase: string) =>
    conflict(`${number} is not being paired: it is ${phase}`, 'not_pairing'),
  /** The same for a missing connection, so that callers cannot find out which ones exist. */
  wrongSignature: () => unauthorized('The request is not the network’s', 'wrong_signature'),
  checksUsedUp: (quota: number) => insufficient(`The quota of ${quota} number checks is used up`, 'quota_exceeded'),
  notAConnectedNumber: (number: string) =>
    notFound(`${number} is not a connected number of this account`).at('your_number'),
  noConnectedNumber: () => conflict('The account has no connected number', 'channel_connecting', retryAfter(10)),
  batchDeleted: () => notFound('the batch was deleted'),
  unknownBatch: (batch: string) => notFound(`No batch ${batch}`).at('batch_uuid'),
  unknownDeadLetter: (deadLetter: string) => notFound(`No dead letter ${deadLetter}`),
  stillRefused: (reason: string) => conflict(`Still rejected: ${reason}`, 'still_refused'),
  unknownGroup: (group: string) => notFound(`Group ${group} does not exist`).at('to_group_uuid', 'group_uuid'),
  refusedByNetwork: (reason: string) => unprocessable(`The network rejected it: ${reason}`, 'refused_by_network'),
  groupDeleted: () => notFound('The group was deleted'),
  noOtherParticipant: () =>
    invalid('group.participants must name a number other than from_number').at('group.participants'),
  mediaNotFound: () => notFound('No such file, or the link has expired', 'media_not_found'),
  fileMissing: () =>
    notFound(
      'The store of files does not have this file: it was deleted there, or the store is not that of the message',
      'file_missing',
    ),
  fileStoreUnavailable: () =>
    unavailable('The store of files cannot be read at the moment: try again', 'file_store_unavailable', retryAfter(5)),
  mediaPending: () => unavailable('The file is still being fetched: try again', 'media_pending', retryAfter(5)),
  tooManyWaiting: () => unavailable('Too many messages are waiting: try again in a second'),
  oneRecipient: () => invalid('Give exactly one of to_number, to_group_uuid and to_remote_id').at('to_number'),
  templateNeedsRecipient: () => invalid('A template needs to_number or to_remote_id').at('to_number'),
  templateWithContent: () => invalid('A template cannot be combined with text, url or pin').at('template'),
  parametersOrComponents: () => invalid('template takes parameters or components, not both').at('template'),
  noContent: () => invalid('Give at least one of text, url, pin and template').at('text'),
  unknownMessage: (message: string) =>
    notFound(`Message ${message} does not exist in this conversation`).at('message_uuid'),
  notInGroup: (number: string, group: string | undefined) => notFound(`${number} is not in group ${group}`),
  unknownPerson: (person: string, number: string) =>
    notFound(`No person with the id ${person} has written to ${number}`).at('to_remote_id', 'remote'),
  ownNumber: (number: string) => unprocessable(`to_number is ${number} itself`, 'own_number').at('to_number'),
  groupPending: (group: string | undefined) =>
    conflict(`${group} is still being created`, 'group_pending').at('to_group_uuid', 'group_uuid'),
  unknownConversation: (conversation: string) =>
    notFound(`Conversation ${conversation} does not exist`).at('session_key'),
  notAPerson: (remote: string) =>
    unprocessable(`${remote} is neither a phone number nor the id of a person who wrote`, 'invalid_phone_number').at(
      'to_remote_id',
      'remote',
    ),
  noDriver: () => notSupported('No driver for the network of this channel is installed'),
  notSupported: (kind: string, reason: string) => notSupported(`${kind} cannot do this: ${reason}`),
  channelBooting: (number: string) => conflict(notConnected(number), 'channel_booting', retryAfter(10)),
  channelConnecting: (number: string) => conflict(notConnected(number), 'channel_connecting', retryAfter(5)),
  outsideWindow: (number: string, hours: number) =>
    notSupported(
      `The person did not write to ${number} in the last ${hours} hours, so the network accepts only a template: give template`,
    ).at('text', 'media_uuid'),
  unknownUpload: (media: string) => notFound(`File ${media} does not exist, or is older than a day`).at('media_uuid'),
  emptyFile: () => invalid('The body is empty: send the bytes of a file', 'empty_file'),
  uploadTooLarge: (limit: number) => tooLarge(`The file has more than ${limit} bytes`),
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
  urlRefused: (fault: string) => invalid(badUrl(fault), 'url_refused').at('url'),
  badPictureUrl: (fault: string) => invalid(badUrl(fault)).at('picture_url', 'url'),
}
