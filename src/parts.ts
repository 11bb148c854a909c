import { resolve } from 'node:path'
import type { Logger } from 'pino'
import { makeSandboxAccounts, type SandboxAccounts } from './accounts/sandbox.ts'
import { makeVoice, type Voice } from './calls/voice.ts'
import type { Config } from './config.ts'
import { type Changes, watchChanges } from './db/changes.ts'
import type { Db } from './db/sql.ts'
import { type Auth, makeAuth } from './http/auth.ts'
import { type AuthThrottle, makeAuthThrottle } from './http/auth-throttle.ts'
import { type Meter, makeMeter } from './http/limit.ts'
import { makeRequestLimiters, type Pace, type RequestLimiters } from './http/limiters.ts'
import { type Metrics, makeMetrics } from './http/metrics.ts'
import { makeQuotas, type Quotas } from './http/quotas.ts'
import { wake } from './jobs/queue.ts'
import { type Clock, makeClock } from './lib/clock.ts'
import { makeOutboundPair, type OutboundPair } from './lib/outbound.ts'
import type { Seal } from './lib/secret.ts'
import { type Chat, makeChat } from './msgapp/chat.ts'
import { makeNetworks, type Networks } from './msgapp/networks.ts'
import { makeSuppliers, type Suppliers } from './numbers/suppliers.ts'
import { makePrices, type Prices } from './prices/ops.ts'
import { readOffset } from './sandbox/ops.ts'
import type { Simulator } from './sandbox/simulator.ts'
import { type Accept, makeAccept } from './sms/accept.ts'
import { type Carriers, makeCarriers, submitKind } from './sms/carriers.ts'
import { type Channels, makeChannels } from './sms/channels.ts'
import { makeInbound } from './sms/inbound.ts'
import { makeReceipts, type Receipts } from './sms/receipts.ts'
import { makeRouting, type Routing } from './sms/routing.ts'
import { makeStray, type Stray } from './sms/strays.ts'
import { makeTokens, type Tokens } from './tokens/ops.ts'

/** What comes from outside: made by main.ts, or by a test's world.ts. */
export type Given = {
  readonly config: Config
  readonly version: string
  readonly db: Db
  readonly log: Logger
  readonly seal: Seal
  readonly simulator: Simulator
  /** The address under which clients reach this installation. */
  readonly publicUrl: () => string
  /** How fast clients must send bodies, instead of the usual: for tests. */
  readonly pace?: Partial<Pace> | undefined
}

/** What the program is built of, handed to every folder. */
export type Parts = Given & {
  readonly clock: Clock
  readonly changes: Changes
  readonly auth: Auth
  readonly meter: Meter
  readonly throttle: AuthThrottle
  readonly sandboxAccounts: SandboxAccounts
  readonly limiters: RequestLimiters
  readonly metrics: Metrics
  /** What accounts may create and keep. */
  readonly quotas: Quotas
  readonly prices: Prices
  readonly tokens: Tokens
  readonly channels: Channels
  readonly accept: Accept
  readonly routing: Routing
  readonly receipts: Receipts
  /** Reports inbound messages to numbers that are not known. */
  readonly stray: Stray
  readonly carriers: Carriers
  /** Who sells numbers to us. */
  readonly suppliers: Suppliers
  /** The chat networks that this process is connected to. */
  readonly networks: Networks
  /** Messages and files of the messaging app. */
  readonly chat: Chat
  /** Calls of browsers and trunks. */
  readonly voice: Voice
  /** The only way in which addresses that tenants name are called. */
  readonly outbound: OutboundPair
  /** How far this process has come. */
  readonly life: { ready: boolean; stopping: boolean }
}

export const makeParts = async (given: Given): Promise<Parts> => {
  const { db, log, seal, config } = given
  const onError = (error: unknown) => log.error({ err: error }, 'a look at the database failed')
  const changes = await watchChanges(db, onError)
  const clock = makeClock()
  const readClock = async () => clock.move(await readOffset(db))
  changes.on('clock', () => void readClock().catch(onError))
  await readClock()
  const prices = makePrices(db, changes, clock, onError)
  const routing = makeRouting(db, seal, changes, onError)
  await Promise.all([prices.ready(), routing.ready()])
  const metrics = makeMetrics()
  const stray = makeStray(metrics, routing, log)
  const inbound = makeInbound(db, { stray, prices })
  const receipts = makeReceipts(db, clock)
  const sandboxAccounts = await makeSandboxAccounts(db, changes, config.sandbox, onError)
  const { allowPrivateHooks, allowHttpHooks, allowHookNetworks: allow } = config
  const outbound = makeOutboundPair(
    { allowPrivate: allowPrivateHooks ?? false, http: allowHttpHooks ?? false, allow },
    { allowPrivate: allowPrivateHooks ?? config.sandbox, http: allowHttpHooks ?? config.sandbox },
  )
  const quotas = makeQuotas(config.quotas, metrics)
  return {
    ...given,
    clock,
    changes,
    prices,
    auth: makeAuth(db, changes),
    meter: makeMeter(db, changes),
    limiters: makeRequestLimiters(db.connections, given.pace),
    throttle: makeAuthThrottle(config.wrongKeysPerMinute),
    sandboxAccounts,
    metrics,
    quotas,
    tokens: makeTokens(db, seal, changes),
    channels: makeChannels(db, changes),
    routing,
    receipts,
    stray,
    accept: makeAccept(db, clock, config.optOut, () => wake(submitKind)),
    carriers: makeCarriers({ db, seal, changes, log, metrics }, { inbound: inbound.add, receipt: receipts.add }),
    suppliers: makeSuppliers(db, seal, changes),
    networks: makeNetworks({ db, seal, changes, log, home: resolve(config.home) }),
    voice: makeVoice({ ...given, sandboxAccounts, changes, prices, clock, quotas }),
    outbound,
    chat: makeChat({ ...given, sandboxAccounts, changes, outbound, quotas, clock }),
    life: { ready: false, stopping: false },
  }
}
