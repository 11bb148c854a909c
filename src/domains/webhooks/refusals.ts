import { conflict, invalid, notFound } from '../../platform/http/problem.ts'

export const refusals = {
  unknownWebhook: (webhook: string) => notFound(`Webhook ${webhook} does not exist`),
  webhookDisabled: (webhook: string) => conflict(`Webhook ${webhook} is disabled: enable it first`, 'webhook_disabled'),
  webhookExists: () => conflict('Another webhook has the same subscription and hook_url', 'webhook_exists'),
  unknownDelivery: (delivery: string) => notFound(`Delivery ${delivery} does not exist`),
  sinceMissing: (webhook: string) =>
    invalid(`since is required: webhook ${webhook} was never disabled`, 'since_missing'),
  periodTooLong: (step: string, days: number) =>
    invalid(`since must be at most ${days} days before until with the step ${step}`),
  eventMismatch: (field: string, given: string, event: string) =>
    invalid(`${field} is ${given}, but the webhook receives ${event}: leave ${field} out`, 'event_mismatch'),
  payloadTooLarge: (bytes: number, most: number) =>
    invalid(`payload has ${bytes} bytes of JSON: at most ${most} are allowed`, 'payload_too_large'),
  badPeriod: () => invalid('until must be later than since, and since must be in the past'),
  eventNotOfChannel: (event: string, channel: string, kinds: string) =>
    invalid(`${event} never happens on ${channel}: channel_uuid must be ${kinds}`, 'event_not_of_channel'),
  numberWithoutEvents: (number: string) => notFound(`${number} is not a number of this account with such events`),
  differentChannels: () => invalid('channel_uuid and waweb_uuid name different channels: give only one of them'),
  channelRequired: (event: string) => invalid(`channel_uuid or on_number is required: ${event} happens on a channel`),
  hookUrlRefused: (fault: string) => invalid(`hook_url ${fault}`, 'hook_url_refused'),
  groupNotOfEvent: (event: string) =>
    invalid(`to_group_uuid applies to events of messages and groups, not to ${event}: leave it out`),
}
