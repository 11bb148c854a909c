import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type LightPeer, makeLightPeer } from '../test/media/light-peer.ts'
import { startRtpengine } from '../test/media/rtpengine.ts'
import { temporaryFolder } from '../test/servers.ts'
import { benchRun } from './bench.ts'
import { median, table } from './lib.ts'
import { cpuSeconds, memory } from './usage.ts'
import type { EngineOptions, EngineRequest, EngineResponse } from './voice-engine.ts'

/**
 * Measures the CPU usage and packet loss of one media worker.
 * Calls run from browser to trunk, recorded and not, and from trunk to trunk. rtpengine (Debian's, in user space)
 * handles the same calls for comparison. Both sides of each call speak all the time, 50 packets a second each. The
 * peers run in another process and use about as much CPU as the engine.
 */
const run = benchRun()
const { rounds, seconds } = run
const count = run.number('calls')

type Kind = 'webrtc' | 'rtp'
type Figures = { readonly cpu: number; readonly loss: number; readonly setUp: number; readonly megabytes: number }
type ConnectedCall = { readonly call: number; readonly one: LightPeer; readonly other: LightPeer }

/** A request without its number. */
type UnnumberedRequest = {
  [A in EngineRequest['ask']]: Omit<Extract<EngineRequest, { ask: A }>, 'id'>
}[EngineRequest['ask']]

const startEngine = async (start: EngineOptions) => {
  const child = fork(join(import.meta.dirname, 'voice-engine.ts'), [JSON.stringify(start)])
  await once(child, 'message')
  const waiting = new Map<number, (said: EngineResponse) => void>()
  child.on('message', (said: EngineResponse) => {
    waiting.get(said.id)?.(said)
    waiting.delete(said.id)
  })
  let last = 0
  const ask = (order: UnnumberedRequest) =>
    new Promise<EngineResponse>((resolve) => {
      const id = ++last
      waiting.set(id, resolve)
      child.send({ ...order, id })
    })
  return { pid: child.pid ?? 0, ask, stop: () => child.kill() }
}

type Engine = Awaited<ReturnType<typeof startEngine>>

/** @returns the call, and the milliseconds from the offer until both sides have received the first packet */
const dial = async (engine: Engine, kind: Kind): Promise<{ talk: ConnectedCall; setUp: number }> => {
  const [one, other] = [await makeLightPeer(kind), await makeLightPeer('rtp')]
  const offer = await one.offer()
  const began = performance.now()
  const described = await engine.ask({ ask: 'offer', kind, sdp: offer })
  const answered = await engine.ask({
    ask: 'answer',
    call: described.call,
    sdp: await other.answer(String(described.value)),
  })
  await one.accept(String(answered.value))
  other.startSending()
  one.startSending()
  while (one.received === 0 || other.received === 0) await setTimeout(1)
  return { talk: { call: described.call, one, other }, setUp: performance.now() - began }
}

const total = (talks: readonly ConnectedCall[], figure: (peer: LightPeer) => number) =>
  talks.reduce((sum, { one, other }) => sum + figure(one) + figure(other), 0)

/** Silences all peers and waits until no packet is in transit. */
const silenceAll = async (talks: readonly ConnectedCall[]): Promise<void> => {
  for (const { one, other } of talks) {
    one.stopSending()
    other.stopSending()
  }
  for (let [before, now] = [-1, 0]; before !== now; [before, now] = [now, total(talks, (peer) => peer.received)])
    await setTimeout(500)
}

const measure = async (engine: Engine, pids: readonly number[], kind: Kind, isRecorded: boolean): Promise<Figures> => {
  const dialled: { talk: ConnectedCall; setUp: number }[] = []
  for (let i = 0; i < count; i++) dialled.push(await dial(engine, kind))
  const talks = dialled.map(({ talk }) => talk)
  const folder = temporaryFolder()
  if (isRecorded) for (const { call } of talks) await engine.ask({ ask: 'record', call, folder })
  await silenceAll(talks)
  const [sent, received] = [total(talks, (peer) => peer.sent), total(talks, (peer) => peer.received)]
  for (const peer of talks.flatMap(({ one, other }) => [one, other])) {
    peer.startSending()
    // Spreads the calls over the 20 ms interval, as in practice: in one burst they use a third less CPU.
    await setTimeout(1)
  }
  await setTimeout(1_000)
  const cpu = () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  const used = cpu()
  await setTimeout(seconds * 1_000)
  const spent = cpu() - used
  const megabytes = pids.reduce((sum, pid) => sum + memory(pid), 0)
  await silenceAll(talks)
  const wentOut = total(talks, (peer) => peer.sent) - sent
  const cameIn = total(talks, (peer) => peer.received) - received
  for (const { call, one, other } of talks) {
    await one.close()
    await other.close()
    await engine.ask({ ask: 'end', call })
  }
  const setUp = median(dialled.map((one) => one.setUp))
  return { cpu: (spent / seconds / count) * 100, loss: Math.max(0, 1 - cameIn / wentOut), setUp, megabytes }
}

const rows: string[][] = []
const scenarios: readonly (readonly [string, Kind, boolean])[] = [
  ['browser to trunk', 'webrtc', false],
  ['browser to trunk, recorded', 'webrtc', true],
  ['trunk to trunk', 'rtp', false],
]

const runEngine = async (name: string, start: EngineOptions, daemon: number | null): Promise<Figures[]> => {
  const figures: Figures[] = []
  for (const [what, kind, isRecorded] of scenarios) {
    const engine = await startEngine(start)
    // Measures the rtpengine daemon alone: the process that controls it uses almost no CPU.
    const made = await measure(engine, daemon === null ? [engine.pid] : [daemon], kind, isRecorded)
    engine.stop()
    figures.push(made)
    rows.push([
      name,
      what,
      `${made.cpu.toFixed(2)} %`,
      `${(made.loss * 100).toFixed(3)} %`,
      `${made.setUp.toFixed(0)} ms`,
      `${made.megabytes} MB`,
    ])
  }
  return figures
}

const hasRtpengine = existsSync('/usr/bin/rtpengine')
if (!hasRtpengine) console.log('rtpengine is not installed: apt-get install rtpengine-daemon')

const measureRtpengine = async (): Promise<Figures[]> => {
  const daemon = await startRtpengine()
  const { port, dtmfPort, recordings } = daemon
  const start: EngineOptions = { engine: 'rtpengine', port, dtmfPort, recordings }
  return runEngine('rtpengine, user space', start, daemon.pid).finally(() => daemon.stop())
}

for (let round = 0; round < rounds; round++) {
  const ours = await runEngine('embedded, one worker', { engine: 'embedded' }, null)
  const theirs = hasRtpengine ? await measureRtpengine() : []
  const [own, other] = [ours, theirs].map((figures) => figures[scenarios.findIndex(([, , isRecorded]) => isRecorded)])
  if (own) run.record({ recorded: own.cpu, loss: own.loss * 100 })
  if (own && other) run.record({ rtpengine: other.cpu, ratio: own.cpu / other.cpu })
}

console.log(`\n${count} calls of G.711, both sides speaking, ${seconds} s each\n`)
table(['engine', 'calls', 'core per call', 'loss', 'set-up', 'memory'], rows)
