import { join } from 'node:path'
import { startEmbedded } from '../src/adapters/media/embedded/embedded-engine.ts'
import { loopback } from '../src/adapters/media/embedded/embedded-testing.ts'
import { startRtpengineEngine } from '../src/adapters/media/rtpengine/rtpengine-engine.ts'
import type { MediaCall, MediaLeg, MediaResult } from '../src/ports/media.ts'

// The media engine of bench/voice.ts, in its own process, so that its usage is measured apart from that of the peers.
// The parent sends numbered requests; each response carries the number of its request.

/** Start options of the process. */
export type EngineOptions =
  | { readonly engine: 'embedded' }
  | { readonly engine: 'rtpengine'; readonly port: number; readonly dtmfPort: number; readonly recordings: string }

export type EngineRequest =
  | { readonly id: number; readonly ask: 'offer'; readonly kind: 'webrtc' | 'rtp'; readonly sdp: string }
  | { readonly id: number; readonly ask: 'answer'; readonly call: number; readonly sdp: string }
  | { readonly id: number; readonly ask: 'record'; readonly call: number; readonly folder: string }
  | { readonly id: number; readonly ask: 'end'; readonly call: number }

export type EngineResponse = { readonly id: number; readonly value: string | number; readonly call: number }

const start: EngineOptions = JSON.parse(process.argv[2] ?? '{}')
const bind = '127.0.0.1'
const embedded = await startEmbedded({
  ...loopback,
  callsPerWorker: 1_000,
  fault: (reason) => console.error(reason),
})
const engine =
  start.engine === 'embedded'
    ? embedded
    : await startRtpengineEngine({
        address: bind,
        port: start.port,
        dtmf: { address: bind, port: start.dtmfPort },
        recordings: start.recordings,
        calls: 1_000,
        processor: embedded,
      })

const unwrap = <T>(answer: MediaResult<T>): T => {
  if (answer.outcome === 'refused') throw new Error(`${answer.cause}: ${answer.reason}`)
  return answer.value
}

type OpenCall = { readonly call: MediaCall; readonly caller: MediaLeg; readonly callee: MediaLeg; isRecorded: boolean }
const calls = new Map<number, OpenCall>()

const openOf = (call: number): OpenCall => {
  const open = calls.get(call)
  if (!open) throw new Error(`no call ${call}`)
  return open
}

const codecs = ['pcmu', 'pcma'] as const

const handleRequest = async (order: EngineRequest): Promise<EngineResponse> => {
  if (order.ask === 'offer') {
    const silent = () => undefined
    const call = unwrap(
      await engine.openCall({
        connected: silent,
        dtmf: silent,
        silence: silent,
        dropped: silent,
        failed: console.error,
      }),
    )
    const caller = unwrap(await call.addLeg({ id: 'caller', kind: order.kind, offer: order.sdp, codecs }))
    const callee = unwrap(await call.addLeg({ id: 'callee', kind: 'rtp', offer: null, codecs }))
    unwrap(await call.bridge(caller, callee))
    calls.set(order.id, { call, caller, callee, isRecorded: false })
    return { id: order.id, value: unwrap(await callee.describe()), call: order.id }
  }
  const open = openOf(order.call)
  const { call, caller, callee } = open
  if (order.ask === 'answer') {
    unwrap(await callee.accept(order.sdp))
    return { id: order.id, value: unwrap(await caller.describe()), call: order.call }
  }
  if (order.ask === 'record') {
    unwrap(await call.startRecording(join(order.folder, `${order.call}.wav`), caller, callee))
    open.isRecorded = true
    return { id: order.id, value: 0, call: order.call }
  }
  const seconds = open.isRecorded ? unwrap(await call.stopRecording()).seconds : 0
  await call.close()
  calls.delete(order.call)
  return { id: order.id, value: seconds, call: order.call }
}

process.on('message', (order: EngineRequest) => {
  handleRequest(order).then(
    (said) => process.send?.(said),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.on('disconnect', () => process.exit())
process.send?.({ id: 0, value: 'ready', call: 0 } satisfies EngineResponse)
