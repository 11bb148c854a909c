import type { CannedReply } from './inbox-types.ts'
import type { Suggestion } from './suggestion-list.tsx'
import { members, ownUser } from './team-members.ts'
import { ranked, type Trigger } from './typing-trigger.ts'

/** Rows of the list at the cursor. */
const mostShown = 8

/** Canned replies for `/`, colleagues for `@`. */
export const suggestionsFor = (trigger: Trigger, replies: readonly CannedReply[]): readonly Suggestion[] => {
  if (trigger.sign === '/')
    return ranked(replies, trigger.text, ({ shortcut, title }) => [shortcut, title])
      .slice(0, mostShown)
      .map(({ uuid, shortcut, title, text, filled }) => ({
        key: uuid,
        title: `/${shortcut}`,
        hint: title,
        text: filled ?? text,
      }))
  const colleagues = members.value.filter(({ user_uuid }) => user_uuid !== ownUser.value)
  return ranked(colleagues, trigger.text, ({ name }) => [name, ...name.split(' ')])
    .slice(0, mostShown)
    .map(({ user_uuid, name }) => ({ key: user_uuid, title: name, hint: '', text: `@${name} ` }))
}

/** Colleagues whom a note names. */
export const mentionsIn = (text: string): readonly string[] =>
  members.value.filter(({ name }) => text.includes(`@${name}`)).map(({ user_uuid }) => user_uuid)
