import type { ProgramSource } from './program-source.ts'

/** A command on a running call. The verbs in it are those of documents. */
export type CallCommand =
  | { readonly command: 'hangup' }
  /** The program goes on with another document. */
  | { readonly command: 'redirect'; readonly program: ProgramSource }
  | { readonly command: 'play'; readonly verb: object }
  /** Ends what is played. */
  | { readonly command: 'stop' }
  | { readonly command: 'dtmf'; readonly digits: string }
  /** `recording`: the one that is meant, without prefix. */
  | { readonly command: 'record_call'; readonly verb: object; readonly recording?: string }
  | { readonly command: 'stream'; readonly verb: object }
  | { readonly command: 'stop_stream'; readonly name: string | null; readonly stream: string | null }
  | { readonly command: 'tag'; readonly data: object }

/** The result of a command. `code`: call_ended, no_program, not_answered, or the code of a failed verb. `recording`: its id,
 *  without prefix. */
export type CommandOutcome =
  | { readonly ok: true; readonly recording?: string; readonly stream?: string }
  | { readonly ok: false; readonly code: string; readonly reason: string }

export const callGone: CommandOutcome = { ok: false, code: 'call_ended', reason: 'The call has ended' }

export const notAnswered: CommandOutcome = { ok: false, code: 'not_answered', reason: 'The call is not answered yet' }

export const noProgram: CommandOutcome = { ok: false, code: 'no_program', reason: 'No program runs the call' }
