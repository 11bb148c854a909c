import type { SmsNetwork } from '../sms/sms-network.ts'
import { CallLog } from './call-log.ts'
import { type CallBehaviour, isCallBehaviour } from './handset-call.ts'
import { SandboxTrunk } from './trunk.ts'

/** All parts of the simulated telephone network. */
export type VoiceSimulator = { readonly log: CallLog; readonly trunk: SandboxTrunk }

/** Default behaviour by the last digits of a number. */
const behaviourByLastDigits = new Map<string, CallBehaviour>([
  ['0004', 'busy'],
  ['0005', 'no_answer'],
  ['0008', 'echo'],
])

/** Makes a voice carrier with the same handsets as the SMS carrier. @throws Error when the port is in use */
export const makeVoiceSimulator = async (
  home: string,
  network: SmsNetwork,
  password: string,
  port: number,
): Promise<VoiceSimulator> => {
  const book = new CallLog(home)
  const manner = (number: string) => {
    const { answers, talk_seconds: seconds } = network.handsets.behaviour(number)
    return {
      manner: isCallBehaviour(answers) ? answers : (behaviourByLastDigits.get(number.slice(-4)) ?? 'answer'),
      talkMs: typeof seconds === 'number' ? seconds * 1_000 : null,
    }
  }
  return { log: book, trunk: await SandboxTrunk.open({ log: book, password, port, behaviourOf: manner }) }
}
