import { conflict, forbidden, invalid, notFound } from '../../platform/http/problem.ts'

export const refusals = {
  contentsNotVisible: (event: string, rights: string) =>
    forbidden(
      `${event} has contents that you may not see: its webhook needs the rights ${rights}. Ask an owner of the account to subscribe the address`,
      'contents_not_visible',
    ).at('event_names', 'event_name', 'hook_url', 'enabled'),
  unknownWebhook: (webhook: string) => notFound(`Webhook ${webhook} does not exist`).at('webhook_uuid'),
  webhookDisabled: (webhook: string) => conflict(`Webhook ${webhook} is disabled: enable it first`, 'webhook_disabled'),
  webhookExists: () =>
    conflict('Another webhook has the same subscription and hook_url', 'webhook_exists').at('hook_url'),
  unknownDelivery: (delivery: string) => notFound(`Delivery ${delivery} does not exist`).at('delivery_id'),
  badPeriod: () => invalid('until must be later than since, and since must be in the past').at('since'),
  sinceMissing: (webhook: string) =>
    invalid(`since is required: webhook ${webhook} was never disabled`, 'since_missing').at('since'),
  periodTooLong: (step: string, days: number) =>
    invalid(`since must be at most ${days} days before until with the step ${step}`).at('since'),
  eventMismatch: (field: string, value: string, event: string) =>
    invalid(`${field} is ${value}, but the webhook receives ${event}: leave ${field} out`, 'event_mismatch').at(field),
  payloadTooLarge: (bytes: number, most: number) =>
    invalid(`payload has ${bytes} bytes of JSON: at most ${most} are allowed`, 'payload_too_large').at('payload'),
  eventNotOfChannel: (event: string, channel: string, kinds: string) =>
    invalid(`${event} never happens on ${channel}: channel_uuid must be ${kinds}`, 'event_not_of_channel').at(
      'channel_uuid',
    ),
  numberWithoutEvents: (number: string) =>
    notFound(`${number} is not a number of this account with such events`).at('on_number'),
  differentChannels: () =>
    invalid('channel_uuid and waweb_uuid name different channels: give only one of them').at('waweb_uuid'),
  channelRequired: (event: string) =>
    invalid(`channel_uuid or on_number is required: ${event} happens on a channel`).at('channel_uuid'),
  hookUrlRefused: (fault: string) => {
    const fix = fault.includes('a user or a password') ? ', and give them in basic_auth' : ''
    return invalid(`hook_url ${fault}${fix}`, 'hook_url_refused').at('hook_url')
  },
  headerNameInvalid: (name: string) =>
    invalid(
      `headers: ${JSON.stringify(name.slice(0, 64))} is no name of a header: use letters, digits and hyphens, at most 64`,
    ).at('headers'),
  headerReserved: (name: string) =>
    invalid(`headers.${name} is set by the platform or by HTTP itself: leave it out`).at('headers'),
  headerValueInvalid: (name: string, fault: 'empty' | 'control' | 'other') =>
    invalid(
      `headers.${name} ${
        {
          empty: 'is empty: give a value, or leave the header out',
          control: 'contains a line break or another control character: remove it',
          other: 'contains characters outside ASCII: encode them',
        }[fault]
      }`,
    ).at('headers'),
  headerTwice: (name: string) =>
    invalid(`${name} is given twice, in headers or by basic_auth: leave one out`).at('headers', 'basic_auth'),
  headerNotStored: (name: string) =>
    invalid(`headers.${name} is masked, and no value of it is stored: give the value`).at('headers'),
  headersRequired: () =>
    invalid(
      'The address changes, and the webhook has headers: give headers with their values again, or null to remove them. Stored ones are not sent to another address',
    ).at('headers', 'hook_url'),
  tooManyHeaders: (count: number, most: number) =>
    invalid(`headers has ${count} headers: at most ${most} are allowed`).at('headers', 'basic_auth'),
  headersTooLong: (length: number, most: number) =>
    invalid(`headers have ${length} characters together: at most ${most} are allowed`).at('headers', 'basic_auth'),
  basicAuthInvalid: (field: string, fault: string) =>
    invalid(`basic_auth.${field} contains ${fault}: remove it`).at('basic_auth'),
  basicAuthEmpty: () =>
    invalid('basic_auth is empty: give a username and a password, or leave it out').at('basic_auth'),
  basicAuthMasked: (field: string) =>
    invalid(`basic_auth.${field} is masked: give the value, or leave basic_auth out to keep it`).at('basic_auth'),
  groupNotOfEvent: (event: string) =>
    invalid(`to_group_uuid applies to events of messages and groups, not to ${event}: leave it out`).at(
      'to_group_uuid',
    ),
}
