import { parse } from '../../../platform/lib/id.ts'
import { type CallCommand, type CommandOutcome, callGone, notAnswered } from './call-command.ts'
import { hangUp, openStream, stopStreams } from './call-verbs.ts'
import { readVerbs } from './document.ts'
import { ProgramError, type ResolvedProgram } from './program.ts'
import { runVerb } from './run-verb.ts'
import { playReady, prepareSounds } from './sound-verbs.ts'
import type { VerbContext } from './verb-context.ts'
import type { Verb, VerbName, VerbOf } from './verbs.ts'

const done: CommandOutcome = { ok: true }

const failure = (code: string, reason: string): CommandOutcome => ({ ok: false, code, reason })

/** Checks the verb of a command. @throws ProgramError */
const verbOf = <N extends VerbName>(given: object, names: readonly N[]): VerbOf<N> => {
  const [verb] = readVerbs([given], null).verbs
  const isOne = (candidate: Verb | undefined): candidate is Verb & VerbOf<N> =>
    candidate !== undefined && names.some((name) => name === candidate.verb)
  if (!isOne(verb)) throw new ProgramError('verb', `give one of the verbs ${names.join(', ')}`)
  return verb
}

/** Begins to play a sound, while the program goes on. */
const play = async (context: VerbContext, given: object): Promise<CommandOutcome> => {
  const { line, deps, signal } = context
  const verb = verbOf(given, ['say', 'play'])
  const ready = await prepareSounds(context, verb, signal)
  if (ready.sounds.length === 0) return failure(ready.errorCode ?? 'media', 'No sound of it can be played')
  if (!line.leg) return callGone
  // It goes on after the answer to the command.
  void playReady(line.leg, verb, ready, signal).catch(deps.onError)
  return done
}

/** Runs a verb of a command, and waits for its end. */
const run = async (
  context: VerbContext,
  verb: VerbOf<'record_call'> | VerbOf<'dtmf'> | VerbOf<'tag'>,
): Promise<CommandOutcome> => {
  const { result, errorCode } = await runVerb(context, verb)
  if (errorCode) return failure(errorCode, `The verb ${verb.verb} failed`)
  const { recording_uuid: printed } = result ?? {}
  const recording = typeof printed === 'string' ? parse('REC', printed) : null
  return recording === null ? done : { ok: true, recording }
}

const execute = async (
  context: VerbContext,
  command: CallCommand,
  redirect: (program: ResolvedProgram) => void,
): Promise<CommandOutcome> => {
  const { line, deps, call } = context
  switch (command.command) {
    case 'hangup':
      hangUp(context, 'Hung up by a request')
      return done
    case 'redirect':
      redirect(await deps.resolve(call(), command.program))
      return done
    case 'play':
      return play(context, command.verb)
    case 'stop':
      await line.leg?.stopSounds()
      return done
    case 'dtmf':
      return run(context, verbOf({ verb: 'dtmf', digits: command.digits }, ['dtmf']))
    case 'record_call':
      if (command.recording !== undefined && command.recording !== context.state.recording?.id)
        return failure('no_recording', 'record_call did not begin this recording, or it has ended')
      return run(context, verbOf(command.verb, ['record_call']))
    case 'tag':
      return run(context, verbOf({ verb: 'tag', data: command.data }, ['tag']))
    case 'stream': {
      const opened = await openStream(context, verbOf(command.verb, ['stream']))
      if ('stream' in opened) return { ok: true, stream: opened.stream.id }
      return failure(opened.failed.errorCode ?? 'call_ended', 'The stream could not be opened')
    }
    case 'stop_stream':
      return stopStreams(context, command.name, command.stream) > 0
        ? done
        : failure('no_stream', 'No such stream of the call is open')
  }
}

/** Commands on calls that are not answered yet. */
const needsNoAnswer: readonly CallCommand['command'][] = ['hangup', 'redirect', 'stop', 'tag']

/** Executes a command on a running program. @param context with the signal of the call, as no verb's end ends it */
export const runCommand = async (
  context: VerbContext,
  command: CallCommand,
  redirect: (program: ResolvedProgram) => void,
): Promise<CommandOutcome> => {
  if (context.line.gone.aborted) return callGone
  if (!context.line.isAnswered && !needsNoAnswer.includes(command.command)) return notAnswered
  try {
    return await execute(context, command, redirect)
  } catch (error) {
    if (error instanceof ProgramError) return failure(error.code, error.message)
    throw error
  }
}
