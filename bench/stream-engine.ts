import { startEmbedded } from '../src/adapters/media/embedded/embedded-engine.ts'
import { loopback } from '../src/adapters/media/embedded/embedded-testing.ts'
import type { MediaCall, MediaResult } from '../src/ports/media.ts'
import { streamOptions } from '../test/media/stream-server.ts'

// The media engine of bench/media-streams.ts, in its own process, so that its usage is measured apart from that of the
// telephones and of the server. One call for each offer.

export type StreamEngineRequest =
  /** Opens a call with one leg; its answer is the value. */
  | { readonly id: number; readonly ask: 'offer'; readonly sdp: string }
  /** Opens a two-way stream of a call, or with null plays a tone until the call ends. */
  | { readonly id: number; readonly ask: 'begin'; readonly call: number; readonly url: string | null }
  | { readonly id: number; readonly ask: 'end'; readonly call: number }

export type StreamEngineResponse = { readonly id: number; readonly value: string }

const engine = await startEmbedded({
  ...loopback,
  callsPerWorker: 1_000,
  fault: (reason) => console.error(reason),
})

const unwrap = <T>(answer: MediaResult<T>): T => {
  if (answer.outcome === 'refused') throw new Error(`${answer.cause}: ${answer.reason}`)
  return answer.value
}

const silent = () => undefined
const calls = new Map<number, { readonly call: MediaCall; begin(url: string | null): Promise<void> }>()

const handleRequest = async (order: StreamEngineRequest): Promise<string> => {
  if (order.ask === 'offer') {
    const events = { connected: silent, dtmf: silent, silence: silent, dropped: silent, failed: console.error }
    const call = unwrap(await engine.openCall(events))
    const leg = unwrap(await call.addLeg({ id: 'caller', kind: 'rtp', offer: order.sdp, codecs: ['pcmu'] }))
    calls.set(order.id, {
      call,
      begin: async (url) => {
        if (url === null) {
          void leg.play([{ tones: [440], onMs: 1_000, offMs: 0, loop: 0 }])
          return
        }
        const opened = Promise.withResolvers<void>()
        const ended = ({ reason, detail }: { reason: string; detail: string }) => {
          if (reason !== 'call_ended') console.error(`a stream ended: ${detail}`)
        }
        unwrap(await leg.openStream(streamOptions(url), { opened: opened.resolve, ended }))
        await opened.promise
      },
    })
    return unwrap(await leg.describe())
  }
  const open = calls.get(order.call)
  if (!open) throw new Error(`no call ${order.call}`)
  if (order.ask === 'begin') await open.begin(order.url)
  else {
    calls.delete(order.call)
    await open.call.close()
  }
  return ''
}

process.on('message', (order: StreamEngineRequest) => {
  handleRequest(order).then(
    (value) => process.send?.({ id: order.id, value } satisfies StreamEngineResponse),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.on('disconnect', () => process.exit())
process.send?.({ id: 0, value: 'ready' } satisfies StreamEngineResponse)
