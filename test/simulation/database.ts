import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { quoteIdentifier } from '../../src/platform/db/identifier.ts'
import type { Place, Process } from './schedule.ts'

/** A committed statement with its result, for models that follow the database. */
export type Statement = {
  readonly process: Process
  /** When it ran, in milliseconds of the schedule: its transaction may commit later. */
  readonly at: number
  readonly text: string
  readonly values: readonly unknown[]
  readonly rows: readonly Readonly<Record<string, unknown>>[]
}

/** A real session of PostgreSQL. */
type Session = { readonly client: pg.Client; readonly pid: number }

/** As much of a pg.PoolClient as sql.ts uses. */
export type Client = {
  query(config: string | pg.QueryConfig): Promise<pg.QueryResult>
  on(): void
  off(): void
  release(error?: Error): void
}

/** A statement that PostgreSQL runs. */
type Running = {
  readonly link: Link
  readonly label: string
  readonly config: pg.QueryConfig
  /** True if its answer does not arrive. */
  readonly isLost: boolean
  readonly sentAt: number
  readonly ended: Promise<void>
  result: { readonly rows: pg.QueryResult } | { readonly error: unknown } | null
  readonly resolve: (result: pg.QueryResult) => void
  readonly reject: (error: unknown) => void
}

/** A connection of a simulated process. */
type Link = {
  readonly at: Place
  session: Session | null
  /** The statement that waits for the scheduler. */
  parked: pg.QueryConfig | null
  running: Running | null
  inTransaction: boolean
  isBroken: boolean
  /** Statements of the open transaction. */
  done: Statement[]
}

const connectionLost = () => new Error('Connection terminated unexpectedly')

/** Names a statement in a trace: its first function, or its verb and table. */
const labelOf = (text: string): string => {
  const plain = text.replaceAll(/\s+/g, ' ').trim()
  const called = /\b((?:jobs|sms|webhooks|events)_\w+)\(/.exec(plain)
  if (called?.[1]) return called[1]
  const changed = /\b(insert into|update|delete from) (\w+)/.exec(plain)
  if (changed) return `${changed[1]} ${changed[2]}`
  const read = /\bfrom (\w+)/.exec(plain)
  return read ? `select ${read[1]}` : plain.slice(0, 40)
}

/** Puts rows into an order where their statement has none: PostgreSQL's would depend on earlier schedules. */
const orderRows = (text: string, rows: readonly pg.QueryResultRow[]): pg.QueryResultRow[] => {
  const by = (keyOf: (row: pg.QueryResultRow) => string) =>
    rows
      .map((row) => ({ row, key: keyOf(row) }))
      .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
      .map(({ row }) => row)
  // Webhooks that have events or are due, and claims of them.
  if (/with free as|webhooks_due\(|events_record\(/.test(text)) return by((row) => JSON.stringify(row))
  // Deliveries: those of one webhook have an order, which a stable sort keeps.
  if (text.includes('webhooks_load(')) return by(({ webhook_id }) => String(webhook_id))
  return [...rows]
}

const databases = new Map<string, SimulatedDatabase>()

/** Returns the opened database of an address. */
export const databaseAt = (url: string): SimulatedDatabase => {
  const found = databases.get(url)
  if (!found) throw new Error(`no simulated database was opened at ${url}`)
  return found
}

const openSession = async (url: string): Promise<Session> => {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  await client.query('set jit = off')
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return { client, pid: rows[0]?.pid ?? 0 }
}

/**
 * PostgreSQL reads the time of the schedule: these functions precede those of pg_catalog. Each reading of the clock is a
 * microsecond later than the one before, as commits of a real server are never at one time.
 */
const simulatedTime = `
  create schema simulation;
  create sequence simulation.moment minvalue 0;
  create function simulation.now() returns timestamptz language sql stable
    as $$ select to_timestamp(last_value / 1000000.0) from simulation.moment $$;
  create function simulation.statement_timestamp() returns timestamptz language sql stable
    as $$ select to_timestamp(last_value / 1000000.0) from simulation.moment $$;
  create function simulation.clock_timestamp() returns timestamptz language sql volatile
    as $$ select to_timestamp(nextval('simulation.moment') / 1000000.0) $$;
  create or replace function public.app_now() returns timestamptz language sql stable
    as $$ select simulation.now() + make_interval(secs => (select offset_seconds from clock)) $$`

/** A database whose statements run one at a time, in the order of a schedule. */
export class SimulatedDatabase {
  readonly url: string
  /** Called for each committed statement of a simulated process. */
  watch: (statement: Statement) => void = () => {}
  readonly #control: Session
  readonly #idle: Session[] = []
  readonly #links = new Set<Link>()
  #running: Running[] = []
  /** Statements whose sessions are stopped, with their process ids, in their order. */
  readonly #held = new Map<Running, number>()
  #moment = 0

  private constructor(url: string, control: Session) {
    this.url = url
    this.#control = control
  }

  static async open(url: string): Promise<SimulatedDatabase> {
    const name = new URL(url).pathname.slice(1)
    const first = await openSession(url)
    await first.client.query(simulatedTime)
    await first.client.query(`alter database ${quoteIdentifier(name)} set search_path = simulation, pg_catalog, public`)
    await first.client.end()
    const database = new SimulatedDatabase(url, await openSession(url))
    databases.set(url, database)
    return database
  }

  /** Runs a statement of the test at once. */
  async ask<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.#control.client.query<Row>(text, values)).rows
  }

  async setTime(milliseconds: number): Promise<void> {
    if (milliseconds <= this.#moment) return
    this.#moment = milliseconds
    await this.ask(`select setval('simulation.moment', $1)`, [Math.round(milliseconds * 1_000)])
  }

  async end(): Promise<void> {
    databases.delete(this.url)
    // A stopped session would hold up every drop of a database on the server, also those of other tests.
    for (const pid of this.#held.values()) process.kill(pid, 'SIGCONT')
    this.#held.clear()
    for (const { client } of [this.#control, ...this.#idle]) await client.end()
  }

  /** A new connection of a process. @param released called when it goes back to its pool */
  client(at: Place, released: () => void): Client {
    const { schedule, process } = at
    const link: Link = {
      ...{ at, session: null, parked: null, running: null, inTransaction: false, isBroken: false, done: [] },
    }
    this.#links.add(link)
    return {
      query: (given) =>
        new Promise((resolve, reject) => {
          if (!process.alive) return
          if (link.isBroken) return reject(new Error('Client has encountered a connection error and is not queryable'))
          const config = typeof given === 'string' ? { text: given } : given
          const label = `${process.name} ${labelOf(config.text)}`
          link.parked = config
          schedule.offer(label, process, () => this.#run(link, config, label, resolve, reject))
        }),
      on: () => {},
      off: () => {},
      release: () => {
        if (!process.alive) return
        this.#links.delete(link)
        if (link.session) this.#idle.push(link.session)
        link.session = null
        released()
      },
    }
  }

  async #run(
    link: Link,
    config: pg.QueryConfig,
    label: string,
    resolve: Running['resolve'],
    reject: Running['reject'],
  ): Promise<void> {
    const { schedule, process } = link.at
    const isLost = process.isStarted && schedule.faults.lost > 0 && schedule.random() < 0.05
    if (isLost) schedule.faults.lost--
    if (isLost && schedule.random() < 0.4) {
      schedule.note(`${label}: connection lost before the statement`)
      link.parked = null
      return this.#break(link, reject)
    }
    await this.#send(link, config, label, isLost, resolve, reject)
    await this.#untilStable()
    await this.#collect()
  }

  async #send(
    link: Link,
    config: pg.QueryConfig,
    label: string,
    isLost: boolean,
    resolve: Running['resolve'],
    reject: Running['reject'],
  ): Promise<Running> {
    await this.setTime(link.at.schedule.now)
    link.parked = null
    link.session ??= this.#idle.pop() ?? (await openSession(this.url))
    this.#holdWaiting()
    const answer = link.session.client.query(config)
    const ended = Promise.withResolvers<void>()
    const sentAt = link.at.schedule.now
    const running: Running = {
      link,
      label,
      config,
      isLost,
      sentAt,
      ended: ended.promise,
      result: null,
      resolve,
      reject,
    }
    answer.then(
      (rows) => {
        rows.rows = orderRows(config.text, rows.rows)
        running.result = { rows }
        ended.resolve()
      },
      (error: unknown) => {
        running.result = { error }
        ended.resolve()
      },
    )
    link.running = running
    this.#running.push(running)
    return running
  }

  /**
   * Stops the sessions that wait for a lock, except the first. PostgreSQL wakes waiters of a row in their order, but
   * they race for its new version: the second may overtake the first.
   */
  #holdWaiting(): void {
    for (const running of this.#running.filter(({ result }) => result === null).slice(1)) {
      const { session } = running.link
      if (!session) continue
      process.kill(session.pid, 'SIGSTOP')
      this.#held.set(running, session.pid)
    }
  }

  /** Waits until each statement has ended, or waits for a lock. Held sessions go on one after the other. */
  async #untilStable(): Promise<void> {
    for (;;) {
      await this.#untilBlocked()
      const [first] = this.#held
      if (!first) return
      const [running, pid] = first
      this.#held.delete(running)
      process.kill(pid, 'SIGCONT')
    }
  }

  /** Waits until each statement of a session that is not held has ended, or waits for a lock of another session. */
  async #untilBlocked(): Promise<void> {
    for (;;) {
      const open = this.#running.filter((running) => running.result === null && !this.#held.has(running))
      if (open.length === 0) return
      const isAlone = open.length === 1 && [...this.#links].every((link) => link.running === open[0] || !link.session)
      await Promise.race([...open.map(({ ended }) => ended), ...(isAlone ? [] : [pause(2)])])
      const left = open.filter(({ result }) => result === null)
      if (left.length === 0 || isAlone) continue
      const pids = left.flatMap(({ link }) => link.session?.pid ?? [])
      const free = await this.ask(
        `select from unnest($1::integer[]) p (pid) where cardinality(pg_blocking_pids(p.pid)) = 0`,
        [pids],
      )
      if (free.length === 0 && left.every(({ result }) => result === null)) return
    }
  }

  /** Delivers the answers of ended statements, or lets the scheduler deliver them. */
  async #collect(): Promise<void> {
    const ended = this.#running.filter(({ result }) => result !== null)
    this.#running = this.#running.filter(({ result }) => result === null)
    for (const running of ended) {
      const { link, label, isLost, resolve, reject, result } = running
      const { schedule, process } = link.at
      link.running = null
      this.#record(running)
      if (!process.alive || result === null) continue
      if (isLost) {
        schedule.note(`${label}: answer lost`)
        await this.#break(link, reject)
        continue
      }
      if ('error' in result) schedule.note(`${label}: ${String(result.error)}`)
      const deliver = () => ('error' in result ? reject(result.error) : resolve(result.rows))
      if (schedule.random() < 0.75) deliver()
      else schedule.offer(`${label} answer`, process, deliver)
    }
    for (const { label, link } of this.#running) link.at.schedule.note(`${label}: waits for a lock`)
  }

  /** Follows transactions, and reports committed statements. */
  #record({ link, config, sentAt, result }: Running): void {
    if (result === null || 'error' in result) return
    const { rows, command } = result.rows
    const statement = { process: link.at.process, at: sentAt, text: config.text, values: config.values ?? [], rows }
    if (command === 'BEGIN') {
      link.inTransaction = true
      link.done = []
    } else if (command === 'COMMIT' || command === 'ROLLBACK') {
      link.inTransaction = false
      if (command === 'COMMIT') for (const one of link.done) this.watch(one)
    } else if (link.inTransaction) link.done.push(statement)
    else this.watch(statement)
  }

  async #reset(link: Link): Promise<void> {
    const { session, inTransaction } = link
    link.session = null
    link.inTransaction = false
    if (!session) return
    this.#holdWaiting()
    if (inTransaction) await session.client.query('rollback')
    this.#idle.push(session)
  }

  /** Ends a connection as a broken network does. */
  async #break(link: Link, reject: (error: unknown) => void): Promise<void> {
    link.isBroken = true
    await this.#reset(link)
    reject(connectionLost())
    // What waited for its locks goes on.
    await this.#untilStable()
    await this.#collect()
  }

  /**
   * Ends the connections of a crashed process. A statement that was about to be sent either reaches the server or not,
   * as the schedule draws. @param isOver true at the end of a schedule: nothing more reaches the server
   */
  async crash(process: Process, isOver = false): Promise<void> {
    for (const link of this.#links) {
      if (link.at.process !== process) continue
      const { parked, session, at } = link
      const isSent = !isOver && parked !== null && at.schedule.random() < 0.4
      if (parked && isSent) {
        at.schedule.note(`${process.name} ${labelOf(parked.text)}: sent before the crash`)
        const nothing = () => {}
        await this.#send(link, parked, labelOf(parked.text), false, nothing, nothing)
        await this.#untilStable()
      }
      const { running } = link
      if (running && running.result === null) {
        await this.ask('select pg_cancel_backend($1)', [session?.pid ?? link.session?.pid ?? 0])
        await running.ended
      }
      await this.#collect()
      this.#links.delete(link)
      await this.#reset(link)
      // What waited for its locks goes on, before the next connection ends: a stopped session could not be cancelled.
      await this.#untilStable()
      await this.#collect()
    }
  }
}
