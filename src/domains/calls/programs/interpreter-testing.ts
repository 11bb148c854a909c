import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { until } from '@trunkline/sip/user-agent/testing.ts'
import { makeTelephone } from '../../../../test/media/telephone.ts'
import { closedAfter, dial, openMedia, openWorld } from '../../../adapters/sip-gateway/testing.ts'
import type { MediaEngine } from '../../../ports/media.ts'
import type { CallCommand } from './call-command.ts'
import type { ResolvedProgram } from './program.ts'
import type { ProgramDeps } from './program-deps.ts'
import { makeProgramRunner } from './program-runner.ts'
import {
  type Answer,
  makeProgramDeps,
  openOutbound,
  openProgram,
  programCall,
  resolvedProgram,
} from './program-testing.ts'
import type { Verb } from './verbs.ts'

/** Half a second of a tone. */
export const blip = (hertz: number) => ({ verb: 'play', tone: { hertz: [hertz], on_ms: 500 } })
/** A tone that the party ends. */
export const say = (hertz: number) => ({ verb: 'say', text: String(hertz) })

/** The samples of a recording of one channel. */
export const samplesOf = (wav: Buffer): number[] =>
  Array.from({ length: (wav.length - 44) / 2 }, (_, index) => wav.readInt16LE(44 + index * 2))

type Differences = {
  readonly preamble?: readonly Verb[]
  readonly deps?: Partial<ProgramDeps>
  readonly program?: (base: string) => Partial<ResolvedProgram>
}

/** A gateway whose calls from a carrier run the program that answers at /begin. */
const openInterpreter = async (
  t: TestContext,
  { media, folder }: { readonly media: MediaEngine; readonly folder: string },
  answers: Record<string, Answer>,
  wish: Differences = {},
) => {
  const program = await openProgram(t, answers)
  const outbound = openOutbound(t)
  const made = makeProgramDeps(folder, wish.deps)
  const runner = makeProgramRunner(made.deps)
  const resolved = resolvedProgram(`${program.base}/begin`, wish.program?.(program.base))
  const world = await openWorld(
    t,
    () => ({
      value: {
        program: runner.begin({ call: programCall, program: resolved, outbound, preamble: wish.preamble ?? [] }),
      },
    }),
    { media },
  )
  const telephone = () => closedAfter(t, makeTelephone())
  const { gateway, carrier, ended } = world
  /** The carrier calls us. */
  const receive = async () => {
    const peer = await telephone()
    const ask = { uri: `sip:33187654321@127.0.0.1:${gateway.port}`, from: '<sip:0033612345678@carrier.test>' }
    return { peer, ...(await dial(carrier, ask, peer)) }
  }
  const command = (wanted: CallCommand) => runner.command(programCall.id, wanted)
  /** No call is open, and the runner has none. */
  const over = async () => {
    await ended()
    await until(() => gateway.calls() === 0 && media.state().calls === 0, 'no call is open')
    await until(async () => (await command({ command: 'stop' })) === null, 'the end of the program')
  }
  const requested = (path: string) => until(() => program.received.find((one) => one.path === path), path)
  return { ...world, ...program, ...made, runner, telephone, receive, command, over, requested }
}

/** Makes the engine and the folder for recordings that the tests of a file share. */
export const makeInterpreters = async () => {
  const media = await openMedia()
  after(() => media.close())
  const folder = await mkdtemp(join(tmpdir(), 'programs-'))
  after(() => rm(folder, { recursive: true }))
  const open = (t: TestContext, answers: Record<string, Answer>, wish: Differences = {}) =>
    openInterpreter(t, { media, folder }, answers, wish)
  return { folder, open }
}
