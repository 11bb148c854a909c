import { VoiceError } from './voice-error.ts'

/** The reason why a call ended. */
export type CallEnd = {
  readonly reason: 'hangup' | 'canceled' | 'rejected' | 'busy' | 'no_answer' | 'lost' | 'failed'
  /** The side that ended the call; `system` for neither. */
  readonly by: 'local' | 'remote' | 'system'
  /** The SIP status; null for none. */
  readonly status: number | null
  /** The reason in words, if the server gave one. */
  readonly message: string
}

type SipMessage = {
  readonly status_code?: number
  readonly reason_phrase?: string
  getHeader?(name: string): string | undefined
}

/** The `ended` or `failed` event of JsSIP. */
export type SessionEnd = { readonly originator: string; readonly message: SipMessage | null; readonly cause: string }

/** The cause with which we end a call that the server no longer knows. */
export const lostCause = 'lost'

const byStatus: Record<number, CallEnd['reason']> = {
  408: 'no_answer',
  480: 'no_answer',
  486: 'busy',
  487: 'canceled',
  600: 'busy',
  603: 'rejected',
}

/** Causes of JsSIP that mean a lost connection or lost media. */
const lostCauses = [lostCause, 'Connection Error', 'Request Timeout', 'RTP Timeout', 'Dialog Error', 'No ACK']

const sideOf = (originator: string): CallEnd['by'] =>
  originator === 'local' || originator === 'remote' ? originator : 'system'

/** Reads the Reason header of a BYE or CANCEL (RFC 3326). */
const readReason = (message: SipMessage | null): { status: number | null; text: string } => {
  const header = message?.getHeader?.('Reason') ?? ''
  const status = /cause\s*=\s*(\d{3})/i.exec(header)?.[1]
  return { status: status ? Number(status) : null, text: /text\s*=\s*"([^"]*)"/i.exec(header)?.[1] ?? '' }
}

/** @param wasAnswered whether the call had been answered */
export const callEndOf = ({ originator, message, cause }: SessionEnd, wasAnswered: boolean): CallEnd => {
  const by = sideOf(originator)
  const { status, text } = readReason(message)
  if (lostCauses.includes(cause))
    return { reason: 'lost', by: 'system', status, message: cause === lostCause ? text : cause }
  if (wasAnswered) return { reason: 'hangup', by, status, message: text }
  if (cause === 'Canceled') return { reason: 'canceled', by, status: 487, message: text }
  const answered = message?.status_code ?? null
  // We ended the call before any answer: an incoming call was rejected.
  if (by === 'local' && answered === null)
    return { reason: cause === 'Rejected' ? 'rejected' : 'failed', by, status: null, message: cause }
  return { reason: byStatus[answered ?? 0] ?? 'failed', by, status: answered, message: message?.reason_phrase ?? cause }
}

/** Returns the error to emit for an end that neither side intended; null for any other. */
export const errorOf = ({ reason, status, message }: CallEnd): VoiceError | null => {
  const code = status === null ? '' : ` (${status})`
  if (reason === 'failed') return new VoiceError('CALL_FAILED', `The call failed: ${message}${code}`, status)
  return reason === 'lost' ? new VoiceError('TRANSPORT_LOST', 'The call was lost', status) : null
}
