import type { MediaCall, MediaLeg } from '../../../ports/media.ts'
import type { VoiceDialled, VoiceEnd, VoiceLine } from '../../../ports/voice.ts'
import type { ActiveCall } from './active-call.ts'
import type { CallLeg } from './call-leg.ts'
import { PartyKeys } from './party-keys.ts'

/** The line of verbs that run for the callee of a dialled call, which has answered and is not connected yet. */
export class ScreeningLine implements VoiceLine {
  readonly isAnswered = true
  readonly call: string
  readonly media: MediaCall
  readonly leg: MediaLeg
  private readonly active: ActiveCall
  private readonly partyKeys = new PartyKeys()
  private readonly over = new AbortController()

  constructor(active: ActiveCall, media: MediaCall, callee: CallLeg) {
    this.call = active.callId ?? ''
    this.active = active
    this.media = media
    this.leg = callee.media
  }

  get gone(): AbortSignal {
    return this.over.signal
  }

  ring(): Promise<void> {
    return Promise.resolve()
  }

  early(): Promise<boolean> {
    return this.answer()
  }

  answer(): Promise<boolean> {
    return Promise.resolve(!this.gone.aborted)
  }

  refuse(): void {
    // The callee has answered.
  }

  /** Ends the call. A program that completes it does so for the callee, which declines. */
  hangUp({ how, status, reason }: Pick<VoiceEnd, 'how' | 'status' | 'reason'>): void {
    this.active.end({ how, status, reason, by: how === 'completed' ? 'callee' : null })
  }

  keys(listener: (key: string) => void): () => void {
    return this.partyKeys.listen(listener)
  }

  /** No verb before the connection records. */
  speech(): () => void {
    return () => {}
  }

  dial(): Promise<VoiceDialled> {
    return Promise.reject(new Error('a callee that is not connected yet dials nobody'))
  }

  note(text: string): void {
    this.active.addEntry({ leg: 'callee', what: 'note', text })
  }

  pressed(transport: 'rtp' | 'info', key: string): void {
    if (this.partyKeys.takes(transport)) this.partyKeys.press(key)
  }

  /** The call is over. */
  end(): void {
    this.over.abort()
  }
}
