import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { MediaEvents, MediaResult } from '../../../ports/media.ts'
import { workerRestartMs } from '../limits.ts'
import { errorMessage, refused } from '../result.ts'
import type {
  CallOperation,
  CallOperations,
  Happening,
  WorkerMessage,
  WorkerRequest,
  WorkerSettings,
} from './worker-protocol.ts'

const file = new URL('./worker.ts', import.meta.url)

type PendingRequest = (answer: MediaResult<unknown>) => void

const lost = refused('state', 'the media worker has ended')

const emit = (events: MediaEvents, { event, told }: Happening): void => {
  if (event === 'connected') events.connected(...told)
  else if (event === 'dtmf') events.dtmf(...told)
  else if (event === 'silence') events.silence(...told)
  else if (event === 'dropped') events.dropped(...told)
  else events.failed(...told)
}

/** A worker thread with its calls. */
export class MediaWorker {
  private readonly worker: Worker
  private readonly fault: (reason: string) => void
  private readonly ended: (reason: string) => void
  private readonly waiting = new Map<number, PendingRequest>()
  private readonly events = new Map<string, MediaEvents>()
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
    this.worker = new Worker(file, { workerData: settings })
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
  }

  begin(call: string, events: MediaEvents): Promise<MediaResult<null>> {
    this.events.set(call, events)
    return this.request(call, 'open', null)
  }

  async end(call: string): Promise<void> {
    if (!this.events.has(call)) return
    await this.request(call, 'close', null)
    this.events.delete(call)
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
    } else if (word.word === 'fault') this.fault(word.reason)
  }

  private handleExit(): void {
    this.isEnded = true
    const calls = [...this.events.values()]
    this.events.clear()
    for (const answer of this.waiting.values()) answer(lost)
    this.waiting.clear()
    for (const events of calls) events.failed(null, `the media worker has ended: ${this.reason}`)
    this.ended(this.reason)
  }
}

/** The workers of an engine. A worker that dies is replaced. */
export class WorkerPool {
  private readonly workers: (MediaWorker | null)[]
  private readonly fault: (reason: string) => void
  private readonly startedAt: number[]
  private readonly timers = new Set<NodeJS.Timeout>()
  private isClosed = false

  private constructor(settings: readonly WorkerSettings[], fault: (reason: string) => void) {
    this.fault = fault
    this.startedAt = settings.map(() => performance.now())
    this.workers = settings.map((one, i) => this.startWorker(one, i))
  }

  static async start(settings: readonly WorkerSettings[], fault: (reason: string) => void): Promise<WorkerPool> {
    const crew = new WorkerPool(settings, fault)
    try {
      await Promise.all(crew.workers.map((mate) => mate?.ready()))
    } catch (error) {
      await crew.close()
      throw error
    }
    return crew
  }

  get calls(): number {
    return this.workers.reduce((sum, mate) => sum + (mate?.calls ?? 0), 0)
  }

  /** Returns the worker with the fewest calls; null while all are dead. */
  leastLoaded(): MediaWorker | null {
    return this.workers.reduce((best, mate) => (mate && (!best || mate.calls < best.calls) ? mate : best), null)
  }

  async close(): Promise<void> {
    this.isClosed = true
    for (const timer of this.timers) clearTimeout(timer)
    await Promise.all(this.workers.map((mate) => mate?.terminate()))
  }

  private startWorker(settings: WorkerSettings, i: number): MediaWorker {
    return new MediaWorker(settings, this.fault, (_, reason) => {
      this.workers[i] = null
      if (this.isClosed) return
      this.fault(`a media worker has ended and is restarted: ${reason}`)
      const wait = Math.max(0, (this.startedAt[i] ?? 0) + workerRestartMs - performance.now())
      const timer = setTimeout(() => {
        this.timers.delete(timer)
        this.startedAt[i] = performance.now()
        this.workers[i] = this.startWorker(settings, i)
      }, wait)
      this.timers.add(timer)
    })
  }
}
