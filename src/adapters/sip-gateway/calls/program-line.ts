import type { MediaCall, MediaCodec, MediaLeg } from '../../../ports/media.ts'
import type {
  VoiceDialled,
  VoiceDialOptions,
  VoiceEnd,
  VoiceLine,
  VoicePlan,
  VoiceProgram,
} from '../../../ports/voice.ts'
import type { ActiveCall, CallBehaviour } from './active-call.ts'
import { type CallLeg, sdpBody } from './call-leg.ts'
import { DialledChild } from './dialled-child.ts'
import { causeOfMedia, causeOfStatus, causeOfTime, failure, type HangupCause } from './hangup-cause.ts'
import { PartyKeys } from './party-keys.ts'

const codecs: readonly MediaCodec[] = ['pcmu', 'pcma']

/** Adds a call that the platform places to the registry. */
export type PlaceCall = (plan: VoicePlan, behaviourOf: (call: ActiveCall) => CallBehaviour) => ActiveCall

/** Ends of a call by the platform that are no reason for the end of those that it dialled. */
const ordinaryEnds: ReadonlySet<VoiceEnd['how']> = new Set(['completed', 'canceled', 'time_limit'])

/** Why a dialled call ends with the one that dialled it. */
const endOfDialler = ({ ending }: ActiveCall, child: ActiveCall): HangupCause => {
  const endsBoth = ending?.by === null && !ordinaryEnds.has(ending.how)
  return endsBoth ? ending : endOfDial('The call that dialled is over', 'caller', child)
}

const endOfDial = (reason: string, by: HangupCause['by'], { isTalking }: ActiveCall): HangupCause =>
  isTalking ? { how: 'completed', status: 200, reason, by } : { how: 'canceled', status: 487, reason, by }

/**
 * Runs the program of a plan for one party: the caller, or the target that answers a call which the platform places. It is
 * the line that the program gets.
 */
export class ProgramLine implements CallBehaviour, VoiceLine {
  readonly endsOnSilence = false
  isAnswered = false
  readonly call: string
  private readonly active: ActiveCall
  private readonly program: VoiceProgram
  private readonly mostSeconds: number | null
  private readonly place: PlaceCall
  private readonly over = new AbortController()
  private readonly overPromise = Promise.withResolvers<void>()
  private openedMedia: MediaCall | null = null
  private party: CallLeg | null = null
  private isEarly = false
  private ringing: Promise<void> | null = null
  private answering: Promise<void> | null = null
  private readonly partyKeys = new PartyKeys()
  private readonly speechListeners = new Set<(change: 'began' | 'ended') => void>()
  /** The call that the program dials, with what ends it. */
  private dialling: { readonly call: ActiveCall; readonly endsOnStar: boolean } | null = null
  private dialCount = 0

  constructor(active: ActiveCall, { call, mostSeconds }: VoicePlan, program: VoiceProgram, place: PlaceCall) {
    this.call = call
    this.mostSeconds = mostSeconds
    this.active = active
    this.program = program
    this.place = place
  }

  get gone(): AbortSignal {
    return this.over.signal
  }

  get leg(): MediaLeg | null {
    return this.isEarly || this.isAnswered ? (this.party?.media ?? null) : null
  }

  get media(): MediaCall | null {
    return this.leg && this.openedMedia
  }

  // The behaviour.

  /** Resolves once the program runs, or the call is over. */
  async run(): Promise<void> {
    const { active } = this
    const media = await active.openMedia({ isProcessed: true })
    if (!media) return
    this.openedMedia = media
    if (active.caller) {
      this.limitWait()
      this.party = await active.addCaller(media, codecs)
    } else await this.search(media)
    if (this.party && !active.isOver) void this.runProgram()
  }

  pressed(way: 'rtp' | 'info', key: string, mediaLeg: string): void {
    const { party, dialling, partyKeys } = this
    if (mediaLeg !== party?.media.id || !partyKeys.takes(way)) return
    if (!dialling) partyKeys.press(key)
    else if (key === '*' && dialling.endsOnStar)
      dialling.call.end(endOfDial('The party pressed the star', 'caller', dialling.call))
    // The bridge relays the keys in the audio.
    else if (way === 'info') party.passKey(key)
  }

  spoke(change: 'began' | 'ended', mediaLeg: string): void {
    if (mediaLeg === this.party?.media.id) for (const listener of [...this.speechListeners]) listener(change)
  }

  ended(): void {
    this.over.abort()
    this.overPromise.resolve()
  }

  // The line.

  ring(): Promise<void> {
    if (this.active.isOver || this.isAnswered) return Promise.resolve()
    this.ringing ??= this.active.ring(null)
    return this.ringing
  }

  async early(): Promise<boolean> {
    const { party, active } = this
    if (this.leg) return !active.isOver
    // Without an offer from the caller there is nothing to answer before the 200.
    if (!party || !active.caller || party.isAnswerDue || active.isOver) return false
    const description = await party.media.describe()
    if (active.isOver || description.outcome === 'refused') return false
    if (!this.leg) active.caller.incoming.ring({ status: 183, body: sdpBody(description.value) })
    this.isEarly = true
    return true
  }

  async answer(): Promise<boolean> {
    this.answering ??= this.acceptCaller().catch((error) => {
      this.active.onError(error)
      this.active.end(failure(500, 'The answer could not be persisted'))
    })
    await this.answering
    return !this.active.isOver
  }

  refuse(status: number, reason: string): void {
    if (!this.isAnswered) this.active.end(causeOfStatus(status, reason))
  }

  hangUp({ how, status, reason }: Pick<VoiceEnd, 'how' | 'status' | 'reason'>): void {
    this.active.end({ how, status, reason, by: null })
  }

  keys(listener: (key: string) => void): () => void {
    return this.partyKeys.listen(listener)
  }

  speech(listener: (change: 'began' | 'ended') => void): () => void {
    this.speechListeners.add(listener)
    return () => this.speechListeners.delete(listener)
  }

  async dial(plan: VoicePlan, { answersOnBridge, endsOnStar, signal }: VoiceDialOptions): Promise<VoiceDialled> {
    const { active, party } = this
    // A program has a party from its beginning.
    if (!party) throw new Error('a program dials without a party')
    const child: ActiveCall = this.place(plan, () => behaviour)
    const side = { call: active, line: this, party }
    const behaviour = new DialledChild(child, plan, side, `dial-${++this.dialCount}`)
    if (this.dialling) child.end(failure(491, 'The program dials already'))
    else this.dialling = { call: child, endsOnStar }
    const end = () => child.end(endOfDial('The program ended the dialled call', null, child))
    const leave = () => child.end(endOfDialler(active, child))
    signal.addEventListener('abort', end)
    this.gone.addEventListener('abort', leave)
    if (signal.aborted) end()
    if (!answersOnBridge) await this.answer()
    if (this.gone.aborted) leave()
    void child.run()
    await child.mediaReleased
    signal.removeEventListener('abort', end)
    this.gone.removeEventListener('abort', leave)
    if (this.dialling?.call === child) this.dialling = null
    return behaviour.dialled
  }

  note(text: string): void {
    this.active.addEntry({ leg: null, what: 'note', text })
  }

  /** Ends a call whose program does not answer. The accounting limits an answered one. */
  private limitWait(): void {
    const { active, mostSeconds } = this
    if (mostSeconds === null) return
    active.after('the answer', mostSeconds * 1_000, () => {
      if (!this.isAnswered) active.end(causeOfTime(mostSeconds, 480))
    })
  }

  /** Finds the party of a call that the platform places. */
  private async search(media: MediaCall): Promise<void> {
    const { active } = this
    // Some carriers send 183 alone.
    const early = () => void this.ring()
    const found = await active.search({ media, caller: null, codecs, headers: [], early })
    if (!found) return
    const { target, leg } = found
    active.setLegs([leg])
    const { session } = leg
    if (!session) return
    if (!(await active.persistAnswer(target, () => [leg.snapshot(session.dialog)]))) return
    this.party = leg
    this.answering = Promise.resolve()
    this.begin(leg)
    await active.connection(leg)
  }

  /** Answers the caller. */
  private async acceptCaller(): Promise<void> {
    const { active, party } = this
    if (!party || !active.caller || active.isOver) return
    const { incoming } = active.caller
    const description = await party.media.describe()
    if (description.outcome === 'refused') {
      active.end(causeOfMedia(description))
      return
    }
    active.setLegs([party])
    if (!(await active.persistAnswer(null, () => [party.snapshot(incoming.dialog)]))) return
    await active.recordParty(party)
    // Null when the caller cancelled first: that has ended the call.
    party.session = incoming.accept({ body: sdpBody(description.value) }, party)
    this.begin(party)
    // Until the ACK answers our offer, nothing can be played.
    await Promise.race([party.described(), this.overPromise.promise])
    await active.connection(party)
  }

  /** The party is answered. */
  private begin(party: CallLeg): void {
    this.active.establish()
    if (this.active.isOver) return
    this.isAnswered = true
    this.active.stopTimer('the answer')
    void party.media.listenForKeys()
  }

  private async runProgram(): Promise<void> {
    const { active } = this
    try {
      await this.program.run(this)
      const reason = 'The program is over'
      active.end(this.isAnswered ? { how: 'completed', status: 200, reason, by: null } : causeOfStatus(480, reason))
    } catch (error) {
      active.onError(error)
      active.end({ how: 'program_error', status: 500, reason: 'The program of the call failed', by: null })
    }
  }
}
