import { callIdOf, cseqOf } from '@trunkline/sip/fields.ts'
import type { SipMessage } from '@trunkline/sip/message.ts'
import type { VoiceCallControl, VoiceLeg, VoiceTimelineEntry } from '../../../ports/voice.ts'
import { maxWaitingEntries } from '../limits.ts'

export type TimelineEntry = Omit<VoiceTimelineEntry, 'at'>

const messageText = (message: SipMessage): string =>
  message.kind === 'request'
    ? `${message.method} ${message.uri}`
    : `${message.status} ${message.reason} (${cseqOf(message).method})`

const keyOf = (callId: string, isOwnCallee: boolean): string => `${callId} ${isOwnCallee}`

/** Sends the timeline of each call to call control: messages of its dialogs, and notes. */
export class CallTimelines {
  private readonly trace: VoiceCallControl['addTimelineEntries']
  private readonly now: () => number
  private readonly dialogs = new Map<string, { timeline: CallTimeline; leg: VoiceLeg }>()

  constructor(trace: VoiceCallControl['addTimelineEntries'], now: () => number) {
    this.trace = trace
    this.now = now
  }

  /** @param isWithheld the caller withholds its number */
  begin(isWithheld = false): CallTimeline {
    return new CallTimeline(this.trace, this.now, isWithheld)
  }

  /** @param isOwnCallee the called side of a call to ourselves, whose calling side has the same Call-ID */
  follow(timeline: CallTimeline, callId: string, leg: VoiceLeg, isOwnCallee = false): void {
    const key = keyOf(callId, isOwnCallee)
    this.dialogs.set(key, { timeline, leg })
    timeline.keys.push(key)
  }

  addMessage(direction: 'in' | 'out', message: SipMessage, isOwnCallee = false): void {
    const found = this.dialogs.get(keyOf(callIdOf(message), isOwnCallee))
    if (!found) return
    const { timeline, leg } = found
    // Our requests to the caller go to its Contact, which may have its number.
    const isToCaller = direction === 'out' && leg === 'caller' && message.kind === 'request'
    const text = isToCaller && timeline.isWithheld ? `${message.method} sip:anonymous` : messageText(message)
    timeline.add({ leg, what: direction === 'in' ? 'sip_in' : 'sip_out', text })
  }

  end({ keys }: CallTimeline): void {
    for (const key of keys) this.dialogs.delete(key)
  }
}

/** Returns the side of a media leg: `caller`, or `callee-1`, `callee-2` … for the devices that ring. */
export const sideOf = (mediaLeg: string): VoiceLeg => (mediaLeg === 'caller' ? 'caller' : 'callee')

/** The timeline of one call. */
export class CallTimeline {
  /** Keys of its dialogs. */
  readonly keys: string[] = []
  readonly isWithheld: boolean
  private readonly trace: VoiceCallControl['addTimelineEntries']
  private readonly now: () => number
  private call: string | null = null
  private waiting: VoiceTimelineEntry[] = []

  constructor(trace: VoiceCallControl['addTimelineEntries'], now: () => number, isWithheld: boolean) {
    this.trace = trace
    this.now = now
    this.isWithheld = isWithheld
  }

  setCall(call: string): void {
    this.call = call
    if (this.waiting.length > 0) this.trace(call, this.waiting)
    this.waiting = []
  }

  add(line: TimelineEntry): void {
    const entry = { at: this.now(), ...line }
    if (this.call !== null) this.trace(this.call, [entry])
    else if (this.waiting.length < maxWaitingEntries) this.waiting.push(entry)
  }

  /** Adds events of the media. @param leg id of the media leg; null for the whole call */
  addMedia(leg: string | null, text: string): void {
    this.add({ leg: leg === null ? null : sideOf(leg), what: 'note', text })
  }
}
