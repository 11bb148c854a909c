import type { EndedCall, PhoneCall } from '../shell/phone-state.ts'
import { words } from '../words/en/phone.ts'
import { phoneNumber } from '../words/format.ts'

type Party = Pick<PhoneCall | EndedCall, 'number' | 'name'>

/** The number of the other side for reading; empty for a colleague. */
export const numberOf = ({ number }: Party): string => {
  if (number.startsWith('USR')) return ''
  return number === 'anonymous' ? words.withheld : phoneNumber(number)
}

/** The name of the other side, or its number. */
export const nameOf = (call: Party): string => {
  const colleague = call.number.startsWith('USR') ? words.colleague : ''
  return call.name || numberOf(call) || colleague || words.unknown
}
