import { type Body, badRequest, type ControlResponse, notFound, numberOf } from '../responses.ts'
import type { CallItem } from './call-log.ts'
import type { VoiceSimulator } from './voice-simulator.ts'

// Calls part of the control interface.

const time = (at: number): string => new Date(at).toISOString()

/** For an active call, the tones detected so far. */
const presentCall = ({ trunk }: VoiceSimulator, item: CallItem): Body => ({
  call_id: item.id,
  sip_call_id: item.callId,
  direction: item.direction,
  peer: item.peer,
  at: time(item.at),
  state: item.state,
  status: item.status,
  ...(item.answeredAt === null ? {} : { answered_at: time(item.answeredAt) }),
  ...(item.endedAt === null ? {} : { ended_at: time(item.endedAt) }),
  digits: item.digits,
  tones: trunk.activeCall(item.id)?.tones ?? item.tones,
})

/** Calls of a handset, oldest first. */
export const presentCalls = (place: VoiceSimulator, number: string): Body[] =>
  place.log.items.itemsOf(number).map((item) => presentCall(place, item))

/** True for a valid talk duration in seconds. */
export const isTalkSeconds = (seconds: unknown): seconds is number =>
  typeof seconds === 'number' && seconds > 0 && seconds <= 14_400

const isKeys = (digits: unknown): digits is string => typeof digits === 'string' && /^[0-9*#A-D]{0,50}$/i.test(digits)

/** Places a call, presses keys or hangs up. */
export const handleVoiceAction = (
  { trunk }: VoiceSimulator,
  number: string,
  what: string,
  body: Body,
): ControlResponse => {
  if (what === 'calls') {
    const to = numberOf(body.to)
    const { seconds = null, digits = '' } = body
    if (to === null) return badRequest('to: a number')
    if (seconds !== null && !isTalkSeconds(seconds)) return badRequest('seconds: 1 to 14400')
    if (!isKeys(digits)) return badRequest('digits: up to 50 of 0-9 * # A-D')
    const call_id = trunk.call(number, to, { talkMs: seconds && seconds * 1_000, digits })
    return { status: 202, body: { call_id } }
  }
  const telephone = typeof body.call_id === 'string' ? trunk.activeCall(body.call_id) : null
  if (telephone?.item.number !== number) return notFound
  if (what === 'keys') {
    if (!isKeys(body.digits)) return badRequest('digits: up to 50 of 0-9 * # A-D')
    return { status: 202, body: { pressed: telephone.press(body.digits) } }
  }
  telephone.hangUp()
  return { status: 202, body: {} }
}
