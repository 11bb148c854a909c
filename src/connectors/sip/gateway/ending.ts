import type { MediaAnswer } from '../../port.ts'
import type { VoiceEnd, VoiceLeg, VoiceRefusal } from '../../voice-port.ts'
import type { Outcome } from '../codec/agent/exchange.ts'

/** Why a call ends, without what was counted. */
export type Ending = Pick<VoiceEnd, 'how' | 'status' | 'reason' | 'by'> & {
  /** The reason is the operator's own matter, as it may quote a carrier or name an address: the sides are told the status alone. */
  readonly isVeiled?: boolean
}

type Refused = Extract<MediaAnswer<unknown>, { outcome: 'refused' }>

const statuses: Record<Refused['cause'], number> = { full: 503, codec: 488, description: 488, state: 500 }

export const failed = (status: number, reason: string, by: VoiceLeg | null = null): Ending => ({
  ...{ how: 'failed', status, reason, by },
})

export const hungUp = (by: VoiceLeg): Ending => ({ how: 'completed', status: 200, reason: 'Hung up', by })

/** As `failed`, for the operator's eyes. */
export const veiled = (status: number, reason: string, by: VoiceLeg | null = null): Ending => ({
  ...{ ...failed(status, reason, by), isVeiled: true },
})

export const ofMedia = ({ cause, reason }: Refused): Ending => veiled(statuses[cause], reason)

/** A call that the desk does not let go on. */
export const ofDesk = ({ status, reason }: VoiceRefusal): Ending => ({
  how: status === 403 ? 'suspended' : status < 500 ? 'balance' : 'failed',
  ...{ status, reason, by: null },
})

/** What became of an INVITE of ours that was not accepted. */
export const ofOutcome = (outcome: Outcome): Ending => {
  if (outcome.outcome === 'failed') return veiled(outcome.why === 'timeout' ? 408 : 503, outcome.reason)
  const { status, reason } = outcome.response
  const by = 'callee'
  if (status === 486 || status === 600) return { how: 'busy', status, reason, by, isVeiled: true }
  if (status === 603 || status === 607) return { how: 'rejected', status, reason, by, isVeiled: true }
  if (status === 408 || status === 480) return { how: 'no_answer', status, reason, by, isVeiled: true }
  // What it wants is between us and it: the caller has no password for it, and follows no redirection of it.
  if (status === 401 || status === 407) return veiled(503, 'The trunk does not take our credentials', by)
  if (status < 400) return veiled(502, `The trunk redirects us: ${status} ${reason}`, by)
  return veiled(status, reason, by)
}

/** True when somebody else may still be asked: nobody has heard it ring. */
export const mayFailOver = (outcome: Outcome): boolean => {
  if (outcome.outcome === 'failed') return outcome.why !== 'cancelled'
  const { status } = outcome.response
  return [401, 403, 407, 408, 480, 488].includes(status) || (status >= 500 && status < 600)
}

const ranks: Partial<Record<Ending['how'], number>> = { rejected: 3, busy: 2, no_answer: 1 }

/** Of several that refused, the one whose word counts: who declined, who was busy, who did not answer. */
export const weightiest = (endings: readonly Ending[]): Ending | null =>
  endings.toSorted((a, b) => (ranks[b.how] ?? 0) - (ranks[a.how] ?? 0))[0] ?? null
