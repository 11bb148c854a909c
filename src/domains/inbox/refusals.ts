import { conflict, invalid, notFound, notSupported, unprocessable } from '../../platform/http/problem.ts'

export const refusals = {
  unknownConversation: (conversation: string) => notFound(`No conversation ${conversation}`).at('conversation_uuid'),
  unknownItem: (item: string) => notFound(`The conversation has no item ${item}`).at('until', 'around'),
  unknownUser: (user: string) => notFound(`The account has no user ${user}`).at('assignee', 'assignee_uuid'),
  unknownChannel: (channel: string) => notFound(`The account has no channel ${channel}`).at('channel_uuid'),
  unknownContact: (contact: string) => notFound(`The account has no contact ${contact}`).at('contact_uuid'),
  unknownGroup: (group: string) => notFound(`The account has no group ${group}`).at('group_uuid'),
  unknownCount: (name: string, known: string) =>
    invalid(`There is no list ${name}: there are ${known}, and saved views`, 'unknown_view').at('views'),
  counterpartRequired: () => invalid('Give either number or group_uuid', 'counterpart_required').at('number'),
  readMarkRequired: () => invalid('Give either until or unread', 'read_mark_required').at('until'),
  snoozeInThePast: () =>
    invalid('snoozed_until is in the past: give a later time', 'snooze_in_the_past').at('snoozed_until'),
  snoozeWithoutEnd: () =>
    invalid('A snoozed conversation needs snoozed_until, or snoozed_till_reply', 'snooze_without_end').at('status'),
  assigneeNotActive: (user: string) =>
    unprocessable(`${user} is not an active user who may answer conversations`, 'assignee_not_active').at(
      'assignee_uuid',
    ),
  versionConflict: (version: number) =>
    conflict(`The conversation has version ${version}: read it, and try again`, 'version_conflict').at('version'),
  conversationsRequired: () => invalid('Give either uuids or query', 'conversations_required').at('uuids'),
  changeRequired: () => invalid('change has no field', 'change_required').at('change'),
  unknownJob: (job: string) => notFound(`Bulk change ${job} does not exist`).at('job_uuid'),
  notUndoable: (why: string) => conflict(`The change cannot be undone: ${why}`, 'not_undoable'),
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
  unknownNote: (note: string) => notFound(`Note ${note} does not exist`).at('note_uuid'),
  unknownReply: (reply: string) => notFound(`Reply ${reply} does not exist`).at('reply_uuid'),
  shortcutExists: (shortcut: string) =>
    conflict(`There is a reply /${shortcut} already`, 'shortcut_exists').at('shortcut'),
  tooManyReplies: (limit: number) => conflict(`There are ${limit} replies already: delete one`, 'too_many_replies'),
  unknownVariable: (name: string, known: string) =>
    unprocessable(`There is no variable {{${name}}}; there are ${known}`, 'unknown_variable').at('text'),
  unknownTag: (tag: string) => notFound(`Tag ${tag} does not exist`).at('tag_uuid', 'tag'),
  tagExists: (name: string) => conflict(`There is a tag ${name} already`, 'tag_exists').at('name'),
  tooManyTags: (limit: number) => conflict(`There are ${limit} tags already: delete one`, 'too_many_tags'),
  tooManyOnOne: (limit: number) => conflict(`A conversation has at most ${limit} tags: remove one`, 'too_many_tags'),
  unknownMember: (user: string) => notFound(`User ${user} is not an active user of this account`).at('user_uuid'),
  userRequired: () =>
    unprocessable('The request is of a key, which is no person: give user_uuid', 'user_required').at('user_uuid'),
  unknownView: (view: string) => notFound(`View ${view} does not exist`).at('view_uuid', 'view', 'views', 'uuids'),
  badFilter: (name: string) =>
    unprocessable(`query.${name} is not a filter of GET /open/conversations, or has a wrong value`, 'bad_filter').at(
      'query',
    ),
  tooManyViews: (limit: number) => conflict(`There are ${limit} views already: delete one`, 'too_many_views'),
}
