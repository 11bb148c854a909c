import type { Network } from '../network.ts'
import { CallBook } from './calls.ts'
import { type CallManner, isCallManner } from './telephone.ts'
import { SandboxTrunk } from './trunk.ts'

/** The telephone network, all of it. */
export type VoicePlace = { readonly book: CallBook; readonly trunk: SandboxTrunk }

/** What the last digits of a number say when nothing else does. */
const magic = new Map<string, CallManner>([
  ['0004', 'busy'],
  ['0005', 'no_answer'],
  ['0008', 'echo'],
])

/** A carrier of calls beside that of texts, with the same handsets behind it. @throws Error when the port is taken */
export const voicePlace = async (
  home: string,
  network: Network,
  password: string,
  port: number,
): Promise<VoicePlace> => {
  const book = new CallBook(home)
  const manner = (number: string) => {
    const { answers, talk_seconds: seconds } = network.handsets.behaviour(number)
    return {
      manner: isCallManner(answers) ? answers : (magic.get(number.slice(-4)) ?? 'answer'),
      talkMs: typeof seconds === 'number' ? seconds * 1_000 : null,
    }
  }
  return { book, trunk: await SandboxTrunk.open({ book, password, port, manner }) }
}
