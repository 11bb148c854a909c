import { ordinaryCallSeconds as ordinarySeconds } from '../limits.ts'
import type { CallbackPayload as Payload } from '../orders/callback-job.ts'
import * as kinds from '../orders/callback-kinds.ts'
import * as commands from '../orders/commands.ts'
import { programCallOf } from '../orders/program-call.ts'
import * as resolution from '../orders/source-resolution.ts'
import type { CallCommand as Command, CommandOutcome as Outcome } from '../programs/call-command.ts'
import * as programs from '../programs/program.ts'
import type * as sources from '../programs/program-source.ts'
import type { Verb as AnyVerb, VerbOf as Named, VerbName } from '../programs/verbs.ts'
import * as links from '../recordings/recording-links.ts'
import * as status from '../recordings/recording-status.ts'
import * as recordings from '../recordings/recording-store.ts'
import * as store from '../store.ts'
import * as streams from '../streams/stream-status.ts'

// Calls, their recordings and their programs, for an interface that shows them in another shape (src/interfaces/twilio).

export type CallRow = store.CallRow
export type CallFilter = store.CallFilter
export type CallStatus = store.Status
export type CallOrder = sources.CallOrder
export type CallbackPayload = Payload
export type CallCommand = Command
export type CommandOutcome = Outcome
export type ProgramSource = sources.ProgramSource
export type ProgramDocument = programs.ProgramDocument
export type ProgramCall = programs.ProgramCall
export type ProgramErrorCode = programs.ProgramErrorCode
export type ProgramRequest = programs.ProgramRequest
export type RequestWriter = programs.RequestWriter
export type VerbResult = programs.VerbResult
export type Verb = AnyVerb
export type VerbOf<N extends VerbName> = Named<N>
export type RecordingRow = recordings.RecordingRow
export type RecordingSource = recordings.RecordingSource
export type TwilioRecordingPayload = status.TwilioRecordingPayload
export type StreamPayload = streams.StreamPayload

export const callOf = store.find
export const callsByIds = store.byIds
export const pageOfCalls = store.page
export const visibleCalls = store.visible
/** Returns a call as its program and its callbacks see it. */
export const describeCall = programCallOf
export const runCommandOnCall = commands.runCommandOnCall
/** Seconds that a call talks at most, without a wish. */
export const ordinaryCallSeconds = ordinarySeconds

/** Returns who gets the statuses of the calls of an application; null: nobody. */
export const callbacksOfApplication = resolution.callbacksOfApplication
/** Kinds of the jobs of callbacks in the shape of Twilio. */
export const [callStatusKind, recordingStatusKind] = [kinds.callbackKinds.twilio, status.twilioRecordingKind]
export const streamStatusKind = streams.twilioStreamKind

export const makeRecordingLinks = links.recordingLinks
export const findRecording = recordings.findRecordingRow
export const findRecordingInProgress = recordings.findRecordingInProgress
export const pageOfRecordings = recordings.pageOfRecordings
export const removeRecording = recordings.removeRecording

/** Makes the failure of a program. @param url of the program, if the failure is of one */
export const programError = (code: ProgramErrorCode, message: string, url: string | null = null) =>
  new programs.ProgramError(code, message, url)

export const isProgramError = (error: unknown): error is programs.ProgramError => error instanceof programs.ProgramError
