import { conflict, invalid, notFound, unprocessable } from '../../platform/http/problem.ts'

export const refusals = {
  unknownConversation: (conversation: string) => notFound(`No conversation ${conversation}`).at('conversation_uuid'),
  unknownItem: (item: string) => notFound(`The conversation has no item ${item}`).at('until', 'around'),
  unknownUser: (user: string) => notFound(`The account has no user ${user}`).at('assignee', 'assignee_uuid'),
  unknownTag: (tag: string) => notFound(`No tag ${tag}`).at('tag'),
  unknownChannel: (channel: string) => notFound(`The account has no channel ${channel}`).at('channel_uuid'),
  unknownContact: (contact: string) => notFound(`The account has no contact ${contact}`).at('contact_uuid'),
  unknownGroup: (group: string) => notFound(`The account has no group ${group}`).at('group_uuid'),
  unknownView: (view: string) => notFound(`No view ${view}`).at('view', 'views'),
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
}
