import type { VoiceLine, VoiceScreening } from '../../../ports/voice.ts'
import { lastProgramRequestMs, maxIdleProgramDocuments, maxProgramDocuments } from '../limits.ts'
import type { CallCommand, CommandOutcome } from './call-command.ts'
import { hangUp } from './call-verbs.ts'
import { type ExchangeDeps, requestDocument, requestWithFallback } from './exchange.ts'
import { KeyBuffer } from './key-buffer.ts'
import {
  type ProgramAddress,
  type ProgramCall,
  type ProgramDocument,
  ProgramError,
  type ProgramRequest,
  type ProgramStep,
  type ResolvedProgram,
} from './program.ts'
import type { ProgramDeps, ProgramRun } from './program-deps.ts'
import { runCommand } from './run-command.ts'
import { runVerb } from './run-verb.ts'
import { playSounds } from './sound-verbs.ts'
import type { ProgramState, VerbContext, VerbOutcome } from './verb-context.ts'
import { screeningVerbs, type Verb } from './verbs.ts'

/** The occasion of a request for a document: the beginning of a program, or the end of a verb. */
type Occasion = Pick<ProgramRequest, 'event' | 'verb' | 'result'>

const started: Occasion = { event: 'call.started', verb: null, result: null }

/** Verbs whose result is sent though the party has hung up. */
const sentAfterEnd: readonly Verb['verb'][] = ['record', 'dial']

const isScreeningVerb = (name: Verb['verb']): boolean => screeningVerbs.some((allowed) => allowed === name)

/** Three tones of 200 ms, for a party whose program has failed. */
const failureTone = { tones: [440], onMs: 200, offMs: 200, loop: 3 }

/**
 * Runs the program of a call: a queue of verbs, which each document replaces. A verb runs at a time, and a request; both end
 * once the party is gone, or a command redirects the program.
 */
export class Interpreter {
  readonly #deps: ProgramDeps
  readonly #run: ProgramRun
  readonly #line: VoiceLine
  readonly #state: ProgramState
  #program: ResolvedProgram
  #queue: readonly Verb[]
  /** Where a command sends the program, until it goes there. */
  #redirection: ResolvedProgram | null = null
  /** Ends the current verb or request. */
  #current = new AbortController()
  #documents = 0
  #idleDocuments = 0
  #requests = 0
  #steps = 0
  readonly #isScreening: boolean
  /** Where the verbs of the queue come from. */
  #origin: VerbContext['origin'] = 'order'
  /** The verbs of a screening have ended, and the callee may be connected. */
  #isConfirmed = false

  constructor(deps: ProgramDeps, run: ProgramRun, line: VoiceLine) {
    this.#deps = deps
    this.#run = run
    this.#line = line
    this.#isScreening = run.isScreening ?? false
    this.#program = run.program
    this.#queue = run.preamble ?? []
    this.#state = {
      keys: new KeyBuffer(),
      tags: run.call.tags,
      recording: null,
      streams: new Set(),
      isStreaming: false,
    }
  }

  /** Resolves once the program is over, and the call is hung up. */
  async run(): Promise<void> {
    const release = this.#line.keys((key) => this.#press(key))
    try {
      await this.#execute()
    } catch (error) {
      if (error instanceof ProgramError) await this.#fail(error)
      else {
        this.#deps.onError(error)
        if (this.#line.isAnswered) this.#line.hangUp({ how: 'failed', status: 500, reason: 'Internal error' })
        else this.#line.refuse(500, 'Server Internal Error')
      }
    } finally {
      release()
      for (const { stream } of this.#state.streams) stream.stop()
      await this.#state.recording?.stop().catch(this.#deps.onError)
    }
  }

  /** Runs verbs for a callee before it is connected. Resolves with whether it may be: their end says so. */
  async screen(): Promise<boolean> {
    await this.run()
    return this.#isConfirmed
  }

  command(command: CallCommand): Promise<CommandOutcome> {
    return runCommand(this.#context(this.#line.gone, 'command'), command, (program) => {
      this.#redirection = program
      this.#current.abort()
    })
  }

  async #execute(): Promise<void> {
    while (this.#queue.length > 0 && !this.#redirection) if (await this.#next()) return
    this.#redirection ??= this.#program
    for (;;) {
      if (this.#line.gone.aborted) return
      if (this.#redirection) await this.#begin(this.#redirection)
      else if (await this.#next()) return
    }
  }

  /** Begins a program, in place of the verbs that are left. */
  async #begin(program: ResolvedProgram): Promise<void> {
    this.#redirection = null
    this.#program = program
    this.#origin = 'document'
    this.#queue = []
    if ('url' in program.begin) await this.#load(program.begin, started)
    else this.#replace(program.begin)
  }

  /** Runs the next verb, or hangs up after the last one. Returns true if the program is over. */
  async #next(): Promise<boolean> {
    const [verb, ...rest] = this.#queue
    if (!verb) {
      if (this.#isScreening) this.#isConfirmed = true
      else hangUp({ line: this.#line }, 'The program has ended')
      return true
    }
    this.#queue = rest
    const outcome = await this.#runVerb(verb)
    if (outcome.isIdle !== true) this.#idleDocuments = 0
    const { result } = outcome
    const occasion: Occasion = { event: 'verb.completed', verb: { id: verb.id ?? null, name: verb.verb }, result }
    const action: ProgramAddress | null =
      verb.action === undefined ? null : { url: verb.action, method: verb.action_method ?? 'POST' }
    if (this.#line.gone.aborted) {
      if (action && result && sentAfterEnd.includes(verb.verb)) await this.#sendLast(action, occasion)
      return true
    }
    if (outcome.isOver === true) return true
    if (this.#redirection) return false
    const to = outcome.goesTo ?? (outcome.skipsAction === true ? null : action)
    if (to) await this.#load(to, occasion)
    return false
  }

  async #runVerb(verb: Verb): Promise<VerbOutcome> {
    const at = Date.now()
    const began = performance.now()
    const report = (errorCode: string | null) =>
      this.#step({
        at,
        verb: verb.verb,
        requestUrl: null,
        answerStatus: null,
        ms: Math.round(performance.now() - began),
        errorCode,
      })
    try {
      const outcome = await runVerb(this.#context(this.#interruptible(), this.#origin), verb)
      report(outcome.errorCode ?? null)
      return outcome
    } catch (error) {
      report(error instanceof ProgramError ? error.code : 'internal_error')
      throw error
    }
  }

  /** Requests the next document. An empty answer leaves the verbs as they are. @throws ProgramError */
  async #load(to: ProgramAddress, occasion: Occasion): Promise<void> {
    if (++this.#documents > maxProgramDocuments)
      throw new ProgramError('loop', `a call has at most ${maxProgramDocuments} documents`, to.url)
    if (++this.#idleDocuments > maxIdleProgramDocuments)
      throw new ProgramError(
        'loop',
        `${maxIdleProgramDocuments} documents in a row did nothing that takes time`,
        to.url,
      )
    const signal = this.#interruptible()
    try {
      const document = await requestWithFallback(
        this.#exchange(signal, occasion),
        this.#program,
        to,
        this.#content(occasion),
        () => ++this.#requests,
      )
      if (document && !signal.aborted) this.#replace(document)
    } catch (error) {
      // The party is gone, or the program was redirected: there is no failure.
      if (!signal.aborted) throw error
    }
  }

  /** Sends the result of a verb after the end of the call. The answer is not executed. */
  async #sendLast(to: ProgramAddress, occasion: Occasion): Promise<void> {
    const program = { ...this.#program, timeoutMs: Math.min(this.#program.timeoutMs, lastProgramRequestMs) }
    const deps = this.#exchange(AbortSignal.timeout(lastProgramRequestMs), occasion)
    try {
      await requestDocument(deps, program, to, this.#content(occasion))
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error
      this.#line.note(`program: the result was not taken: ${error.code}, ${error.message}`)
    }
  }

  /** @throws ProgramError for a verb that a callee cannot have before it is connected */
  #replace({ verbs, notes, baseUrl }: ProgramDocument): void {
    const other = this.#isScreening ? verbs.find(({ verb }) => !isScreeningVerb(verb)) : undefined
    if (other) throw new ProgramError('verb', `${other.verb} cannot run before the dialled call is connected`, baseUrl)
    this.#queue = verbs
    for (const note of notes) this.#line.note(`program: ${note}`)
  }

  /** The program has failed: the party hears tones, or is refused. */
  async #fail({ code, message: detail, url, status }: ProgramError): Promise<void> {
    const line = this.#line
    line.note(`program: ${code}, ${detail}`)
    const written = this.#deps
      .onFailure(this.#call(), this.#program.application, { code, detail, url, status })
      .catch(this.#deps.onError)
    const how = 'program_error'
    if (!line.isAnswered) line.hangUp({ how, status: 480, reason: 'Temporarily Unavailable' })
    else {
      if (line.leg) await playSounds(line.leg, [failureTone], { signal: line.gone })
      line.hangUp({ how, status: 0, reason: `Program error: ${code}` })
    }
    await written
  }

  #press(key: string): void {
    for (const { stream, takesKeys } of this.#state.streams) if (takesKeys) stream.sendKey(key)
    if (this.#line.isAnswered && !this.#state.isStreaming) this.#state.keys.push(key)
  }

  /** Returns a signal for a verb or a request: the party is gone, or a command redirects the program. */
  #interruptible(): AbortSignal {
    this.#current = new AbortController()
    return AbortSignal.any([this.#line.gone, this.#current.signal])
  }

  #context(signal: AbortSignal, origin: VerbContext['origin']): VerbContext {
    return {
      deps: this.#deps,
      line: this.#line,
      state: this.#state,
      program: this.#program,
      origin,
      signal,
      isScreening: this.#isScreening,
      call: () => this.#call(),
      screen: (callee, verbs) => this.#screening(callee, verbs),
    }
  }

  /** The verbs run by the same rules. Without the fallback: its document would connect a callee that was not asked. */
  #screening(call: ProgramCall, verbs: readonly Verb[]): VoiceScreening {
    const begin: ProgramDocument = { verbs, notes: [], baseUrl: null }
    const program = { ...this.#program, begin, fallback: null }
    const { outbound } = this.#run
    return {
      run: (line) => new Interpreter(this.#deps, { call, program, outbound, isScreening: true }, line).screen(),
    }
  }

  #exchange(signal: AbortSignal, { verb }: Occasion): ExchangeDeps {
    const { writers, compileTwiml } = this.#deps
    return {
      writers,
      compileTwiml,
      outbound: this.#run.outbound,
      signal,
      onExchange: ({ url, status, code }, at, ms) =>
        this.#step({ at, verb: verb?.name ?? null, requestUrl: url, answerStatus: status, ms, errorCode: code }),
    }
  }

  #content(occasion: Occasion): ProgramRequest {
    return { ...occasion, sequence: ++this.#requests, call: this.#call(), error: null }
  }

  #call(): ProgramCall {
    return { ...this.#run.call, tags: this.#state.tags, status: this.#status() }
  }

  #status(): ProgramCall['status'] {
    const { isAnswered, gone } = this.#line
    if (isAnswered) return gone.aborted ? 'COMPLETED' : 'ANSWERED'
    if (!gone.aborted) return 'RINGING'
    return this.#run.call.direction === 'inbound' ? 'MISSED' : 'CANCELED'
  }

  #step(step: Omit<ProgramStep, 'sequence'>): void {
    this.#deps.onStep(this.#call(), { sequence: ++this.#steps, ...step })
  }
}
