import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import type { FastifyInstance, InjectOptions } from 'fastify'
import pino, { type Logger } from 'pino'
import { issueKey, openAccount } from '../src/accounts/ops.ts'
import { type Config, readConfig } from '../src/config.ts'
import type { Pace } from '../src/http/limiters.ts'
import { deposit } from '../src/ledger/ops.ts'
import { micros } from '../src/lib/money.ts'
import { makeSeal } from '../src/lib/secret.ts'
import { issueOperatorKey } from '../src/operators/ops.ts'
import { makeParts, type Parts } from '../src/parts.ts'
import { makeApp } from '../src/run.ts'
import { makeSimulator, type Simulator } from '../src/sandbox/simulator.ts'
import { type TestDatabase, testDatabase } from './database.ts'

/** A tenant of a test: an account with a key. */
export type Tenant = { id: string; uuid: string; key: string }

/** An installation for a test: real parts over a database of its own, called without a socket. */
export type World = {
  readonly db: TestDatabase
  readonly parts: Parts
  readonly app: FastifyInstance
  readonly operatorKey: string
  tenant(options?: { balance?: string; onTrial?: boolean; requestsPerMinute?: number }): Promise<Tenant>
  /** Calls as a tenant, as the operator, or as nobody. */
  call(who: Tenant | 'operator' | null, method: InjectOptions['method'], url: string, body?: object): Promise<Answer>
  end(): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies of every shape
export type Answer = { status: number; body: any; headers: Record<string, string | string[] | number | undefined> }

/** @param given instead of what a world makes for itself: a database, sandbox carriers, a log */
export const makeWorld = async (
  settings: NodeJS.ProcessEnv = {},
  changed: Partial<Config> = {},
  given: {
    db?: TestDatabase
    simulator?: Simulator
    log?: Logger
    key?: Buffer
    publicUrl?: () => string
    pace?: Partial<Pace>
  } = {},
): Promise<World> => {
  const db = given.db ?? (await testDatabase())
  const config = {
    ...readConfig({ TRUNKLINE_LOG: 'silent', TRUNKLINE_WRONG_KEYS_PER_MINUTE: '0', ...settings }),
    ...changed,
  }
  const parts = await makeParts({
    config,
    db,
    version: '0.0.0-test',
    log: given.log ?? pino({ level: config.log }),
    seal: makeSeal(given.key ?? randomBytes(32)),
    simulator: given.simulator ?? makeSimulator(() => null),
    publicUrl: given.publicUrl ?? (() => 'http://127.0.0.1:8080'),
    pace: given.pace,
  })
  parts.life.ready = true
  const app = await makeApp(parts)
  await app.ready()
  const { key: operatorKey } = await db.begin((tx) => issueOperatorKey(tx, 'test'))

  const end = async () => {
    parts.changes.stop()
    await parts.networks.close()
    await app.close()
    await db.end()
  }
  after(end)

  return {
    db,
    parts,
    app,
    operatorKey,
    end,
    tenant: async ({ balance = '100', onTrial = false, requestsPerMinute } = {}) =>
      await db.begin(async (tx) => {
        const id = await openAccount(tx, {
          name: `Tenant ${randomBytes(3).toString('hex')}`,
          onTrial,
          requestsPerMinute,
          sandbox: config.sandbox,
        })
        const amount = micros(balance) ?? 0
        if (amount > 0) await deposit(tx, id, amount, { kind: 'credit' })
        const { key } = await issueKey(tx, id, 'test')
        return { id, uuid: `ACC${id}`, key }
      }),
    call: async (who, method, url, body) => {
      const headers =
        who === null ? {} : who === 'operator' ? { 'x-operator-key': operatorKey } : { 'x-user-api-key': who.key }
      const answer = await app.inject({ method: method ?? 'GET', url, headers, ...(body ? { payload: body } : {}) })
      const isJson = String(answer.headers['content-type']).startsWith('application/json')
      return { status: answer.statusCode, body: isJson ? answer.json() : answer.body, headers: answer.headers }
    },
  }
}
