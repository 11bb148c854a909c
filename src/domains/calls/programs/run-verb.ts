import { answer, dial, dtmf, hangUp, pause, reject, ring, stopStreams, stream, tag } from './call-verbs.ts'
import { gather, record, recordCall } from './input-verbs.ts'
import { playVerb } from './sound-verbs.ts'
import { idle, type VerbContext, type VerbOutcome } from './verb-context.ts'
import type { Verb } from './verbs.ts'

/** Executes a verb. @throws ProgramError */
export const runVerb = async (context: VerbContext, verb: Verb): Promise<VerbOutcome> => {
  switch (verb.verb) {
    case 'answer':
      return answer(context)
    case 'ring':
      return ring(context, verb)
    case 'say':
    case 'play':
      return playVerb(context, verb)
    case 'pause':
      return pause(context, verb)
    case 'gather':
      return gather(context, verb)
    case 'record':
      return record(context, verb)
    case 'record_call':
      return recordCall(context, verb)
    case 'dial':
      return dial(context, verb)
    case 'stream':
      return stream(context, verb)
    case 'stop_stream':
      stopStreams(context, verb.name ?? null, null)
      return idle
    case 'dtmf':
      return dtmf(context, verb)
    case 'tag':
      return tag(context, verb)
    case 'redirect':
      return { ...idle, goesTo: { url: verb.url, method: verb.method ?? 'POST' } }
    case 'reject':
      return reject(context, verb)
    case 'hangup':
      return hangUp(context, verb.reason ?? 'Hung up by the program')
  }
}
