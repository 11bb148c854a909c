import type { CallOutcome, PhoneCall } from '../shell/phone-state.ts'

/** The end of a call, as the voice SDK reports it. */
type CallEnd = {
  readonly reason: 'hangup' | 'canceled' | 'rejected' | 'busy' | 'no_answer' | 'lost' | 'failed'
  readonly by: 'local' | 'remote' | 'system'
}

/** Returns how a call ended, from the view of the person. */
export const outcomeOf = ({ reason, by }: CallEnd, { direction }: Pick<PhoneCall, 'direction'>): CallOutcome => {
  const isOurs = by === 'local'
  if (reason === 'canceled' && direction === 'inbound') return 'missed'
  if (reason === 'rejected') return isOurs ? 'declined' : 'rejected'
  return reason
}
