import type { ReplyOf } from '../api/client.ts'
import { words } from '../words/en/settings.ts'

export type Act = ReplyOf<'GET /open/audit'>['acts'][number]

/** `changeSomething` is `Change something`. */
const spelled = (name: string): string => {
  const text = name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, ' ').toLowerCase()
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Returns the words for an operation. */
export const actionName = (action: string): string =>
  Object.entries(words.audit.actions).find(([name]) => name === action)?.[1] ?? spelled(action)

/** Returns the words for the actor: the name of a person now, the label of a key. */
export const actorName = ({ kind, label, name, last_four }: Act['actor']): string => {
  if (kind === 'system') return words.audit.system
  if (kind === 'operator') return words.audit.operator
  if (kind === 'api_key') return words.audit.key(label ?? '', last_four ?? '')
  if (kind === 'visitor') return words.audit.refusedSignIn(label ?? words.audit.unknown)
  return name ?? label ?? words.audit.unknown
}

/** Returns a value of a change as text; undefined for none. */
export const valueText = (value: unknown): string | undefined => {
  if (value === undefined || value === null || value === '') return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}
