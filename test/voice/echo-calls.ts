import { dial } from '../../src/adapters/sip-gateway/testing.ts'
import { type LightPeer, makeLightPeer } from '../media/light-peer.ts'
import { until } from '../platform.ts'
import type { BrowserUser } from './voice-fixture.ts'

/** Settings that limit an account's calls only by the capacity of the media engine. */
export const unlimitedCalls = {
  TRUNKLINE_MAX_CONCURRENT_CALLS: '10000',
  TRUNKLINE_CALLS_PER_MINUTE: '10000',
  TRUNKLINE_CALL_SPEND_PER_DAY: '100000',
}

/** A call to an echo, whose every packet carries the time at which it left. */
export type EchoCall = {
  readonly softphone: LightPeer
  /** Round-trip times of the packets, in milliseconds. */
  readonly delays: number[]
  end(): Promise<void>
}

/** Calls a number that echoes, with recording. @returns the refusal if the call is refused */
export const startEchoCall = async (person: BrowserUser, number: string): Promise<EchoCall | string> => {
  const delays: number[] = []
  const softphone = await makeLightPeer('webrtc', {
    frame: () => {
      const frame = Buffer.alloc(160, 0xff)
      frame.writeDoubleBE(performance.now())
      return frame
    },
    heard: (payload) => delays.push(performance.now() - payload.readDoubleBE()),
  })
  const { dialled } = await dial(
    person.web,
    { ...person.dialOptions(number), headers: [['X-Record', 'true']] },
    softphone,
  )
  await until(async () => dialled.session ?? dialled.refused[0])
  const { session } = dialled
  if (!session) {
    await softphone.close()
    return dialled.refused[0] ?? ''
  }
  softphone.startSending()
  const end = async () => {
    await session.bye()
    await softphone.close()
  }
  return { softphone, delays, end }
}

/** Calls this number of echoes, one after the other. @throws Error if one is refused */
export const startEchoCalls = async (person: BrowserUser, count: number): Promise<EchoCall[]> => {
  const made: EchoCall[] = []
  for (let i = 0; i < count; i++) {
    const one = await startEchoCall(person, `+44770${String(i).padStart(3, '0')}0008`)
    if (typeof one === 'string') throw new Error(`call ${i + 1} was refused: ${one}`)
    made.push(one)
  }
  return made
}

/** Total packets of all calls since they began. */
export const packetsOf = (all: readonly EchoCall[]): { sent: number; received: number } =>
  all.reduce(
    ({ sent, received }, { softphone }) => ({ sent: sent + softphone.sent, received: received + softphone.received }),
    { sent: 0, received: 0 },
  )
