import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type LightPeer, makeLightPeer } from '../test/media/light.ts'
import { startRtpengine } from '../test/media/rtpengine.ts'
import { temporaryFolder } from '../test/servers.ts'
import { median, table } from './lib.ts'
import { cpuSeconds, memory } from './usage.ts'
import type { Ask, Said, Start } from './voice-engine.ts'

/**
 * Media of calls: what one media worker takes for a call, and what it loses, from browser to trunk and from trunk to trunk, recorded or
 * not, beside rtpengine (Debian's, in user space) on the same calls: `npm run bench -- voice [--calls 20] [--seconds 10]`. Both sides of
 * each call speak all the time, 50 packets a second each. The peers, one process beside the engine, take about as much as it does.
 */
const { values } = parseArgs({
  options: { calls: { type: 'string', default: '20' }, seconds: { type: 'string', default: '10' } },
})
const count = Number(values.calls)
const seconds = Number(values.seconds)

type Kind = 'webrtc' | 'rtp'
type Figures = { readonly cpu: number; readonly loss: number; readonly setUp: number; readonly megabytes: number }
type Talk = { readonly call: number; readonly one: LightPeer; readonly other: LightPeer }

/** An order without its number. */
type Wish = { [A in Ask['ask']]: Omit<Extract<Ask, { ask: A }>, 'id'> }[Ask['ask']]

const startEngine = async (start: Start) => {
  const child = fork(join(import.meta.dirname, 'voice-engine.ts'), [JSON.stringify(start)])
  await once(child, 'message')
  const waiting = new Map<number, (said: Said) => void>()
  child.on('message', (said: Said) => {
    waiting.get(said.id)?.(said)
    waiting.delete(said.id)
  })
  let last = 0
  const ask = (order: Wish) =>
    new Promise<Said>((resolve) => {
      const id = ++last
      waiting.set(id, resolve)
      child.send({ ...order, id })
    })
  return { pid: child.pid ?? 0, ask, stop: () => child.kill() }
}

type Engine = Awaited<ReturnType<typeof startEngine>>

/** @returns the call, and the milliseconds from the offer until the caller hears the first packet */
const dial = async (engine: Engine, kind: Kind): Promise<{ talk: Talk; setUp: number }> => {
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
  other.say()
  one.say()
  while (one.received === 0 || other.received === 0) await setTimeout(1)
  return { talk: { call: described.call, one, other }, setUp: performance.now() - began }
}

const total = (talks: readonly Talk[], figure: (peer: LightPeer) => number) =>
  talks.reduce((sum, { one, other }) => sum + figure(one) + figure(other), 0)

/** When nothing is under way any more. */
const hush = async (talks: readonly Talk[]): Promise<void> => {
  for (const { one, other } of talks) {
    one.hush()
    other.hush()
  }
  for (let [before, now] = [-1, 0]; before !== now; [before, now] = [now, total(talks, (peer) => peer.received)])
    await setTimeout(500)
}

const measure = async (engine: Engine, pids: readonly number[], kind: Kind, isRecorded: boolean): Promise<Figures> => {
  const dialled: { talk: Talk; setUp: number }[] = []
  for (let i = 0; i < count; i++) dialled.push(await dial(engine, kind))
  const talks = dialled.map(({ talk }) => talk)
  const folder = temporaryFolder()
  if (isRecorded) for (const { call } of talks) await engine.ask({ ask: 'record', call, folder })
  await hush(talks)
  const [sent, received] = [total(talks, (peer) => peer.sent), total(talks, (peer) => peer.received)]
  for (const peer of talks.flatMap(({ one, other }) => [one, other])) {
    peer.say()
    // Spread over the 20 ms as calls are: in one burst they take a third less.
    await setTimeout(1)
  }
  await setTimeout(1_000)
  const cpu = () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  const used = cpu()
  await setTimeout(seconds * 1_000)
  const spent = cpu() - used
  const megabytes = pids.reduce((sum, pid) => sum + memory(pid), 0)
  await hush(talks)
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
const kinds: readonly (readonly [string, Kind, boolean])[] = [
  ['browser to trunk', 'webrtc', false],
  ['browser to trunk, recorded', 'webrtc', true],
  ['trunk to trunk', 'rtp', false],
]

const run = async (name: string, start: Start, daemon: number | null): Promise<Figures[]> => {
  const figures: Figures[] = []
  for (const [what, kind, isRecorded] of kinds) {
    const engine = await startEngine(start)
    // rtpengine's own process is what its calls cost; the one that asks it does next to nothing.
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

const ours = await run('embedded, one worker', { engine: 'embedded' }, null)
let theirs: Figures[] = []
if (existsSync('/usr/bin/rtpengine')) {
  const daemon = await startRtpengine()
  const { port, dtmfPort, recordings } = daemon
  theirs = await run('rtpengine, user space', { engine: 'rtpengine', port, dtmfPort, recordings }, daemon.pid)
  await daemon.stop()
} else console.log('rtpengine is not here: apt-get install rtpengine-daemon')

console.log(`\n${count} calls of G.711, both sides speak, ${seconds} s each\n`)
table(['engine', 'calls', 'of a core, a call', 'lost', 'set-up', 'memory'], rows)
for (const [i, [what]] of kinds.entries()) {
  const [a, b] = [ours[i], theirs[i]]
  if (a && b) console.log(`${what}: embedded takes ${(a.cpu / b.cpu).toFixed(1)} times the CPU of rtpengine`)
}
process.exit(0)
