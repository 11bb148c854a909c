import pg from 'pg'
import type { Client } from './database.ts'
import { databaseAt, type SimulatedDatabase } from './database.ts'
import { type Place, place } from './schedule.ts'

// Stands in for `pg` in src/platform/db/sql.ts (modules.ts): statements wait for the scheduler, and run on real sessions.

/** As much of pg.Pool as `connect` of sql.ts uses. */
class SimulatedPool {
  readonly #database: SimulatedDatabase
  readonly #at: Place
  readonly #most: number
  readonly #waiting: ((client: Client) => void)[] = []
  #used = 0

  constructor({ connectionString, max }: { connectionString: string; max: number }) {
    const at = place.getStore()
    if (!at) throw new Error('a pool of the simulation is made by one of its processes')
    this.#database = databaseAt(connectionString)
    this.#at = at
    this.#most = max
  }

  get totalCount(): number {
    return this.#used
  }

  get idleCount(): number {
    return 0
  }

  get waitingCount(): number {
    return this.#waiting.length
  }

  on(): this {
    return this
  }

  connect(): Promise<Client> {
    return new Promise((resolve) => {
      if (this.#used >= this.#most) this.#waiting.push(resolve)
      else {
        this.#used++
        resolve(this.#open())
      }
    })
  }

  #open(): Client {
    return this.#database.client(this.#at, () => {
      const next = this.#waiting.shift()
      if (next) next(this.#open())
      else this.#used--
    })
  }

  async query(config: pg.QueryConfig): Promise<pg.QueryResult> {
    const client = await this.connect()
    try {
      return await client.query(config)
    } finally {
      client.release()
    }
  }

  async end(): Promise<void> {}
}

/** The driver as sql.ts imports it. */
export const driver = { Pool: SimulatedPool, types: pg.types, DatabaseError: pg.DatabaseError }
