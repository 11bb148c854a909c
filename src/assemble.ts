import { resolve } from 'node:path'
import { makeCallPrograms } from './assemble-programs.ts'
import { makeSandboxAccounts } from './domains/accounts/sandbox-accounts.ts'
import { makeVoiceService } from './domains/calls/lease/voice-service.ts'
import { makeLocalConnections } from './domains/connections/local-connections.ts'
import { makeRemoteConnections } from './domains/connections/remote-connections.ts'
import { makeMailer } from './domains/mail/mailer.ts'
import { makeChat } from './domains/msgapp/chat-service.ts'
import { makeConnectionManager } from './domains/msgapp/runner/connection-manager.ts'
import { makeSupplierRegistry } from './domains/numbers/suppliers/supplier-registry.ts'
import { makePrices } from './domains/prices/ops.ts'
import { makePushCounter } from './domains/push/ops.ts'
import { makeRequestRecorder } from './domains/requests/request-recorder.ts'
import { readOffset } from './domains/sandbox/ops.ts'
import { makeChannelCache } from './domains/sms/accept/channel-cache.ts'
import { makeMessageAcceptor } from './domains/sms/accept/message-acceptor.ts'
import { makeInboundReceiver } from './domains/sms/inbound/inbound-receiver.ts'
import { makeUnattributedReporter } from './domains/sms/inbound/unattributed-reporter.ts'
import { makeReceiptProcessor } from './domains/sms/receipts/receipt-processor.ts'
import { makeUnparsedReceipts } from './domains/sms/receipts/unparsed-receipt-store.ts'
import { makeRouter } from './domains/sms/route/router.ts'
import { makeCarriers } from './domains/sms/submit/carriers.ts'
import { batchKind, submitKind } from './domains/sms/submit/message-slots.ts'
import { makeSharedLeases } from './domains/sms/submit/shared-leases.ts'
import { makeTokens } from './domains/tokens/ops.ts'
import { makeCompatAccounts } from './interfaces/twilio/compat-accounts.ts'
import { startInvalidationBus } from './platform/db/invalidation-bus.ts'
import { noWakeUps } from './platform/db/wake-ups.ts'
import { makeWriteProbe } from './platform/db/write-probe.ts'
import { makeAuth } from './platform/http/auth.ts'
import { makeAuthThrottle } from './platform/http/auth-throttle.ts'
import { makeMetrics } from './platform/http/metrics.ts'
import { makeProxyTrust } from './platform/http/proxy-trust.ts'
import { makeQuotas } from './platform/http/quotas.ts'
import { makeRateLimiter } from './platform/http/rate-limiter.ts'
import { makeRefusedAccess } from './platform/http/refused-access.ts'
import { makeRequestLimiters } from './platform/http/request-limiters.ts'
import { makeSessions } from './platform/http/session-store.ts'
import { notify, requestPoll } from './platform/jobs/queue.ts'
import { makeClock } from './platform/lib/clock.ts'
import { makeOutboundPair } from './platform/lib/outbound.ts'
import type { Services, StartOptions } from './services.ts'

export const assemble = async (options: StartOptions): Promise<Services> => {
  const { db, log, seal, config, wakeUps = noWakeUps } = options
  const onError = (error: unknown) => log.error({ err: error }, 'database: failed to poll change notifications')
  const changes = await startInvalidationBus(db, onError, wakeUps)
  const clock = makeClock()
  const readClock = async () => clock.move(await readOffset(db))
  changes.on('clock', () => void readClock().catch(onError))
  changes.on('clock', requestPoll)
  await readClock()
  const prices = makePrices(db, changes, clock, onError)
  const routing = makeRouter(db, seal, changes, onError)
  await Promise.all([prices.ready(), routing.ready()])
  const metrics = makeMetrics()
  const stray = makeUnattributedReporter(metrics, routing, log)
  const inbound = makeInboundReceiver(db, { stray, prices, seal, clock, publicUrl: options.publicUrl })
  const receipts = makeReceiptProcessor(db, clock)
  const sandboxAccounts = await makeSandboxAccounts(db, changes, config.sandbox, onError)
  const { allowPrivateHooks, allowHttpHooks, allowHookNetworks: allow } = config
  const outbound = makeOutboundPair(
    { allowPrivate: allowPrivateHooks ?? false, http: allowHttpHooks ?? false, allow },
    { allowPrivate: allowPrivateHooks ?? config.sandbox, http: allowHttpHooks ?? config.sandbox },
  )
  const quotas = makeQuotas(config.quotas, metrics)
  const carriers = makeCarriers(
    {
      ...{ db, seal, changes, log, metrics },
      // With the embedded database there is no other process.
      ...(config.databaseUrl === null ? {} : { leases: makeSharedLeases({ db, wakeUps, log }) }),
    },
    {
      ...{ inbound: inbound.add, receipt: receipts.add, receiptIfSent: receipts.addIfSent },
      unparsed: makeUnparsedReceipts(db).add,
    },
  )
  const suppliers = makeSupplierRegistry(db, seal, changes)
  const networks = makeConnectionManager({
    db,
    seal,
    changes,
    wakeUps,
    log,
    metrics,
    sandboxAccounts,
    home: resolve(config.home),
  })
  const proxies = makeProxyTrust(config.trustProxy)
  const chat = makeChat({ ...options, sandboxAccounts, changes, outbound, quotas, clock })
  const callPrograms = makeCallPrograms({ ...options, clock, sandboxAccounts, outbound, media: chat.media })
  const voice = makeVoiceService({
    ...{ ...options, proxies, sandboxAccounts, changes, prices, clock, quotas, callPrograms },
  })
  const local = makeLocalConnections({ carriers, suppliers, networks, voice })
  const authThrottle = makeAuthThrottle(config.wrongKeysPerMinute)
  const sessions = makeSessions({
    db,
    changes,
    authThrottle,
    publicUrl: options.publicUrl,
    proxies,
    idleSeconds: config.sessionIdleHours * 3_600,
    onError,
  })
  return {
    ...options,
    proxies,
    clock,
    changes,
    wakeUps,
    writeProbe: makeWriteProbe(db, options.outage),
    prices,
    auth: makeAuth(db, changes),
    rateLimiter: makeRateLimiter(db, changes),
    limiters: makeRequestLimiters(db.connections, options.uploadRate),
    authThrottle,
    sessions,
    sandboxAccounts,
    compatAccounts: makeCompatAccounts(db, changes),
    metrics,
    requestLog: makeRequestRecorder({ db, metrics }),
    refusedAccess: makeRefusedAccess({ db, log, sessions, authThrottle }),
    countPush: makePushCounter(metrics),
    countDroppedJobs: metrics.counter(
      'trunkline_dead_jobs_dropped_total',
      'Dead jobs deleted for their age or number',
      ['kind', 'reason', 'settled'],
    ),
    mail: makeMailer(config, metrics),
    quotas,
    tokens: makeTokens(db, seal, changes),
    channels: makeChannelCache(db, changes),
    routing,
    receipts,
    stray,
    accept: makeMessageAcceptor(db, clock, config.optOut, (kind) => {
      const queue = kind === 'batch' ? batchKind : submitKind
      if (carriers.leases.readsQueue()) notify(queue)
      else carriers.leases.wake(queue)
    }),
    ...{ carriers, suppliers, networks, voice, callPrograms },
    localConnections: local,
    remoteConnections: makeRemoteConnections(
      { db, changes, log, roles: config.roles, clockSkewSeconds: options.clockSkewSeconds },
      local,
    ),
    outbound,
    chat,
    lifecycle: { ready: false, stopping: false },
  }
}
