import { setTimeout as wait } from 'node:timers/promises'
import type { MediaLeg } from '../../../ports/media.ts'
import type { VoiceLine, VoiceScreening } from '../../../ports/voice.ts'
import type { CallRecording } from './call-recording.ts'
import type { KeyBuffer } from './key-buffer.ts'
import type { ProgramAddress, ProgramCall, ResolvedProgram, VerbResult } from './program.ts'
import type { ProgramDeps, ProgramStream } from './program-deps.ts'
import type { Verb } from './verbs.ts'

/** The state of a running program that its verbs share. */
export type ProgramState = {
  readonly keys: KeyBuffer
  tags: ProgramCall['tags']
  /** The recording of `record_call`. */
  recording: CallRecording | null
  /** Open streams. `takesKeys`: those of the party go to it. */
  readonly streams: Set<{ readonly name: string | null; readonly stream: ProgramStream; readonly takesKeys: boolean }>
  /** A stream holds the call: keys are for it alone. */
  isStreaming: boolean
}

/** Everything that a verb works with. */
export type VerbContext = {
  readonly deps: ProgramDeps
  readonly line: VoiceLine
  readonly state: ProgramState
  readonly program: ResolvedProgram
  /** Where the verb comes from: the request that made the call, a document of the program, or a command. */
  readonly origin: 'order' | 'document' | 'command'
  /** Ends the verb: the party is gone, or the program goes on with another document. */
  readonly signal: AbortSignal
  /** The verbs run for a callee that is not connected yet. */
  readonly isScreening: boolean
  call(): ProgramCall
  /** Makes what runs verbs for the callee of a dialled call, before it is connected. */
  screen(callee: ProgramCall, verbs: readonly Verb[]): VoiceScreening
}

/** How a verb ended, and how the program goes on: with the `action` of the verb if it has one, else with the next verb. */
export type VerbOutcome = {
  /** Null for a verb that has none. */
  readonly result: VerbResult | null
  /** For the story of the call, such as `fetch_failed`; null or absent if nothing failed. */
  readonly errorCode?: string | null
  /** No sound was played, no input waited for, and no time passed. */
  readonly isIdle?: boolean
  /** The result is not sent to the `action` of the verb. */
  readonly skipsAction?: boolean
  /** The program goes on with the document at this address. */
  readonly goesTo?: ProgramAddress
  /** The program has ended. */
  readonly isOver?: boolean
}

/** The outcome of a verb that found the call ended. */
export const callOver: VerbOutcome = { result: null, isOver: true, isIdle: true }

/** The outcome of a verb without a result that took no time. */
export const idle: VerbOutcome = { result: null, isIdle: true }

/** Answers the call unless it is answered, and returns the party's leg; null if the call is over. */
export const answeredLeg = async ({ line }: Pick<VerbContext, 'line'>): Promise<MediaLeg | null> =>
  (await line.answer()) && !line.gone.aborted ? line.leg : null

/** Waits this time, or until the signal aborts. */
export const sleep = async (ms: number, signal: AbortSignal): Promise<void> => {
  await wait(ms, undefined, { signal }).catch(() => undefined)
}
