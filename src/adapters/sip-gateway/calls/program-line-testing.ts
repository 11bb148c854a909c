import assert from 'node:assert/strict'
import { after, type TestContext } from 'node:test'
import { until } from '@trunkline/sip/user-agent/testing.ts'
import { makeTelephone, type Telephone } from '../../../../test/media/telephone.ts'
import type { MediaEngine } from '../../../ports/media.ts'
import type { VoiceDialOptions, VoiceEnd, VoiceLine, VoicePlan, VoiceTarget } from '../../../ports/voice.ts'
import type { GatewaySettings } from '../gateway.ts'
import { answer, closedAfter, dial, openMedia, openWorld, receivesTone } from '../testing.ts'

export const toCarrier: VoiceTarget = { trunk: 'carrier', number: '+442079460123' }
export const toBob: VoiceTarget = { people: [{ account: 'one', user: 'BOB' }] }

/** Plays a tone to the party until something else is played. */
export const play = (line: VoiceLine, hertz: number) => {
  assert.ok(line.leg)
  return line.leg.play([{ tones: [hertz], onMs: 60_000, offMs: 0, loop: 0 }])
}

export const whenGone = ({ gone }: VoiceLine) =>
  new Promise<void>((resolve) => {
    if (gone.aborted) resolve()
    gone.addEventListener('abort', () => resolve())
  })

export const infoKey = (key: string) => ({
  body: { type: 'application/dtmf-relay', content: `Signal=${key}\r\nDuration=100\r\n` },
})

export const programHangsUp = { how: 'completed', status: 200, reason: 'The program hangs up' } as const

export const outcome = ({ how, by }: VoiceEnd) => `${how} by ${by}`

type Run = (line: VoiceLine) => Promise<void>

/** A gateway whose calls from a carrier run a program. Default: it gives its line to the test, and waits for its end. */
const openProgramWorld = async (
  t: TestContext,
  media: MediaEngine,
  run: Run | null = null,
  settings: Partial<GatewaySettings> = {},
  own: Partial<VoicePlan> = {},
) => {
  const lines: VoiceLine[] = []
  const program = {
    run:
      run ??
      ((line: VoiceLine) => {
        lines.push(line)
        return whenGone(line)
      }),
  }
  const world = await openWorld(t, () => ({ value: { call: 'parent', program, ...own } }), { media, ...settings })
  const { gateway, carrier, callControl } = world
  const telephone = () => closedAfter(t, makeTelephone())
  /** The carrier calls us. */
  const receive = async (own?: Telephone) => {
    const peer = own ?? (await telephone())
    const uri = `sip:33187654321@127.0.0.1:${gateway.port}`
    return { peer, ...(await dial(carrier, { uri, from: '<sip:0033612345678@carrier.test>' }, peer)) }
  }
  const nextLine = () => until(() => lines.shift(), 'the program')
  /** A party whose call is answered. */
  const answered = async (own?: Telephone) => {
    const { peer, dialled } = await receive(own)
    const line = await nextLine()
    assert.equal(await line.answer(), true)
    peer.sendTone(1_000)
    return { peer, dialled, line, session: await until(() => dialled.session) }
  }
  const endOf = (call: string) =>
    until(
      () => callControl.of('ended').find((entry) => entry.call === call)?.about as VoiceEnd | undefined,
      `the end of ${call}`,
    )
  const plain = { account: 'one', callerId: '+447700900001', targets: [toCarrier], ringSeconds: 20 }
  const plan = (call: string, more: Partial<VoicePlan> = {}): VoicePlan => ({
    ...{ ...plain, call, record: null, mostSeconds: null },
    ...more,
  })
  const dialFrom = (line: VoiceLine, { plan: planned = {}, ...options }: DialSettings = {}) =>
    line.dial(plan('child', planned), {
      ...{ answersOnBridge: false, endsOnStar: false, signal: new AbortController().signal },
      ...options,
    })
  /** A party that talks with a telephone which its program dialled. */
  const connected = async (more: DialSettings = {}) => {
    const party = await answered()
    const dialling = dialFrom(party.line, more)
    const other = await telephone()
    const callee = await answer(await carrier.call(), other)
    other.sendTone(620)
    await Promise.all([receivesTone(party.peer, 620), receivesTone(other, 1_000)])
    return { ...party, dialling, other, callee }
  }
  return { ...world, telephone, receive, nextLine, answered, plan, dialFrom, connected, endOf, program }
}

/** The engine that the tests of a file share, and gateways with it. */
export const makeProgramWorlds = async () => {
  const media = await openMedia()
  after(() => media.close())
  const open = (t: TestContext, run?: Run | null, settings?: Partial<GatewaySettings>, plan?: Partial<VoicePlan>) =>
    openProgramWorld(t, media, run, settings, plan)
  return { media, open }
}

export type DialSettings = Partial<VoiceDialOptions> & { readonly plan?: Partial<VoicePlan> }
