import { type Body, bad, missing, numberOf, type Reply } from '../answers.ts'
import type { CallItem } from './calls.ts'
import type { VoicePlace } from './place.ts'

// What the control interface does with calls.

const time = (at: number): string => new Date(at).toISOString()

/** Of one under way, what was heard so far. */
const printed = ({ trunk }: VoicePlace, item: CallItem): Body => ({
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
  tones: trunk.telephone(item.id)?.tones ?? item.tones,
})

/** The calls of a handset, oldest first. */
export const callsSeen = (place: VoicePlace, number: string): Body[] =>
  place.book.items.seen(number).map((item) => printed(place, item))

/** How long somebody talks, seconds. */
export const isTalk = (seconds: unknown): seconds is number =>
  typeof seconds === 'number' && seconds > 0 && seconds <= 14_400

/** A handset calls, or hangs up. */
export const voiceHandset = ({ trunk }: VoicePlace, number: string, what: string, body: Body): Reply => {
  if (what === 'calls') {
    const to = numberOf(body.to)
    const { seconds = null, digits = '' } = body
    if (to === null) return bad('to: a number')
    if (seconds !== null && !isTalk(seconds)) return bad('seconds: 1 to 14400')
    if (typeof digits !== 'string' || !/^[0-9*#A-D]{0,50}$/i.test(digits)) return bad('digits: up to 50 of 0-9 * # A-D')
    const call_id = trunk.call(number, to, { talkMs: seconds && seconds * 1_000, digits })
    return { status: 202, body: { call_id } }
  }
  const telephone = typeof body.call_id === 'string' ? trunk.telephone(body.call_id) : null
  if (telephone?.item.number !== number) return missing
  telephone.hangUp()
  return { status: 202, body: {} }
}
