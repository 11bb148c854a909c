import { dial } from '../../src/connectors/sip/gateway/testing.ts'
import { type LightPeer, makeLightPeer } from '../media/light.ts'
import { until } from '../platform.ts'
import type { Person } from './scene.ts'

/** Settings under which an account may call as much as the media can carry. */
export const unbounded = {
  TRUNKLINE_CALLS_AT_A_TIME: '10000',
  TRUNKLINE_CALLS_PER_MINUTE: '10000',
  TRUNKLINE_CALL_SPEND_PER_DAY: '100000',
}

/** A call to an echo, whose every packet carries the time at which it left. */
export type Talk = {
  readonly softphone: LightPeer
  /** Milliseconds of each packet, there and back. */
  readonly delays: number[]
  end(): Promise<void>
}

/** Calls a number behind which there is an echo, recorded. @returns the refusal, when it is refused */
export const talk = async (person: Person, number: string): Promise<Talk | string> => {
  const delays: number[] = []
  const softphone = await makeLightPeer('webrtc', {
    frame: () => {
      const frame = Buffer.alloc(160, 0xff)
      frame.writeDoubleBE(performance.now())
      return frame
    },
    heard: (payload) => delays.push(performance.now() - payload.readDoubleBE()),
  })
  const { dialled } = await dial(person.web, { ...person.toward(number), headers: [['X-Record', 'true']] }, softphone)
  await until(async () => dialled.session ?? dialled.refused[0])
  const { session } = dialled
  if (!session) {
    await softphone.close()
    return dialled.refused[0] ?? ''
  }
  softphone.say()
  const end = async () => {
    await session.bye()
    await softphone.close()
  }
  return { softphone, delays, end }
}

/** Calls so many echoes, one after the other. @throws Error when one is refused */
export const talks = async (person: Person, count: number): Promise<Talk[]> => {
  const made: Talk[] = []
  for (let i = 0; i < count; i++) {
    const one = await talk(person, `+44770${String(i).padStart(3, '0')}0008`)
    if (typeof one === 'string') throw new Error(`call ${i + 1} was refused: ${one}`)
    made.push(one)
  }
  return made
}

/** Packets of all of them, since they began. */
export const packetsOf = (all: readonly Talk[]): { sent: number; received: number } =>
  all.reduce(
    ({ sent, received }, { softphone }) => ({ sent: sent + softphone.sent, received: received + softphone.received }),
    { sent: 0, received: 0 },
  )
