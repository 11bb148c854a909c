import { conflict, notFound, unprocessable } from '../../../platform/http/problem.ts'

export const refusals = {
  unknownReply: (reply: string) => notFound(`Reply ${reply} does not exist`).at('reply_uuid'),
  shortcutExists: (shortcut: string) =>
    conflict(`There is a reply /${shortcut} already`, 'shortcut_exists').at('shortcut'),
  tooManyReplies: (limit: number) => conflict(`There are ${limit} replies already: delete one`, 'too_many_replies'),
  unknownVariable: (name: string, known: string) =>
    unprocessable(`There is no variable {{${name}}}; there are ${known}`, 'unknown_variable').at('text'),
}
