import type { Status } from '../store.ts'
import type { CallCommand, CommandOutcome } from './call-command.ts'
import type { CallCallbacks, ProgramSource } from './program-source.ts'
import type { Verb } from './verbs.ts'

/** A document of a program: the verbs to run one after the other. `notes`: what of it was ignored, for the timeline. */
export type ProgramDocument = {
  readonly verbs: readonly Verb[]
  readonly notes: readonly string[]
  /** The address of relative addresses in it; null for a document that a request brought. */
  readonly baseUrl: string | null
}

/** Why a program failed, as events and timelines name it. */
export type ProgramErrorCode =
  | 'unreachable'
  | 'timeout'
  | 'status'
  | 'content_type'
  | 'malformed'
  | 'verb'
  | 'attribute'
  | 'loop'
  | 'forbidden_address'
  | 'too_large'

/** A failure of a program, at an address if it has one. `status`: of the answer, if there was one. */
export class ProgramError extends Error {
  readonly code: ProgramErrorCode
  readonly url: string | null
  readonly status: number | null

  constructor(code: ProgramErrorCode, message: string, url: string | null = null, status: number | null = null) {
    super(message)
    this.code = code
    this.url = url
    this.status = status
  }
}

/** Compiles a TwiML document. The domain gets it from the interface of that shape. @throws ProgramError */
export type TwimlCompiler = (baseUrl: string, text: string) => ProgramDocument | Promise<ProgramDocument>

/** An address of a program. */
export type ProgramAddress = { readonly url: string; readonly method: 'GET' | 'POST' }

/** The program of a call, with everything that its requests need: an application is resolved to its addresses. */
export type ResolvedProgram = {
  readonly account: string
  /** Uuid of the application, if it is one. */
  readonly application: string | null
  /** The first document: where it is requested, or its verbs. */
  readonly begin: ProgramAddress | ProgramDocument
  readonly fallback: ProgramAddress | null
  /** Shape of its requests. */
  readonly shape: ProgramSource['shape']
  /** Milliseconds for a whole exchange, from the connection to the last byte of the answer. */
  readonly timeoutMs: number
  /** Signs native requests; null: the account's own secret of webhooks is used. */
  readonly secret: Buffer | null
  /** The receiver of the statuses of calls that come in to it. */
  readonly callbacks?: CallCallbacks | null
}

/** The call as a request of its program describes it: ids without prefix. */
export type ProgramCall = {
  readonly id: string
  readonly account: string
  readonly parent: string | null
  readonly direction: 'inbound' | 'outbound'
  /** `O` of our record was made by the API or by a `dial`. */
  readonly origin: 'trunk' | 'device' | 'api' | 'dial'
  readonly status: Status
  readonly from: string
  readonly to: string
  readonly number: string | null
  readonly divertedFrom: string | null
  readonly tags: Readonly<Record<string, unknown>>
}

/** A result of a verb: plain JSON with snake_case names, as doors 2.4 lists them. */
export type VerbResult = Readonly<Record<string, unknown>>

/** The content of a request for a document: what happened in the call. */
export type ProgramRequest = {
  /** `call.error`: the request to the fallback, with what went wrong at the other address. */
  readonly event: 'call.started' | 'verb.completed' | 'call.error'
  /** Number of the request in the call, from 1. */
  readonly sequence: number
  readonly call: ProgramCall
  /** The verb that ended, with the id that the document gave it; null for the first request. */
  readonly verb: { readonly id: string | null; readonly name: string } | null
  readonly result: VerbResult | null
  readonly error: {
    readonly code: ProgramErrorCode
    readonly url: string | null
    readonly status: number | null
  } | null
}

/** A request as it is sent. */
export type WrittenRequest = {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
  /** Milliseconds until it is connected, in place of the usual ones. */
  readonly connectMs?: number
  /** Milliseconds for the whole exchange, in place of those of the program. */
  readonly timeoutMs?: number
  /** Repetitions of a request that had no answer. Default: 1. */
  readonly retries?: number
}

/**
 * Writes the request of a program in a shape: `native` is here, `twilio` comes from that interface. `id` is the same for a
 * repetition, so that a program recognises it.
 */
export type RequestWriter = (
  program: ResolvedProgram,
  to: ProgramAddress,
  content: ProgramRequest,
  id: string,
) => Promise<WrittenRequest>

/** The program of a call that runs in this process. */
export type RunningProgram = { command(command: CallCommand): Promise<CommandOutcome> }

/** A step of a program, for the story of its call: a verb, or a request with its answer. */
export type ProgramStep = {
  /** Number in the call, from 1. */
  readonly sequence: number
  /** Unix milliseconds of its beginning. */
  readonly at: number
  /** Name of the verb, or of the verb whose result was sent; null for the first request. */
  readonly verb: string | null
  /** Address of a request; null for a verb. */
  readonly requestUrl: string | null
  /** HTTP status of the answer to a request, if there was one. */
  readonly answerStatus: number | null
  /** Milliseconds that it took. */
  readonly ms: number
  /** A ProgramErrorCode, or the error of a verb such as `fetch_failed`. */
  readonly errorCode: string | null
}
