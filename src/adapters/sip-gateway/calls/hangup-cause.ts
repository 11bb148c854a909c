import type { RequestOutcome } from '@trunkline/sip/user-agent/uac.ts'
import type { MediaResult } from '../../../ports/media.ts'
import type { VoiceEnd, VoiceLeg, VoiceRefusal } from '../../../ports/voice.ts'

/** Why a call ended. */
export type HangupCause = Pick<VoiceEnd, 'how' | 'status' | 'reason' | 'by'> & {
  /**
   * The reason is for operators only, as it may quote a carrier or name an address. The call's parties get the status
   * alone.
   */
  readonly isRedacted?: boolean
}

type MediaRefusal = Extract<MediaResult<unknown>, { outcome: 'refused' }>

const mediaStatuses: Record<MediaRefusal['cause'], number> = { full: 503, codec: 488, description: 488, state: 500 }

export const failure = (status: number, reason: string, by: VoiceLeg | null = null): HangupCause => ({
  ...{ how: 'failed', status, reason, by },
})

export const hungUp = (by: VoiceLeg): HangupCause => ({ how: 'completed', status: 200, reason: 'Hung up', by })

/** The longest time of a call is over. @param status 200 of an answered call */
export const causeOfTime = (seconds: number, status = 200): HangupCause => ({
  ...{ how: 'time_limit', status, reason: `The call has lasted ${seconds} s`, by: null },
})

/** The platform cut the call, for a reason that is also that of the other side of a call to ourselves. */
export const isCut = ({ how, by }: HangupCause): boolean =>
  by === null && ['balance', 'suspended', 'operator', 'interrupted', 'media_timeout'].includes(how)

/** As `failure`, with a reason for operators only. */
export const redactedFailure = (status: number, reason: string, by: VoiceLeg | null = null): HangupCause => ({
  ...{ ...failure(status, reason, by), isRedacted: true },
})

export const causeOfMedia = ({ cause, reason }: MediaRefusal): HangupCause =>
  redactedFailure(mediaStatuses[cause], reason)

/** A call that call control refuses to continue. */
export const causeOfRefusal = ({ status, reason }: VoiceRefusal): HangupCause => ({
  how: status === 403 ? 'suspended' : status < 500 ? 'balance' : 'failed',
  ...{ status, reason, by: null },
})

/** A final response or ACK without the session description that was due: there is nothing to talk over. */
export const undescribed = (by: VoiceLeg): HangupCause => ({
  ...{ how: 'no_sdp', status: 488, reason: `The ${by} answered without a session description`, by },
})

const howOfStatus = (status: number): HangupCause['how'] => {
  if (status === 486 || status === 600) return 'busy'
  if (status === 603 || status === 607) return 'rejected'
  return status === 408 || status === 480 ? 'no_answer' : 'failed'
}

/** The platform refuses a call with a SIP status. */
export const causeOfStatus = (status: number, reason: string): HangupCause => ({
  ...{ how: howOfStatus(status), status, reason, by: null },
})

/** Why our INVITE was not accepted. */
export const causeOfOutcome = (outcome: RequestOutcome): HangupCause => {
  if (outcome.outcome === 'failed') return redactedFailure(outcome.why === 'timeout' ? 408 : 503, outcome.reason)
  const { status, reason } = outcome.response
  const by = 'callee'
  // The challenge or redirect concerns only us: the caller has no credentials for it and must not follow it.
  if (status === 401 || status === 407) return redactedFailure(503, 'The trunk does not take our credentials', by)
  if (status < 400) return redactedFailure(502, `The trunk redirects us: ${status} ${reason}`, by)
  return { how: howOfStatus(status), status, reason, by, isRedacted: true }
}

/** True when another target may be tried: this one did not ring. */
export const mayFailOver = (outcome: RequestOutcome): boolean => {
  if (outcome.outcome === 'failed') return outcome.why !== 'cancelled'
  const { status } = outcome.response
  if (status >= 300 && status < 400) return true
  return [401, 403, 407, 408, 480, 488].includes(status) || (status >= 500 && status < 600)
}

const ranks: Partial<Record<HangupCause['how'], number>> = { rejected: 3, busy: 2, no_answer: 1 }

/** Returns the refusal to report if there are several: declined before busy before no answer. */
export const mostSpecific = (endings: readonly HangupCause[]): HangupCause | null =>
  endings.toSorted((a, b) => (ranks[b.how] ?? 0) - (ranks[a.how] ?? 0))[0] ?? null
