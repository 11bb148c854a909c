import { PhoneNumber } from '../parts/values.tsx'
import { words } from '../words/en/calls.ts'
import { phoneNumber } from '../words/format.ts'
import { type Call, partiesOf } from './call-state.tsx'

/** A number of a call. */
export const Party = ({ number }: { number: string }) =>
  number === '' ? <span class="soft">{words.unknown}</span> : <PhoneNumber number={number} />

/** The contact at the other side, or its number. */
export const otherName = (call: Call): string => {
  const { other } = partiesOf(call)
  return call.contact_name ?? (other === '' ? words.unknown : phoneNumber(other))
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
