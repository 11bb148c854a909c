import type { VoiceDesk, VoiceLeg, VoiceTrace } from '../../voice-port.ts'
import { callIdOf, cseqOf } from '../codec/fields.ts'
import type { SipMessage } from '../codec/message.ts'

/** Lines that wait until the call has a name: more are lost. */
const mostWaiting = 50

type Line = Omit<VoiceTrace, 'at'>

const lineOf = (message: SipMessage): string =>
  message.kind === 'request'
    ? `${message.method} ${message.uri}`
    : `${message.status} ${message.reason} (${cseqOf(message).method})`

/** Tells the desk the story of each call: what was sent and received in its dialogs, and notes. */
export class Timelines {
  private readonly trace: VoiceDesk['trace']
  private readonly now: () => number
  private readonly stories = new Map<string, { story: Story; leg: VoiceLeg }>()

  constructor(trace: VoiceDesk['trace'], now: () => number) {
    this.trace = trace
    this.now = now
  }

  begin(): Story {
    return new Story(this.trace, this.now)
  }

  follow(story: Story, callId: string, leg: VoiceLeg): void {
    this.stories.set(callId, { story, leg })
    story.callIds.push(callId)
  }

  seen(direction: 'in' | 'out', message: SipMessage): void {
    const found = this.stories.get(callIdOf(message))
    found?.story.tell({ leg: found.leg, what: direction === 'in' ? 'sip_in' : 'sip_out', text: lineOf(message) })
  }

  end({ callIds }: Story): void {
    for (const callId of callIds) this.stories.delete(callId)
  }
}

/** The story of one call. */
export class Story {
  readonly callIds: string[] = []
  private readonly trace: VoiceDesk['trace']
  private readonly now: () => number
  private call: string | null = null
  private waiting: VoiceTrace[] = []

  constructor(trace: VoiceDesk['trace'], now: () => number) {
    this.trace = trace
    this.now = now
  }

  name(call: string): void {
    this.call = call
    if (this.waiting.length > 0) this.trace(call, this.waiting)
    this.waiting = []
  }

  tell(line: Line): void {
    const told = { at: this.now(), ...line }
    if (this.call !== null) this.trace(this.call, [told])
    else if (this.waiting.length < mostWaiting) this.waiting.push(told)
  }
}
