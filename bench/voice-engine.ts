import { join } from 'node:path'
import { startEmbedded } from '../src/connectors/media/embedded/engine.ts'
import { startRtpengineEngine } from '../src/connectors/media/rtpengine/engine.ts'
import type { MediaAnswer, MediaCall, MediaLeg } from '../src/connectors/port.ts'

// The engine of bench/voice.ts, as a process of its own, so that what it takes can be told from what the peers take. It is asked by
// messages: each has a number, and so has its answer.

/** What the process is started with. */
export type Start =
  | { readonly engine: 'embedded' }
  | { readonly engine: 'rtpengine'; readonly port: number; readonly dtmfPort: number; readonly recordings: string }

export type Ask =
  | { readonly id: number; readonly ask: 'offer'; readonly kind: 'webrtc' | 'rtp'; readonly sdp: string }
  | { readonly id: number; readonly ask: 'answer'; readonly call: number; readonly sdp: string }
  | { readonly id: number; readonly ask: 'record'; readonly call: number; readonly folder: string }
  | { readonly id: number; readonly ask: 'end'; readonly call: number }

export type Said = { readonly id: number; readonly value: string | number; readonly call: number }

const start: Start = JSON.parse(process.argv[2] ?? '{}')
const bind = '127.0.0.1'
const engine =
  start.engine === 'embedded'
    ? await startEmbedded({
        bind,
        advertised: bind,
        rtpPorts: [0, 0],
        webrtcPorts: [0, 0],
        workers: 1,
        callsPerWorker: 1_000,
        fault: (reason) => console.error(reason),
      })
    : await startRtpengineEngine({
        address: bind,
        port: start.port,
        dtmf: { address: bind, port: start.dtmfPort },
        recordings: start.recordings,
        calls: 1_000,
      })

const done = <T>(answer: MediaAnswer<T>): T => {
  if (answer.outcome === 'refused') throw new Error(`${answer.cause}: ${answer.reason}`)
  return answer.value
}

type Open = { readonly call: MediaCall; readonly caller: MediaLeg; readonly callee: MediaLeg; isRecorded: boolean }
const calls = new Map<number, Open>()

const openOf = (call: number): Open => {
  const open = calls.get(call)
  if (!open) throw new Error(`no call ${call}`)
  return open
}

const codecs = ['pcmu', 'pcma'] as const

const obey = async (order: Ask): Promise<Said> => {
  if (order.ask === 'offer') {
    const silent = () => undefined
    const call = done(
      await engine.openCall({
        connected: silent,
        dtmf: silent,
        silence: silent,
        dropped: silent,
        failed: console.error,
      }),
    )
    const caller = done(await call.addLeg({ id: 'caller', kind: order.kind, offer: order.sdp, codecs }))
    const callee = done(await call.addLeg({ id: 'callee', kind: 'rtp', offer: null, codecs }))
    done(await call.bridge(caller, callee))
    calls.set(order.id, { call, caller, callee, isRecorded: false })
    return { id: order.id, value: done(await callee.describe()), call: order.id }
  }
  const open = openOf(order.call)
  const { call, caller, callee } = open
  if (order.ask === 'answer') {
    done(await callee.accept(order.sdp))
    return { id: order.id, value: done(await caller.describe()), call: order.call }
  }
  if (order.ask === 'record') {
    done(await call.startRecording(join(order.folder, `${order.call}.wav`), caller, callee))
    open.isRecorded = true
    return { id: order.id, value: 0, call: order.call }
  }
  const seconds = open.isRecorded ? done(await call.stopRecording()).seconds : 0
  await call.close()
  calls.delete(order.call)
  return { id: order.id, value: seconds, call: order.call }
}

process.on('message', (order: Ask) => {
  obey(order).then(
    (said) => process.send?.(said),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.on('disconnect', () => process.exit())
process.send?.({ id: 0, value: 'ready', call: 0 } satisfies Said)
