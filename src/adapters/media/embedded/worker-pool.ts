import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { MediaEvents, MediaResult, MediaStream } from '../../../ports/media.ts'
import type { MediaStreamEvents, MediaStreamOptions } from '../../../ports/media-stream.ts'
import { callsBeforeNext, workerRestartMs } from '../limits.ts'
import { done, errorMessage, refused } from '../result.ts'
import type {
  CallOperation,
  CallOperations,
  Happening,
  StreamEvent,
  WorkerMessage,
  WorkerRequest,
  WorkerSettings,
} from './worker-protocol.ts'

const file = new URL('./worker.ts', import.meta.url)

type PendingRequest = (answer: MediaResult<unknown>) => void

const lost = refused('state', 'the media worker has ended')

/** The end of a stream whose worker has ended. Its figures are lost. */
const lostStream = { reason: 'broken', code: null, seconds: 0, framesSent: 0, framesDropped: 0, droppedMs: 0 } as const

const emit = (events: MediaEvents, { event, args }: Happening): void => {
  if (event === 'connected') events.connected(...args)
  else if (event === 'dtmf') events.dtmf(...args)
  else if (event === 'speech') events.speech?.(...args)
  else if (event === 'silence') events.silence(...args)
  else if (event === 'dropped') events.dropped(...args)
  else events.failed(...args)
}

/** A worker thread with its calls. */
export class MediaWorker {
  private readonly worker: Worker
  private readonly fault: (reason: string) => void
  private readonly ended: (reason: string) => void
  private readonly waiting = new Map<number, PendingRequest>()
  private readonly events = new Map<string, MediaEvents>()
  /** Listeners of frames, by call and id. */
  private readonly listeners = new Map<string, Map<string, (frame: Uint8Array) => void>>()
  /** Events of streams that have not ended, by id. */
  private readonly streams = new Map<string, MediaStreamEvents>()
  private lastId = 0
  private isEnded = false
  private reason = 'it ended'
  readonly settings: WorkerSettings

  constructor(
    settings: WorkerSettings,
    fault: (reason: string) => void,
    ended: (mate: MediaWorker, reason: string) => void,
  ) {
    this.settings = settings
    this.fault = fault
    this.ended = (reason) => ended(this, reason)
    this.worker = new Worker(file, { name: 'media', workerData: settings })
    this.worker.on('message', (word: WorkerMessage) => this.receive(word))
    this.worker.on('error', (error) => {
      this.reason = errorMessage(error)
    })
    this.worker.on('exit', () => this.handleExit())
  }

  get calls(): number {
    return this.events.size
  }

  /** @throws Error if the worker ends before it is ready */
  async ready(): Promise<void> {
    const [word] = await Promise.race([
      once(this.worker, 'message'),
      once(this.worker, 'exit').then(() => {
        throw new Error(`the media worker failed to start: ${this.reason}`)
      }),
    ])
    if (word.word !== 'ready') throw new Error('the media worker failed to start: unexpected first message')
    if (this.isEnded) throw new Error(`the media worker failed to start: ${this.reason}`)
  }

  begin(call: string, events: MediaEvents): Promise<MediaResult<null>> {
    this.events.set(call, events)
    return this.request(call, 'open', null)
  }

  async end(call: string): Promise<void> {
    if (!this.events.has(call)) return
    await this.request(call, 'close', null)
    this.events.delete(call)
    this.listeners.delete(call)
  }

  request<A extends CallOperation>(
    call: string,
    act: A,
    ask: CallOperations[A]['ask'],
  ): Promise<MediaResult<CallOperations[A]['answer']>> {
    if (this.isEnded || !this.events.has(call)) return Promise.resolve(refused('state', 'the call has ended'))
    const id = ++this.lastId
    return new Promise((resolve) => {
      // The reply has the type that belongs to `act`, and so has the request; TypeScript cannot derive it from A.
      this.waiting.set(id, (answer) => resolve(answer as MediaResult<CallOperations[A]['answer']>))
      this.worker.postMessage({ id, call, act, ask } as WorkerRequest)
    })
  }

  /** @returns a function that ends it */
  async listen(
    call: string,
    leg: string,
    of: 'said' | 'heard',
    give: (frame: Uint8Array) => void,
  ): Promise<MediaResult<() => Promise<void>>> {
    const listener = randomUUID()
    const begun = await this.request(call, 'listen', { leg, listener, of })
    if (begun.outcome === 'refused') return begun
    const ofCall = this.listeners.get(call) ?? new Map<string, (frame: Uint8Array) => void>()
    if (this.events.has(call)) this.listeners.set(call, ofCall.set(listener, give))
    return done(async () => {
      ofCall.delete(listener)
      await this.request(call, 'unlisten', { leg, listener })
    })
  }

  async openStream(
    call: string,
    leg: string,
    options: MediaStreamOptions,
    events: MediaStreamEvents,
  ): Promise<MediaResult<MediaStream>> {
    const stream = randomUUID()
    // Events may come before the answer.
    this.streams.set(stream, events)
    const begun = await this.request(call, 'openStream', { leg, stream, options })
    if (begun.outcome === 'refused') {
      this.streams.delete(stream)
      return begun
    }
    return done({
      sendKey: (digit) => this.request(call, 'pressStream', { stream, digit }),
      stop: () => this.request(call, 'stopStream', { stream }),
    })
  }

  async terminate(): Promise<void> {
    await this.worker.terminate()
  }

  private receive(word: WorkerMessage): void {
    if (word.word === 'answer') {
      this.waiting.get(word.id)?.(word.answer)
      this.waiting.delete(word.id)
    } else if (word.word === 'event') {
      const events = this.events.get(word.happening.call)
      if (events) emit(events, word.happening)
    } else if (word.word === 'frame') this.listeners.get(word.call)?.get(word.listener)?.(word.frame)
    else if (word.word === 'stream') this.emitOfStream(word.stream, word.event)
    else if (word.word === 'fault') this.fault(word.reason)
  }

  private emitOfStream(stream: string, event: StreamEvent): void {
    const events = this.streams.get(stream)
    if (event.what === 'ended') this.streams.delete(stream)
    if (event.what === 'opened') events?.opened?.()
    else if (event.what === 'dropped') events?.dropped?.(event.of)
    else events?.ended(event.end)
  }

  private handleExit(): void {
    this.isEnded = true
    const calls = [...this.events.values()]
    this.events.clear()
    this.listeners.clear()
    for (const answer of this.waiting.values()) answer(lost)
    this.waiting.clear()
    const streams = [...this.streams.values()]
    this.streams.clear()
    for (const events of streams) events.ended({ ...lostStream, detail: lost.reason })
    for (const events of calls) events.failed(null, `the media worker has ended: ${this.reason}`)
    this.ended(this.reason)
  }
}

/** The place of one worker: its settings, and the worker while one runs. */
type Slot = {
  readonly settings: WorkerSettings
  worker: MediaWorker | null
  /** Set while the worker starts. */
  starting: Promise<void> | null
  /** Resolves when the worker before has released its ports. */
  released: Promise<void>
  startedAt: number
  /** Time of the last call that began, or was seen to run. */
  usedAt: number
  idleTimer: NodeJS.Timeout | null
}

export type WorkerPoolSettings = {
  readonly workers: readonly WorkerSettings[]
  readonly callsPerWorker: number
  /** Milliseconds without a call after which a worker ends. */
  readonly idleMs: number
  readonly fault: (reason: string) => void
}

/**
 * The workers of an engine. A worker starts with the first call and ends when it is idle: at rest it would cost 30 MB.
 * A worker that dies is replaced by the next call.
 */
export class WorkerPool {
  private readonly settings: WorkerPoolSettings
  private readonly slots: readonly Slot[]
  private readonly closing = new AbortController()

  constructor(settings: WorkerPoolSettings) {
    this.settings = settings
    this.slots = settings.workers.map((one) => ({
      settings: one,
      worker: null,
      starting: null,
      released: Promise.resolve(),
      startedAt: Number.NEGATIVE_INFINITY,
      usedAt: 0,
      idleTimer: null,
    }))
  }

  get calls(): number {
    return this.slots.reduce((sum, { worker }) => sum + (worker?.calls ?? 0), 0)
  }

  /** Threads that run or start. */
  private get running(): number {
    return this.slots.filter(({ worker, starting }) => worker || starting).length
  }

  /**
   * Opens a call in the least loaded worker, and starts one when none runs or all have calls enough.
   * @returns null if the limit is reached
   * @throws Error if the worker fails to start, or the pool closes
   */
  async open(call: string, events: MediaEvents): Promise<{ worker: MediaWorker; opened: MediaResult<null> } | null> {
    for (;;) {
      const slot = this.nextSlot()
      if (!slot.worker) {
        await this.start(slot)
        // Other calls waited for the same worker: choose again.
        continue
      }
      const { worker } = slot
      if (worker.calls >= this.settings.callsPerWorker) return null
      slot.usedAt = performance.now()
      return { worker, opened: await worker.begin(call, events) }
    }
  }

  /** Starts a worker if none runs: a call is likely soon. */
  prepare(): void {
    const [first] = this.slots
    // A fault is reported by the call that needs the worker.
    if (first && !this.isClosed && this.running === 0) this.start(first).catch(() => {})
  }

  get isClosed(): boolean {
    return this.closing.signal.aborted
  }

  async close(): Promise<void> {
    this.closing.abort()
    for (const { idleTimer } of this.slots) if (idleTimer) clearTimeout(idleTimer)
    await Promise.all(this.slots.map((slot) => slot.starting?.catch(() => {})))
    await Promise.all(this.slots.map(({ worker }) => worker?.terminate()))
    await Promise.all(this.slots.map(({ released }) => released))
  }

  private nextSlot(): Slot {
    const enough = Math.min(callsBeforeNext, this.settings.callsPerWorker)
    const load = ({ worker, starting }: Slot) => {
      const calls = worker?.calls ?? 0
      // Another thread is worth its memory only once the ones that run have calls enough.
      return (worker || starting) && calls < enough ? calls - enough : calls
    }
    return this.slots.reduce((best, slot) => (load(slot) < load(best) ? slot : best))
  }

  private start(slot: Slot): Promise<void> {
    slot.starting ??= this.startWorker(slot).finally(() => {
      slot.starting = null
    })
    return slot.starting
  }

  private async startWorker(slot: Slot): Promise<void> {
    const { signal } = this.closing
    await slot.released
    const wait = slot.startedAt + workerRestartMs - performance.now()
    if (wait > 0) await pause(wait, undefined, { signal })
    signal.throwIfAborted()
    slot.startedAt = performance.now()
    const worker = new MediaWorker(slot.settings, this.settings.fault, (ended, reason) => {
      if (slot.worker !== ended) return
      slot.worker = null
      if (!signal.aborted) this.settings.fault(`a media worker has ended and is restarted by the next call: ${reason}`)
    })
    // A start under way does not delay the stop of the process.
    const abort = () => void worker.terminate()
    signal.addEventListener('abort', abort, { once: true })
    try {
      await worker.ready()
    } finally {
      signal.removeEventListener('abort', abort)
    }
    signal.throwIfAborted()
    slot.worker = worker
    slot.usedAt = performance.now()
    this.endWhenIdle(slot)
  }

  /** Ends the worker of a slot once it had no call for `idleMs`. */
  private endWhenIdle(slot: Slot): void {
    if (slot.idleTimer) clearTimeout(slot.idleTimer)
    const { idleMs } = this.settings
    const check = () => {
      const { worker } = slot
      if (!worker || this.isClosed) return
      const now = performance.now()
      if (worker.calls > 0) slot.usedAt = now
      if (now - slot.usedAt < idleMs) slot.idleTimer = setTimeout(check, idleMs / 4).unref()
      else {
        slot.worker = null
        slot.released = worker.terminate()
      }
    }
    slot.idleTimer = setTimeout(check, idleMs / 4).unref()
  }
}
