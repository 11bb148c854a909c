import { PhoneNumber } from '../parts/values.tsx'
import { type Person, useUsers } from '../shell/users.ts'
import { words } from '../words/en/calls.ts'
import { phoneNumber } from '../words/format.ts'
import { type Call, partiesOf } from './call-state.tsx'

/** The name of a user whom a call rings. */
const Colleague = ({ user }: { user: string }) => {
  const { users = [] } = useUsers()
  return <span dir="auto">{users.find(({ uuid }) => uuid === user)?.name ?? words.colleague}</span>
}

/** A number of a call, or the user at that side. */
export const Party = ({ number }: { number: string }) => {
  if (isUser(number)) return <Colleague user={number} />
  const without = numberless(number)
  return without === null ? <PhoneNumber number={number} /> : <span class="soft">{without}</span>
}

/** True for a user of the account at a side of a call, in place of a number. */
export const isUser = (number: string): boolean => number.startsWith('USR')

/** The text for a side without a number; null if it has one. */
const numberless = (number: string): string | null => {
  if (isUser(number)) return words.colleague
  return number === '' ? words.unknown : number === 'anonymous' ? words.withheld : null
}

/** The contact or the user at the other side, or its number. @param users whose names are known */
export const otherName = (call: Call, users: readonly Person[] = []): string => {
  const { other } = partiesOf(call)
  const user = users.find(({ uuid }) => uuid === other)?.name
  return call.contact_name ?? user ?? numberless(other) ?? phoneNumber(other)
}

/** The other side by name and number. */
export const Other = ({ call }: { call: Call }) => {
  const { other } = partiesOf(call)
  if (!call.contact_name) return <Party number={other} />
  return (
    <span class="call-other">
      <span class="cut" dir="auto">
        {call.contact_name}
      </span>
      <bdi class="soft tabular" dir="ltr">
        {phoneNumber(other)}
      </bdi>
    </span>
  )
}

/** True if the other side can be called. */
export const isNumber = (other: string): boolean => /^\+\d{7,15}$/.test(other)
