import type { Outbound } from '../../../platform/lib/outbound.ts'
import type { MediaLeg, MediaRecording, MediaSound } from '../../../ports/media.ts'
import type { VoicePlan, VoiceProgram } from '../../../ports/voice.ts'
import type { RecordingSource } from '../recordings/recording-store.ts'
import type { CallCommand, CommandOutcome } from './call-command.ts'
import type {
  ProgramAddress,
  ProgramCall,
  ProgramError,
  ProgramStep,
  RequestWriter,
  ResolvedProgram,
  TwimlCompiler,
  VerbResult,
} from './program.ts'
import type { CallCallbacks, ProgramSource } from './program-source.ts'
import type { Verb, VerbOf } from './verbs.ts'

/** A sound that a verb names: at an address, an uploaded clip, or a text to speak. */
export type SoundSource =
  | { readonly url: string }
  /** Id of an uploaded clip, without prefix. */
  | { readonly clip: string }
  | { readonly text: string; readonly language: string | null; readonly voice: string | null }

/** Sounds that a leg can play, or why there are none. `note`, `detail`: for the timeline; `error_code`: of the result. */
export type PreparedSounds =
  | { readonly sounds: readonly MediaSound[]; readonly note: string | null }
  | { readonly error_code: string; readonly detail: string }

/** Makes sounds that a leg can play, or says within 3 s why not. @throws the reason of the signal */
export type Sounds = {
  prepare(account: string, source: SoundSource, signal: AbortSignal): Promise<PreparedSounds>
}

/** The address that gets a recording once it is stored, and the shape of that request; null: none. */
export type RecordingStatus = (ProgramAddress & Pick<ResolvedProgram, 'shape'>) | null

/** Recordings that a program makes during a call. Ids are uuids. */
export type ProgramRecordings = {
  /** Stores that a recording begins. `path`: of its file, to be written. `refused`: why nothing may be recorded. */
  begin(
    call: ProgramCall,
    source: RecordingSource,
    status: RecordingStatus,
  ): Promise<{ readonly id: string; readonly path: string } | { readonly refused: string }>
  /**
   * Completes a recording; resolves once that is durable. `left`: it was not closed properly, so a file may exist.
   * @returns the address of its file, for `recording_url`; null if it is completed later
   */
  finish(
    call: ProgramCall,
    recording: string,
    content: MediaRecording | 'left',
  ): Promise<{ readonly url: string | null }>
}

/** Returns the id of a stream as native frames, results and reports have it. */
export const printStream = (id: string): string => `MZ${id}`

/** A stream that was begun. `ended` gives the result of the verb: {reason, code, seconds}, and error_code if it failed. */
export type ProgramStream = {
  readonly id: string
  readonly ended: Promise<VerbResult>
  sendKey(key: string): void
  stop(): void
}

/** @returns a failure with the reason and the code of the result, such as `forbidden_address`, if the stream was not begun */
export type RunStream = (request: {
  readonly call: ProgramCall
  /** Signs the handshake. */
  readonly program: ResolvedProgram
  readonly leg: MediaLeg
  /** Its addresses are absolute. */
  readonly verb: VerbOf<'stream'>
  /** Adds a fault of the stream to the timeline of the call. */
  note(text: string): void
}) => Promise<ProgramStream | { readonly reason: string; readonly error_code: string; readonly detail: string }>

/** A child call that call control has begun, or the SIP status that refused it, such as 402 or 403. */
export type PlacedChild =
  | { readonly plan: VoicePlan; readonly call: ProgramCall }
  | { readonly failed: number; readonly reason: string }

/** The failure that ended a program, as its event names it. */
export type ProgramFailure = Pick<ProgramError, 'code' | 'url' | 'status'> & { readonly detail: string }

/** The dependencies of programs on the rest of the platform. */
export type ProgramDeps = {
  readonly writers: Readonly<Record<ResolvedProgram['shape'], RequestWriter>>
  readonly compileTwiml: TwimlCompiler
  readonly sounds: Sounds
  readonly recordings: ProgramRecordings
  /** Removes this many seconds of silence from the end of a recording that was closed. */
  trimRecording(path: string, seconds: number): Promise<MediaRecording>
  readonly runStream: RunStream
  /** @param callbacks the receiver of its statuses */
  placeChild(parent: ProgramCall, dial: VerbOf<'dial'>, callbacks: CallCallbacks | null): Promise<PlacedChild>
  /** Resolves the source of a redirection. @throws ProgramError */
  resolve(call: ProgramCall, source: ProgramSource): Promise<ResolvedProgram>
  /** Stores the tags of a call. */
  storeTags(call: ProgramCall, tags: ProgramCall['tags']): Promise<void>
  /** Collects the story of a call. Must not throw. */
  onStep(call: ProgramCall, step: ProgramStep): void
  /** Writes the event `call.program.failed`. */
  onFailure(call: ProgramCall, application: string | null, failure: ProgramFailure): Promise<void>
  onError(error: unknown): void
}

/** A program to run. `outbound`: the client for addresses of the account. `call.status` is that of the beginning. */
export type ProgramRun = {
  readonly call: ProgramCall
  readonly program: ResolvedProgram
  readonly outbound: Outbound
  /** Verbs to run before the first document is requested. */
  readonly preamble?: readonly Verb[]
  /** The verbs are for the callee of a dialled call that is not connected yet: `screen` runs them. Default: false. */
  readonly isScreening?: boolean
}

/** Runs programs. */
export type ProgramRunner = {
  /** Returns the program for the plan of a call. */
  begin(run: ProgramRun): VoiceProgram
  /** Executes a command on the call with this uuid; null if no program of it runs here. */
  command(call: string, command: CallCommand): Promise<CommandOutcome | null>
}
