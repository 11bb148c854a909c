import { randomBytes } from 'node:crypto'
import { after } from 'node:test'
import type { FastifyInstance, InjectOptions } from 'fastify'
import pino, { type Logger } from 'pino'
import { assemble } from '../src/assemble.ts'
import { type Config, readConfig } from '../src/config.ts'
import { issueKey, openAccount } from '../src/domains/accounts/ops.ts'
import { deposit } from '../src/domains/ledger/ops.ts'
import { issueOperatorKey } from '../src/domains/operators/ops.ts'
import { makeSimulatorClient, type SimulatorClient } from '../src/domains/sandbox/simulator-client.ts'
import type { UploadRate } from '../src/platform/http/request-limiters.ts'
import { micros } from '../src/platform/lib/money.ts'
import { makeSeal } from '../src/platform/lib/secret.ts'
import type { Services } from '../src/services.ts'
import { buildApp } from '../src/start-roles.ts'
import { type TestDatabase, testDatabase } from './database.ts'
import { atEnd } from './endings.ts'
import { watchErrorCodes } from './error-code-watch.ts'

/** A tenant of a test: an account with a key. */
export type Tenant = { id: string; uuid: string; key: string }

/** An installation for a test: real services over a database of its own, called without a socket. */
export type World = {
  readonly db: TestDatabase
  readonly parts: Services
  readonly app: FastifyInstance
  readonly operatorKey: string
  tenant(options?: { balance?: string; onTrial?: boolean; requestsPerMinute?: number }): Promise<Tenant>
  /** Makes a request as a tenant, as the operator, or without a key. */
  call(who: Tenant | 'operator' | null, method: InjectOptions['method'], url: string, body?: object): Promise<Answer>
  end(): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies of every shape
export type Answer = { status: number; body: any; headers: Record<string, string | string[] | number | undefined> }

/** @param overrides replaces what a world creates for itself: a database, sandbox carriers, a log */
export const makeWorld = async (
  settings: NodeJS.ProcessEnv = {},
  changed: Partial<Config> = {},
  overrides: {
    db?: TestDatabase
    simulator?: SimulatorClient
    log?: Logger
    key?: Buffer
    publicUrl?: () => string
    pace?: Partial<UploadRate>
    clockSkewSeconds?: () => number | null
  } = {},
): Promise<World> => {
  const db = overrides.db ?? (await testDatabase())
  const config = {
    ...readConfig({ TRUNKLINE_LOG: 'silent', TRUNKLINE_WRONG_KEYS_PER_MINUTE: '0', ...settings }),
    ...changed,
  }
  const parts = await assemble({
    config,
    db,
    version: '0.0.0-test',
    log: overrides.log ?? pino({ level: config.log }),
    seal: makeSeal(overrides.key ?? randomBytes(32)),
    simulator: overrides.simulator ?? makeSimulatorClient(() => null),
    publicUrl: overrides.publicUrl ?? (() => 'http://127.0.0.1:8080'),
    uploadRate: overrides.pace,
    clockSkewSeconds: overrides.clockSkewSeconds,
  })
  parts.lifecycle.ready = true
  const app = await buildApp(parts)
  watchErrorCodes(app)
  await app.ready()
  const { key: operatorKey } = await db.begin((tx) => issueOperatorKey(tx, 'test'))

  let ended: Promise<void> | undefined
  const close = async () => {
    parts.changes.stop()
    await parts.networks.close()
    await app.close()
    await parts.writeProbe.end()
    await db.end()
  }
  const end = () => {
    ended ??= close()
    return ended
  }
  // A world of one test ends with that test, all others before their databases.
  after(end)
  atEnd(end)

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
