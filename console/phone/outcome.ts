import type { CallEnd } from '../../packages/voice-sdk/src/call-end.ts'
import type { CallOutcome, PhoneCall } from '../shell/phone-state.ts'

/** Returns how a call ended, from the view of the person. */
export const outcomeOf = (
  { reason, by }: Pick<CallEnd, 'reason' | 'by'>,
  { direction }: Pick<PhoneCall, 'direction'>,
): CallOutcome => {
  const isOurs = by === 'local'
  if (reason === 'canceled' && direction === 'inbound') return 'missed'
  if (reason === 'rejected') return isOurs ? 'declined' : 'rejected'
  return reason
}
