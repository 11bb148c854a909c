import { VoiceError } from './fault.ts'

/** Why a call is over. */
export type CallEnd = {
  readonly reason: 'hangup' | 'canceled' | 'rejected' | 'busy' | 'no_answer' | 'lost' | 'failed'
  /** Who ended it; `system` for neither. */
  readonly by: 'local' | 'remote' | 'system'
  /** The SIP status behind it; null for none. */
  readonly status: number | null
  /** In words, as far as the server told. */
  readonly message: string
}

type Message = {
  readonly status_code?: number
  readonly reason_phrase?: string
  getHeader?(name: string): string | undefined
}

/** What JsSIP tells of an end. */
export type Ended = { readonly originator: string; readonly message: Message | null; readonly cause: string }

/** The cause under which we end a call that the server does not know any more. */
export const lostCause = 'lost'

const byStatus: Record<number, CallEnd['reason']> = {
  408: 'no_answer',
  480: 'no_answer',
  486: 'busy',
  487: 'canceled',
  600: 'busy',
  603: 'rejected',
}

/** Of the connection, or of the media: nobody wanted it. */
const lost = [lostCause, 'Connection Error', 'Request Timeout', 'RTP Timeout', 'Dialog Error', 'No ACK']

const whose = (originator: string): CallEnd['by'] =>
  originator === 'local' || originator === 'remote' ? originator : 'system'

/** Reason header of a BYE or CANCEL (RFC 3326). */
const told = (message: Message | null): { status: number | null; text: string } => {
  const header = message?.getHeader?.('Reason') ?? ''
  const status = /cause\s*=\s*(\d{3})/i.exec(header)?.[1]
  return { status: status ? Number(status) : null, text: /text\s*=\s*"([^"]*)"/i.exec(header)?.[1] ?? '' }
}

/** @param wasAnswered whether anybody had answered */
export const readEnd = ({ originator, message, cause }: Ended, wasAnswered: boolean): CallEnd => {
  const by = whose(originator)
  const { status, text } = told(message)
  if (lost.includes(cause)) return { reason: 'lost', by: 'system', status, message: cause === lostCause ? text : cause }
  if (wasAnswered) return { reason: 'hangup', by, status, message: text }
  if (cause === 'Canceled') return { reason: 'canceled', by, status: 487, message: text }
  const answered = message?.status_code ?? null
  // Ours, before anybody answered: a call that came in and was not wanted.
  if (by === 'local' && answered === null)
    return { reason: cause === 'Rejected' ? 'rejected' : 'failed', by, status: null, message: cause }
  return { reason: byStatus[answered ?? 0] ?? 'failed', by, status: answered, message: message?.reason_phrase ?? cause }
}

/** What has to be told as an error: nobody meant it. */
export const errorOf = ({ reason, status, message }: CallEnd): VoiceError | null => {
  if (reason === 'failed') return new VoiceError('CALL_FAILED', `The call failed: ${status ?? ''} ${message}`, status)
  return reason === 'lost' ? new VoiceError('TRANSPORT_LOST', 'The call was lost', status) : null
}
