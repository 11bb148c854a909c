import type pg from 'pg'
import { uuid } from '../lib/id.ts'
import { openClient } from './database-hosts.ts'
import { type Db, requireWritable, type Sql } from './sql.ts'

/**
 * Work that another process may have left in the database. `changes`: a topic of the invalidation bus, published by a
 * trigger. `jobs`, `deliveries` and `inbox`: rows for a worker, published by the process that wrote them. `leases`: a lease
 * of a carrier was released, or the state of its connection changed.
 */
export type WakeTopic = 'changes' | 'jobs' | 'deliveries' | 'inbox' | 'leases'

/** Wakes the consumers of other processes by LISTEN and NOTIFY. Decision 0052 has the reasons. */
export type WakeUps = {
  /** True while notifications arrive. Polls are then a safety net and may be slow. */
  isListening(): boolean
  /** Nothing polls while notifications arrive: for tests. */
  readonly isTrusted?: boolean
  /**
   * Calls `effect` when another process published the topic, and whenever `isListening` changes.
   * @returns a function that unsubscribes
   */
  on(topic: WakeTopic, effect: () => void): () => void
  /**
   * Wakes the other processes soon. Call it after the commit. Topics share a statement, and each process sends at most
   * four in a second. A lost one makes the others late, by their slow polls.
   * @param isLater after a quarter of a second, when this process may have done the work
   */
  publish(topic: WakeTopic, isLater?: boolean): void
  stop(): Promise<void>
}

type Log = { warn(fields: object, message: string): void; info(message: string): void }

export type WakeUpOptions = {
  readonly url: string
  /** Sends the notifications that test the connection. */
  readonly db: Db
  readonly log: Log
  /** No other process can have work: nothing is published. */
  readonly isAlone?: boolean
  readonly isTrusted?: boolean
  /** Milliseconds within which a test must arrive, between tests, and until a lost connection is opened again. */
  readonly testMs?: number
  readonly testEveryMs?: number
  readonly reconnectMs?: number
}

/** The trigger of the table `changes` uses it too. */
const channel = 'trunkline'

/** Milliseconds between notifications of one process. */
const publishEveryMs = 250

/** Milliseconds within which a connection is closed. */
const closeMs = 500

/** Wakes nothing: everything polls. */
export const noWakeUps: WakeUps = {
  isListening: () => false,
  on: () => () => {},
  publish: () => {},
  stop: async () => {},
}

/**
 * Sends without a flush of the log, as a notification may be lost. It has a transaction of its own: those that notify
 * commit one after the other.
 */
const send = (query: (text: string, values: string[]) => Promise<unknown>, payload: string) =>
  query(`select set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`, [channel, payload])

/** Wakes all processes with a statement of the caller: for a notification that must be sent before the process ends. */
export const notifyOthers = (sql: Sql, topic: WakeTopic): Promise<number> =>
  sql.run`select pg_notify(${channel}, ${`statement ${topic}`})`

type Listener = { readonly client: pg.Client; readonly lost: Promise<Error>; end(): void }

const openListener = async (url: string, receive: (payload: string) => void): Promise<Listener> => {
  const client = await openClient(
    url,
    { connectionTimeoutMillis: 5_000, query_timeout: 10_000, keepAlive: true, application_name: 'trunkline wake-ups' },
    async (opened) => {
      opened.on('notification', ({ payload = '' }) => receive(payload))
      await requireWritable(opened)
      await opened.query(`listen ${channel}`)
    },
  )
  const lost = new Promise<Error>((resolve) => {
    client.on('error', resolve)
    client.on('end', () => resolve(new Error('the connection ended')))
  })
  // Does not wait for a peer that may be gone.
  return { client, lost, end: () => client.endSoon(closeMs) }
}

/**
 * Listens on one connection of its own, and opens it again when it is lost. A notification from another connection tests
 * it: a pooler in transaction mode accepts LISTEN and delivers nothing.
 */
export const startWakeUps = ({
  url,
  db,
  log,
  isAlone = false,
  isTrusted = false,
  testMs = 1_000,
  testEveryMs = 30_000,
  reconnectMs = 1_000,
}: WakeUpOptions): WakeUps => {
  const own = uuid()
  const effects = new Map<WakeTopic, Set<() => void>>()
  const topics = new Set<WakeTopic>()
  let client: pg.Client | null = null
  let listening = false
  let awaited = ''
  let isLogged = false
  let pause: NodeJS.Timeout | null = null
  let wait: { timer: NodeJS.Timeout; end: () => void } | null = null
  let isStopped = false

  const fire = (topic: WakeTopic) => {
    for (const effect of effects.get(topic) ?? []) effect()
  }

  const setListening = (is: boolean) => {
    if (listening === is) return
    listening = is
    if (is && isLogged) log.info('database: notifications arrive again')
    if (is) isLogged = false
    for (const topic of effects.keys()) fire(topic)
  }

  const warnOnce = (fields: object, message: string) => {
    if (!isLogged && !isStopped) log.warn(fields, message)
    isLogged = true
  }

  const receive = (payload: string) => {
    const [sender, ...named] = payload.split(' ')
    if (payload === awaited) {
      awaited = ''
      wait?.end()
      setListening(true)
    } else if (sender === 'changes') fire('changes')
    else if (sender !== own) for (const topic of named) fire(topic as WakeTopic) // a topic without effects is ignored
  }

  const sleep = (milliseconds: number) =>
    new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(wait?.timer)
        wait = null
        resolve()
      }
      wait = { timer: setTimeout(end, milliseconds).unref(), end }
    })

  /** @returns true if the notification of another connection arrived in time */
  const test = async (): Promise<boolean> => {
    awaited = `test ${uuid()}`
    const arrival = sleep(testMs)
    await send((text, values) => db.raw(text, values), awaited).catch(() => wait?.end())
    await arrival
    return awaited === ''
  }

  /** Follows one connection until it is lost. */
  const follow = async (): Promise<Error> => {
    const opened = await openListener(url, receive)
    client = opened.client
    let error: Error | null = null
    void opened.lost.then((reason) => {
      error = reason
      wait?.end()
    })
    if (!(await test()) && !error)
      warnOnce({}, 'database: notifications do not arrive, as behind a pooler in transaction mode: this process polls')
    while (!error && !isStopped) {
      await sleep(testEveryMs)
      // A connection that a firewall dropped looks open. Behind a pooler there is nothing to test.
      if (!error && !isStopped && listening && !(await test())) break
    }
    client = null
    opened.end()
    return error ?? new Error('a notification did not arrive')
  }

  const run = async () => {
    while (!isStopped) {
      const error = await follow().catch((thrown: unknown) => thrown)
      client = null
      topics.clear()
      const reason = error instanceof Error ? error.message : String(error)
      warnOnce({ reason }, 'database: the connection for notifications was lost: this process polls')
      setListening(false)
      if (!isStopped) await sleep(reconnectMs)
    }
  }

  const flushLater = () => {
    pause = setTimeout(() => {
      pause = null
      flush()
    }, publishEveryMs).unref()
  }

  const flush = () => {
    if (pause || !client || topics.size === 0) return
    const payload = [own, ...topics].join(' ')
    topics.clear()
    const sender = client
    // A failure is a lost connection, which `follow` notices.
    void send((text, values) => sender.query(text, values), payload).catch(() => {})
    flushLater()
  }

  const running = run()

  return {
    isListening: () => listening,
    isTrusted,
    on: (topic, effect) => {
      const known = effects.get(topic) ?? new Set()
      effects.set(topic, known.add(effect))
      return () => void known.delete(effect)
    },
    publish: (topic, isLater = false) => {
      if (isAlone || !client) return
      topics.add(topic)
      if (!isLater) flush()
      else if (!pause) flushLater()
    },
    stop: async () => {
      isStopped = true
      clearTimeout(pause ?? undefined)
      wait?.end()
      await running
    },
  }
}
