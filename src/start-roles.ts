import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Server as TlsServer } from 'node:tls'
import type { FastifyInstance } from 'fastify'
import { auditRetention } from './domains/audit/jobs.ts'
import { deleteCallerIdCodes } from './domains/callers/jobs.ts'
import { installVoiceMetrics } from './domains/calls/call-metrics.ts'
import { closeCalls, deleteOldCommands, endExpiredCalls } from './domains/calls/jobs.ts'
import { callbackJob } from './domains/calls/orders/callback-job.ts'
import { installRecordingDownloads } from './domains/calls/recordings/recording-download.ts'
import { deleteOldTimelines } from './domains/calls/timeline/call-timeline.ts'
import { purgeContactImports } from './domains/contacts/jobs.ts'
import { onRecorded } from './domains/events/ops.ts'
import { refusals as healthRefusals } from './domains/health/refusals.ts'
import { bulkJob, purgeBulkChanges } from './domains/inbox/bulk/jobs.ts'
import { closeIdle } from './domains/inbox/closing/jobs.ts'
import { type HistoryService, startHistory } from './domains/inbox/history/history-service.ts'
import { installInboxMetrics } from './domains/inbox/ops.ts'
import { type Projector, startProjector } from './domains/inbox/projector/projector.ts'
import { endSnoozes } from './domains/inbox/snooze/jobs.ts'
import { untagJob } from './domains/inbox/tags/jobs.ts'
import { deadJobRetention } from './domains/jobs/jobs.ts'
import { lowBalances } from './domains/ledger/jobs.ts'
import { deleteOldMails, installMailMetrics, mailJobs } from './domains/mail/jobs.ts'
import { countChannels } from './domains/msgapp/channels/ops.ts'
import { installChatCallbacks } from './domains/msgapp/chat-callbacks.ts'
import { countDeadLetters } from './domains/msgapp/dead-letters/ops.ts'
import { makeInboundHandlers } from './domains/msgapp/inbound.ts'
import { msgappSchedules } from './domains/msgapp/jobs.ts'
import { installMedia } from './domains/msgapp/media/media-downloads.ts'
import { mediaGc } from './domains/msgapp/media/media-gc.ts'
import { expireOldFiles, mediaRetention } from './domains/msgapp/media/media-retention.ts'
import { deleteOldUploads } from './domains/msgapp/media/uploads.ts'
import { makeOperations } from './domains/msgapp/operations/operations.ts'
import { numberJobs } from './domains/numbers/jobs.ts'
import { installSupplierCallbacks } from './domains/numbers/suppliers/supplier-callbacks.ts'
import { supplierMetrics } from './domains/numbers/suppliers/supplier-registry.ts'
import { syncSchedule } from './domains/numbers/suppliers/supplier-sync.ts'
import { deleteEndedSessions } from './domains/persons/jobs.ts'
import { personJobs } from './domains/persons/mailed-links/jobs.ts'
import { purgePush, pushJobs } from './domains/push/jobs.ts'
import { purgeRequests } from './domains/requests/jobs.ts'
import { metricName, smsDrivers } from './domains/sms/drivers.ts'
import { smsJobs, smsSchedules } from './domains/sms/jobs.ts'
import { inboundMediaJob } from './domains/sms/mms/inbound-media.ts'
import { startReceiptQueries } from './domains/sms/receipts/receipt-queries.ts'
import { installSmsCallbacks } from './domains/sms/sms-callbacks.ts'
import { isSubmitKind } from './domains/sms/submit/message-slots.ts'
import { deleteRevokedTokens } from './domains/tokens/ops.ts'
import { countUsage } from './domains/usage/jobs.ts'
import { countUsagePending } from './domains/usage/ops.ts'
import { type DeliveryEngine, startDeliveryEngine } from './domains/webhooks/delivery/delivery-engine.ts'
import { purgeDeliveriesDaily, purgeWebhookStats, webhookJobs } from './domains/webhooks/jobs.ts'
import { installWebhookMetrics } from './domains/webhooks/ops.ts'
import { makeEndpoints } from './endpoints.ts'
import { makeLive } from './interfaces/live/live.ts'
import { installSite } from './interfaces/site/routes.ts'
import { makeTunnel } from './interfaces/tunnel/routes.ts'
import { twilioJobs } from './interfaces/twilio/callbacks/jobs.ts'
import { wakeAfterEvents } from './interfaces/twilio/callbacks/wake-up.ts'
import { compatPaths, installNotOffered, rewriteCompatPath } from './interfaces/twilio/not-offered.ts'
import { makeCompatRefusal } from './interfaces/twilio/refusal-codes.ts'
import { makeAlias } from './platform/http/alias.ts'
import { deleteExpiredKeys } from './platform/http/idempotency.ts'
import { makeServer } from './platform/http/server.ts'
import { startWorker, type Worker } from './platform/jobs/consume/worker.ts'
import type { JobKind } from './platform/jobs/job-kind.ts'
import { queueDepth } from './platform/jobs/ops.ts'
import { onJobsAdded } from './platform/jobs/queue.ts'
import type { Schedule } from './platform/jobs/schedule.ts'
import { tick } from './platform/jobs/tick.ts'
import type { CarrierState, LinkState } from './ports/sms.ts'
import { isServed, rolesThatServe } from './role-paths.ts'
import type { Services } from './services.ts'
import type { TlsFiles } from './tls-files.ts'

/** Registers the metrics other than those of HTTP. */
const installMetrics = (services: Services) => {
  const { metrics, db, accept, carriers, networks, suppliers } = services
  metrics.gauge('trunkline_jobs', 'Jobs in the queue by kind and state', ['kind', 'state'], async () =>
    (await queueDepth(db)).flatMap(({ kind, due, delayed, leased, dead }) =>
      Object.entries({ due, delayed, leased, dead }).map(([state, value]) => ({ labels: { kind, state }, value })),
    ),
  )
  metrics.gauge('trunkline_jobs_oldest_seconds', 'Age of the oldest job that is due', ['kind'], async () =>
    (await queueDepth(db)).map(({ kind, oldest_seconds }) => ({ labels: { kind }, value: oldest_seconds })),
  )
  metrics.gauge('trunkline_usage_pending', 'Transfers that usage does not count yet', [], async () => [
    { labels: {}, value: await countUsagePending(db) },
  ])
  metrics.gauge('trunkline_sms_pending_commit', 'Messages whose commit is pending', [], () => [
    { labels: {}, value: accept.queueDepth() },
  ])
  metrics.gauge(
    'trunkline_smpp_window_available',
    'Message parts for which the submit windows of carriers have capacity',
    [],
    () => [{ labels: {}, value: carriers.availableWindow() }],
  )
  for (const kind of smsDrivers.keys()) {
    const carrierGauge = (what: string, help: string, read: (state: CarrierState) => number) =>
      metrics.gauge(metricName(kind, what), help, ['connection'], () =>
        carriers
          .states()
          .filter((one) => one.kind === kind)
          .map(({ name: connection, state }) => ({ labels: { connection }, value: read(state) })),
      )
    carrierGauge('up', '1 while a link that sends is up', ({ state }) => (state === 'up' ? 1 : 0))
    carrierGauge('in_flight', 'Submits without a response so far', ({ inFlight }) => inFlight)
    carrierGauge('window', 'Size of the submit window; smaller after throttling', ({ window }) => window)
  }
  const networkGauge = (name: string, help: string, read: (state: LinkState) => number) =>
    metrics.gauge(name, help, ['connection'], () =>
      networks.states().map(({ name: connection, state }) => ({ labels: { connection }, value: read(state) })),
    )
  networkGauge('trunkline_msgapp_link_up', '1 while a chat connection is up', ({ state }) => (state === 'up' ? 1 : 0))
  networkGauge('trunkline_msgapp_link_in_flight', 'Messages without a response so far', ({ inFlight }) => inFlight)
  networkGauge('trunkline_msgapp_link_submitted', 'Messages accepted since the start', ({ submitted }) => submitted)
  metrics.gauge(
    'trunkline_supplier_catalogue_stale',
    '1 while the catalogue of a supplier cannot be read',
    ['supplier'],
    async () =>
      (await supplierMetrics(db, suppliers)).map(({ supplier, missing }) => ({ labels: { supplier }, value: missing })),
  )
  metrics.gauge('trunkline_supplier_orders', 'Open orders at suppliers', ['supplier'], async () =>
    (await supplierMetrics(db, suppliers)).map(({ supplier, open }) => ({ labels: { supplier }, value: open })),
  )
  installWebhookMetrics(metrics, db)
  installInboxMetrics(metrics, db)
  installVoiceMetrics(services)
  installMailMetrics(metrics, db)
  metrics.gauge('trunkline_msgapp_channels', 'Numbers on the messaging app', ['platform', 'status'], async () =>
    (await countChannels(db)).map(({ platform, status, count }) => ({ labels: { platform, status }, value: count })),
  )
  metrics.gauge(
    'trunkline_msgapp_dead_letters',
    'Inbound events that cannot be stored (dead letters)',
    ['platform'],
    async () => (await countDeadLetters(db)).map(({ platform, count }) => ({ labels: { platform }, value: count })),
  )
  metrics.gauge('trunkline_database_connections', 'Database connections of this process', ['state'], () => {
    const { total, idle, waiting } = db.load()
    return Object.entries({ total, idle, waiting }).map(([state, value]) => ({ labels: { state }, value }))
  })
}

/** Builds the HTTP server, which does not listen yet, and the tunnel that forwards events to `trunkline listen`. */
const buildServer = async (services: Services, tls: TlsFiles | null) => {
  const alias = makeAlias(services.config.msgappName)
  const tunnel = makeTunnel(services, alias)
  const live = makeLive(services)
  const { roles } = services.config
  const upgrades = [tunnel.upgrade, live.upgrade, services.voice.upgrade].filter(({ path }) => isServed(path, roles))
  const compatRefusal = makeCompatRefusal(services.publicUrl)
  const isCompat = services.config.compat === 'on'
  const compat = isCompat ? { compatRefusal, rewritePath: rewriteCompatPath } : {}
  const catchAll = ['/console/', ...(isCompat ? compatPaths : [])]
  const app = makeServer({ ...services, tls, alias, ...compat }, makeEndpoints(services), upgrades, catchAll)
  app.addHook('onRequest', (request, _reply, done) => {
    const path = request.routeOptions.url ?? request.url.split('?', 1)[0] ?? ''
    done(isServed(path, roles) ? undefined : healthRefusals.roleNotHere(rolesThatServe(path).join(' or ')))
  })
  app.addHook('preClose', tunnel.close)
  // The feed runs while pages are connected.
  const onError = (error: unknown) => services.log.error({ err: error }, 'live: periodic task failed')
  let ticks: ReturnType<typeof tick>[] = []
  const endTicks = async () => {
    const ending = ticks
    ticks = []
    for (const task of ending) await task.end()
  }
  live.onOccupied((isOccupied) => {
    if (isOccupied) ticks = live.periodic.map(({ everyMs, run }) => tick(everyMs, run, onError))
    else void endTicks()
  })
  app.addHook('preClose', async () => {
    await endTicks()
    await live.close()
  })
  await installSite(app, services)
  await installSupplierCallbacks(app, services)
  await installChatCallbacks(app, services)
  await installSmsCallbacks(app, services)
  if (isCompat) await installNotOffered(app, compatRefusal)
  installRecordingDownloads(app, services)
  installMedia(app, services.chat.media, services)
  installMetrics(services)
  services.metrics.gauge('trunkline_live_sockets', 'Open sockets of the live feed of the console', [], () => [
    { labels: {}, value: live.openSockets() },
  ])
  return { app, tunnel }
}

/** Builds the HTTP server alone. */
export const buildApp = async (services: Services): Promise<FastifyInstance> => (await buildServer(services, null)).app

/** Milliseconds for which a stop waits for running jobs. */
const jobDrainMs = 15_000

/** The kinds of jobs that a worker runs. */
const jobKinds = (services: Services): JobKind[] => [
  ...numberJobs(services),
  ...smsJobs(services),
  inboundMediaJob(services),
  ...webhookJobs(services),
  mediaGc(services.chat.media),
  mediaRetention(services.config),
  bulkJob(services),
  untagJob(services),
  ...pushJobs(services),
  ...personJobs(services),
  ...mailJobs(services),
  ...twilioJobs(services),
  callbackJob({ ...services, signingKeys: services.callPrograms.signingKeys }) as JobKind,
]

/** The work that a worker repeats. */
const jobSchedules = (services: Services): Schedule[] => [
  { name: 'forget-idempotency-keys', every: 600, run: async (tx) => void (await deleteExpiredKeys(tx)) },
  ...smsSchedules(services),
  ...msgappSchedules(services),
  expireOldFiles(services.config),
  deleteOldUploads,
  endSnoozes,
  closeIdle,
  purgeBulkChanges,
  syncSchedule(services),
  lowBalances,
  countUsage,
  closeCalls,
  endExpiredCalls,
  deleteOldCommands,
  deleteOldTimelines(services.config.timelineDays),
  deleteCallerIdCodes,
  purgeContactImports,
  purgeDeliveriesDaily,
  purgeWebhookStats,
  purgeRequests,
  auditRetention(services.config.auditDays),
  deleteRevokedTokens,
  deleteEndedSessions,
  purgePush,
  deleteOldMails,
  deadJobRetention(services),
]

export type RunningRoles = {
  readonly app: FastifyInstance
  readonly port: number
  /** Replaces the certificate of HTTPS and SIP for later connections; open ones go on. */
  setCertificate(tls: TlsFiles): void
  /** Finishes the work under way, then stops. */
  stop(): Promise<void>
}

/** Wakes the other processes for work that this one leaves to them. */
const publishForOthers = ({ wakeUps, config, compatAccounts }: Services): readonly (() => void)[] => {
  const hasProjector = config.inbox && config.roles.includes('worker')
  return [
    onJobsAdded((isRunHere) => wakeUps.publish('jobs', isRunHere)),
    wakeAfterEvents(compatAccounts),
    onRecorded((webhooks) => {
      if (webhooks.length > 0) wakeUps.publish('deliveries')
      if (!hasProjector) wakeUps.publish('inbox')
    }),
  ]
}

/** Starts the roles of this process. */
export const startRoles = async (services: Services, tls: TlsFiles | null = null): Promise<RunningRoles> => {
  const {
    config,
    db,
    log,
    carriers,
    networks,
    voice,
    auth,
    sessions,
    rateLimiter,
    changes,
    outbound,
    lifecycle,
    remoteConnections,
    requestLog,
    refusedAccess,
  } = services
  const onError = (error: unknown) => log.error({ err: error }, 'process: periodic task failed')
  const timers = [
    tick(5_000, auth.flush, onError),
    tick(5_000, sessions.flush, onError),
    tick(2_000, rateLimiter.flush, onError),
    tick(1_000, requestLog.flush, onError),
    tick(5_000, () => refusedAccess.flush(), onError),
  ]
  const unsubscribers = publishForOthers(services)
  const { app, tunnel } = await buildServer(services, tls)
  timers.push(tick(500, tunnel.deliverPending, onError), tick(15_000, tunnel.ping, onError))
  if (config.roles.includes('voice')) await voice.start()
  await app.listen({ host: config.host, port: config.port })
  const { port } = app.server.address() as AddressInfo // it listens on TCP
  let worker: Worker | null = null
  let deliveries: DeliveryEngine | null = null
  let projector: Projector | null = null
  let history: HistoryService | null = null
  let receiptQueries: ReturnType<typeof startReceiptQueries> | null = null
  if (config.roles.includes('worker')) {
    await carriers.start()
    await networks.start({ acts: makeOperations(services), intake: makeInboundHandlers(services) })
    worker = startWorker({
      db,
      log,
      kinds: jobKinds(services),
      schedules: jobSchedules(services),
      id: carriers.leases.owner,
      wakeUps: services.wakeUps,
    })
    await carriers.leases.setWorker(worker)
    deliveries = startDeliveryEngine(services)
    receiptQueries = startReceiptQueries(services)
    if (config.inbox) {
      projector = startProjector(services)
      history = startHistory(services)
    }
  }
  if (config.roles.includes('worker') || config.roles.includes('voice')) await remoteConnections.start()
  return {
    app,
    port,
    setCertificate: (pair) => {
      if (app.server instanceof TlsServer) app.server.setSecureContext(pair)
      voice.setCertificate({ cert: String(pair.cert), key: String(pair.key) })
    },
    stop: async () => {
      lifecycle.stopping = true
      // Each connection ends with its next answer. A load balancer that used one which closes meanwhile would fail.
      await pause(config.drainSeconds * 1_000)
      // A client may keep its connection open after its last response, which would delay the stop.
      const hangUp = tick(100, async () => app.server.closeIdleConnections(), onError)
      // Another process takes the connections over as soon as no message is under way, whatever other work goes on here.
      const leaveCarriers = async () => {
        await Promise.all([worker?.stopKinds(isSubmitKind, jobDrainMs), receiptQueries?.end()])
        await carriers.close()
      }
      await Promise.all([app.close(), leaveCarriers(), worker?.stop(jobDrainMs), voice.close()])
      await hangUp.end()
      // Last: the steps before may still have published events.
      await history?.stop()
      await projector?.stop()
      await deliveries?.stop()
      await remoteConnections.end()
      await services.callPrograms.close()
      await networks.close()
      outbound.close()
      for (const timer of timers) await timer.end()
      await services.writeProbe.end()
      await refusedAccess.flush(true).catch(onError)
      for (const unsubscribe of unsubscribers) unsubscribe()
      changes.stop()
    },
  }
}
