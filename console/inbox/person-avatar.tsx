import { Icon } from '../parts/icon.tsx'
import type { Conversation } from './inbox-types.ts'

/** A number from 1 to 6 that is the same for a counterpart every time. */
const hueOf = (text: string): number => ([...text].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 6) + 1

const initialsOf = (name: string): string =>
  name
    .split(/\s+/)
    .map((part) => [...part][0] ?? '')
    .filter((_, index, all) => index === 0 || index === all.length - 1)
    .join('')
    .toLocaleUpperCase()

/** The initials of a name. The name next to it has the meaning. */
export const Avatar = ({ conversation }: { conversation: Conversation }) => {
  const { name, counterpart, group_uuid: group } = conversation
  const isNamed = !/^[+\d]/.test(name)
  return (
    <span class={`avatar hue-${hueOf(counterpart)}`} aria-hidden="true">
      {group ? <Icon name="users" /> : isNamed ? initialsOf(name) : <Icon name="user" />}
    </span>
  )
}
