import { conflict, invalid, notSupported, unprocessable } from '../../../platform/http/problem.ts'

export const refusals = {
  moved: (items: readonly unknown[]) =>
    conflict(
      'Something newer came in, or a colleague wrote: read items, then send with a newer seen, or with anyway',
      'conversation_moved',
      {},
      { items },
    ).at('seen'),
  noContent: () =>
    unprocessable('The message has no content: give text, media_uuid or template', 'no_content').at('text'),
  noRecipient: (counterpart: string) =>
    unprocessable(`${counterpart} cannot be written to on this channel`, 'no_recipient').at('channel_uuid'),
  smsCannot: (what: string) =>
    notSupported(`SMS has no ${what}: send it on the messaging app`).at(what === 'media' ? 'media_uuid' : what),
  cannotSchedule: () =>
    notSupported('Messages of the messaging app cannot be scheduled: leave out send_at').at('send_at'),
  cannotQuote: () => notSupported('Messages cannot be quoted on this network: leave out reply_to').at('reply_to'),
  textTooLong: (length: number, limit: number) =>
    invalid(`text has ${length} UTF-16 units; at most ${limit} are allowed on this channel`).at('text'),
}
