import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { MediaAnswer, MediaEvents } from '../../port.ts'
import { refused, textOf } from '../answer.ts'
import type { Act, Acts, Happening, Order, Word, WorkerSettings } from './protocol.ts'

const file = new URL('./worker.ts', import.meta.url)

type Waiting = (answer: MediaAnswer<unknown>) => void

const lost = refused('state', 'the media worker has ended')

const tell = (events: MediaEvents, { event, told }: Happening): void => {
  if (event === 'connected') events.connected(...told)
  else if (event === 'dtmf') events.dtmf(...told)
  else if (event === 'silence') events.silence(...told)
  else if (event === 'dropped') events.dropped(...told)
  else events.failed(...told)
}

/** One worker, with the calls in it. */
export class Mate {
  private readonly worker: Worker
  private readonly fault: (reason: string) => void
  private readonly ended: (reason: string) => void
  private readonly waiting = new Map<number, Waiting>()
  private readonly events = new Map<string, MediaEvents>()
  private lastId = 0
  private isEnded = false
  private reason = 'it ended'
  readonly settings: WorkerSettings

  constructor(settings: WorkerSettings, fault: (reason: string) => void, ended: (mate: Mate, reason: string) => void) {
    this.settings = settings
    this.fault = fault
    this.ended = (reason) => ended(this, reason)
    this.worker = new Worker(file, { workerData: settings })
    this.worker.on('message', (word: Word) => this.hear(word))
    this.worker.on('error', (error) => {
      this.reason = textOf(error)
    })
    this.worker.on('exit', () => this.die())
  }

  get calls(): number {
    return this.events.size
  }

  /** @throws Error when it ends before it is ready */
  async ready(): Promise<void> {
    const [word] = await Promise.race([
      once(this.worker, 'message'),
      once(this.worker, 'exit').then(() => {
        throw new Error(`the media worker does not start: ${this.reason}`)
      }),
    ])
    if (word.word !== 'ready') throw new Error('the media worker does not start as it should')
  }

  begin(call: string, events: MediaEvents): Promise<MediaAnswer<null>> {
    this.events.set(call, events)
    return this.ask(call, 'open', null)
  }

  async end(call: string): Promise<void> {
    if (!this.events.has(call)) return
    await this.ask(call, 'close', null)
    this.events.delete(call)
  }

  ask<A extends Act>(call: string, act: A, ask: Acts[A]['ask']): Promise<MediaAnswer<Acts[A]['answer']>> {
    if (this.isEnded || !this.events.has(call)) return Promise.resolve(refused('state', 'the call has ended'))
    const id = ++this.lastId
    return new Promise((resolve) => {
      // Asked and answered by one act: the worker's answer is of its type. So is the order, which TypeScript does not see through A.
      this.waiting.set(id, (answer) => resolve(answer as MediaAnswer<Acts[A]['answer']>))
      this.worker.postMessage({ id, call, act, ask } as Order)
    })
  }

  async terminate(): Promise<void> {
    await this.worker.terminate()
  }

  private hear(word: Word): void {
    if (word.word === 'answer') {
      this.waiting.get(word.id)?.(word.answer)
      this.waiting.delete(word.id)
    } else if (word.word === 'event') {
      const events = this.events.get(word.happening.call)
      if (events) tell(events, word.happening)
    } else if (word.word === 'fault') this.fault(word.reason)
  }

  private die(): void {
    this.isEnded = true
    const calls = [...this.events.values()]
    this.events.clear()
    for (const answer of this.waiting.values()) answer(lost)
    this.waiting.clear()
    for (const events of calls) events.failed(null, `the media worker has ended: ${this.reason}`)
    this.ended(this.reason)
  }
}

/** The first new try is at once; a worker that cannot live is not started more often than this. */
const restartMs = 1_000

/** The workers of an engine: a place for each, which is filled again when its worker dies. */
export class Crew {
  private readonly mates: (Mate | null)[]
  private readonly fault: (reason: string) => void
  private readonly startedAt: number[]
  private readonly timers = new Set<NodeJS.Timeout>()
  private isClosed = false

  private constructor(settings: readonly WorkerSettings[], fault: (reason: string) => void) {
    this.fault = fault
    this.startedAt = settings.map(() => performance.now())
    this.mates = settings.map((one, i) => this.make(one, i))
  }

  static async start(settings: readonly WorkerSettings[], fault: (reason: string) => void): Promise<Crew> {
    const crew = new Crew(settings, fault)
    try {
      await Promise.all(crew.mates.map((mate) => mate?.ready()))
    } catch (error) {
      await crew.close()
      throw error
    }
    return crew
  }

  get calls(): number {
    return this.mates.reduce((sum, mate) => sum + (mate?.calls ?? 0), 0)
  }

  /** The one with the fewest calls; null while all of them are dead. */
  idlest(): Mate | null {
    return this.mates.reduce((best, mate) => (mate && (!best || mate.calls < best.calls) ? mate : best), null)
  }

  async close(): Promise<void> {
    this.isClosed = true
    for (const timer of this.timers) clearTimeout(timer)
    await Promise.all(this.mates.map((mate) => mate?.terminate()))
  }

  private make(settings: WorkerSettings, i: number): Mate {
    return new Mate(settings, this.fault, (_, reason) => {
      this.mates[i] = null
      if (this.isClosed) return
      this.fault(`a media worker has ended, and is started anew: ${reason}`)
      const wait = Math.max(0, (this.startedAt[i] ?? 0) + restartMs - performance.now())
      const timer = setTimeout(() => {
        this.timers.delete(timer)
        this.startedAt[i] = performance.now()
        this.mates[i] = this.make(settings, i)
      }, wait)
      this.timers.add(timer)
    })
  }
}
