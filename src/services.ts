import type { Logger } from 'pino'
import type { Config } from './config.ts'
import type { SandboxAccounts } from './domains/accounts/sandbox-accounts.ts'
import type { VoiceService } from './domains/calls/lease/voice-service.ts'
import type { CallPrograms } from './domains/calls/orders/call-programs.ts'
import type { LocalConnections } from './domains/connections/local-connections.ts'
import type { RemoteConnections } from './domains/connections/remote-connections.ts'
import type { Mailer } from './domains/mail/mailer.ts'
import type { Chat } from './domains/msgapp/chat-service.ts'
import type { ConnectionManager } from './domains/msgapp/runner/connection-manager.ts'
import type { SupplierRegistry } from './domains/numbers/suppliers/supplier-registry.ts'
import type { Prices } from './domains/prices/ops.ts'
import type { SimulatorClient } from './domains/sandbox/simulator-client.ts'
import type { ChannelCache } from './domains/sms/accept/channel-cache.ts'
import type { MessageAcceptor } from './domains/sms/accept/message-acceptor.ts'
import type { ReportUnattributed } from './domains/sms/inbound/unattributed-reporter.ts'
import type { ReceiptProcessor } from './domains/sms/receipts/receipt-processor.ts'
import type { Router } from './domains/sms/route/router.ts'
import type { Carriers } from './domains/sms/submit/carriers.ts'
import type { Tokens } from './domains/tokens/ops.ts'
import type { CompatAccounts } from './interfaces/twilio/compat-accounts.ts'
import type { InvalidationBus } from './platform/db/invalidation-bus.ts'
import type { OutageMonitor } from './platform/db/outage-monitor.ts'
import type { Db } from './platform/db/sql.ts'
import type { WakeUps } from './platform/db/wake-ups.ts'
import type { WriteProbe } from './platform/db/write-probe.ts'
import type { Auth } from './platform/http/auth.ts'
import type { AuthThrottle } from './platform/http/auth-throttle.ts'
import type { Metrics } from './platform/http/metrics.ts'
import type { ProxyTrust } from './platform/http/proxy-trust.ts'
import type { Quotas } from './platform/http/quotas.ts'
import type { RateLimiter } from './platform/http/rate-limiter.ts'
import type { RefusedAccess } from './platform/http/refused-access.ts'
import type { RequestLimiters, UploadRate } from './platform/http/request-limiters.ts'
import type { RequestLog } from './platform/http/request-log.ts'
import type { Sessions } from './platform/http/session.ts'
import type { Clock } from './platform/lib/clock.ts'
import type { OutboundPair } from './platform/lib/outbound.ts'
import type { Seal } from './platform/lib/secret.ts'

/** Dependencies that main.ts, or world.ts of the tests, makes. */
export type StartOptions = {
  readonly config: Config
  readonly version: string
  readonly db: Db
  readonly log: Logger
  readonly seal: Seal
  readonly simulator: SimulatorClient
  /** Base URL under which clients reach this installation. */
  readonly publicUrl: () => string
  /** Minimum upload rate of request bodies, for tests. Default: see makeRequestLimiters. */
  readonly uploadRate?: Partial<UploadRate> | undefined
  /** Wakes this process for work of others. Absent: it polls. */
  readonly wakeUps?: WakeUps | undefined
  /** Watches the database for the log. */
  readonly outage?: OutageMonitor | undefined
  /** Seconds by which the clock of the database is ahead of this process; null up to 2 s. */
  readonly clockSkewSeconds?: (() => number | null) | undefined
}

/** The shared services of the process. */
export type Services = StartOptions & {
  readonly clock: Clock
  readonly changes: InvalidationBus
  readonly wakeUps: WakeUps
  /** Proves for /readyz that the database stores a write. */
  readonly writeProbe: WriteProbe
  readonly auth: Auth
  /** Addresses, protocols and origins of requests, from trusted proxies as the settings say. */
  readonly proxies: ProxyTrust
  readonly rateLimiter: RateLimiter
  readonly authThrottle: AuthThrottle
  /** Sessions of browsers. */
  readonly sessions: Sessions
  readonly sandboxAccounts: SandboxAccounts
  /** Accounts that use the interface in the shape of Twilio. */
  readonly compatAccounts: CompatAccounts
  readonly limiters: RequestLimiters
  readonly metrics: Metrics
  /** Counts notifications by Web Push, by outcome. */
  readonly countPush: ReturnType<Metrics['counter']>
  /** Counts dead jobs that were deleted for their age or number. */
  readonly countDroppedJobs: ReturnType<Metrics['counter']>
  /** Sends mails; other domains queue them with queueMail. */
  readonly mail: Mailer
  /** Log of API requests for `GET /open/requests`. */
  readonly requestLog: RequestLog
  /** Records refusals for lack of rights in the audit trail. */
  readonly refusedAccess: RefusedAccess
  /** Limits on what accounts may create and store. */
  readonly quotas: Quotas
  readonly prices: Prices
  readonly tokens: Tokens
  readonly channels: ChannelCache
  readonly accept: MessageAcceptor
  readonly routing: Router
  readonly receipts: ReceiptProcessor
  /** Reports inbound messages to unknown numbers. */
  readonly stray: ReportUnattributed
  readonly carriers: Carriers
  /** Wholesale suppliers of numbers. */
  readonly suppliers: SupplierRegistry
  /** The chat networks that this process is connected to. */
  readonly networks: ConnectionManager
  /** Messages and files of the messaging app. */
  readonly chat: Chat
  /** Programs of calls. */
  readonly callPrograms: CallPrograms
  /** Calls of browsers and trunks. */
  readonly voice: VoiceService
  /** Connections that this process runs, and those that other processes run. */
  readonly localConnections: LocalConnections
  readonly remoteConnections: RemoteConnections
  /** HTTP client for addresses that tenants supply. No other client may call them. */
  readonly outbound: OutboundPair
  /** Lifecycle state of this process. */
  readonly lifecycle: { ready: boolean; stopping: boolean }
}
