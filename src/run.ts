import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { forgetAudit } from './audit/jobs.ts'
import { forgetCallerIdCodes } from './callers/jobs.ts'
import { closeCalls } from './calls/jobs.ts'
import { installVoiceMetrics } from './calls/metrics.ts'
import { installRecordings } from './calls/serving.ts'
import { forgetStories } from './calls/story.ts'
import type { CarrierState, LinkState } from './connectors/port.ts'
import { forgetContactImports } from './contacts/jobs.ts'
import { makeEndpoints } from './endpoints.ts'
import { makeClientAddress } from './http/client-address.ts'
import { forgetKeys } from './http/idempotency.ts'
import { makeNaming } from './http/naming.ts'
import { makeServer } from './http/server.ts'
import { queueDepth } from './jobs/ops.ts'
import { tick } from './jobs/tick.ts'
import { startWorker, type Worker } from './jobs/worker.ts'
import { lowBalances } from './ledger/jobs.ts'
import { makeActs } from './msgapp/acts.ts'
import { countAside } from './msgapp/aside/ops.ts'
import { installChatCallbacks } from './msgapp/callbacks.ts'
import { countChannels } from './msgapp/channels/ops.ts'
import { makeIntake } from './msgapp/intake.ts'
import { msgappSchedules } from './msgapp/jobs.ts'
import { ageing, forgetOldFiles } from './msgapp/media/ageing.ts'
import { discarding } from './msgapp/media/discarding.ts'
import { installMedia } from './msgapp/media/serving.ts'
import { installCallbacks } from './numbers/callbacks.ts'
import { numberJobs } from './numbers/jobs.ts'
import { supplierFigures } from './numbers/suppliers.ts'
import { syncSchedule } from './numbers/syncing.ts'
import type { Parts } from './parts.ts'
import { installSite } from './site/routes.ts'
import { smsJobs, smsSchedules } from './sms/jobs.ts'
import { forgetRevokedTokens } from './tokens/ops.ts'
import { makeTunnel } from './tunnel/routes.ts'
import { type Deliveries, startDeliveries } from './webhooks/engine.ts'
import { forgetDeliveries, webhookJobs } from './webhooks/jobs.ts'
import { installWebhookMetrics } from './webhooks/ops.ts'

/** The figures of /metrics beside those of HTTP. */
const installMetrics = (parts: Parts) => {
  const { metrics, db, accept, carriers, networks, suppliers } = parts
  metrics.gauge('trunkline_jobs', 'Jobs in the queue by kind and state', ['kind', 'state'], async () =>
    (await queueDepth(db)).flatMap(({ kind, due, delayed, leased, dead }) =>
      Object.entries({ due, delayed, leased, dead }).map(([state, value]) => ({ labels: { kind, state }, value })),
    ),
  )
  metrics.gauge('trunkline_jobs_oldest_seconds', 'Age of the oldest job that is due', ['kind'], async () =>
    (await queueDepth(db)).map(({ kind, oldest_seconds }) => ({ labels: { kind }, value: oldest_seconds })),
  )
  metrics.gauge('trunkline_sms_accepting', 'Messages that wait for their commit', [], () => [
    { labels: {}, value: accept.depth() },
  ])
  metrics.gauge('trunkline_carriers_room', 'Parts that carriers can take at this moment', [], () => [
    { labels: {}, value: carriers.room() },
  ])
  const carrierGauge = (name: string, help: string, read: (state: CarrierState) => number) =>
    metrics.gauge(name, help, ['connection'], () =>
      carriers.states().map(({ name: connection, state }) => ({ labels: { connection }, value: read(state) })),
    )
  carrierGauge('trunkline_smpp_up', '1 while a bind that sends is up', ({ state }) => (state === 'bound' ? 1 : 0))
  carrierGauge('trunkline_smpp_in_flight', 'Submits that wait for their answer', ({ inFlight }) => inFlight)
  carrierGauge(
    'trunkline_smpp_window',
    'Submits that may wait at a time; less after throttling',
    ({ window }) => window,
  )
  const networkGauge = (name: string, help: string, read: (state: LinkState) => number) =>
    metrics.gauge(name, help, ['connection'], () =>
      networks.states().map(({ name: connection, state }) => ({ labels: { connection }, value: read(state) })),
    )
  networkGauge('trunkline_msgapp_link_up', '1 while a chat connection is up', ({ state }) => (state === 'up' ? 1 : 0))
  networkGauge('trunkline_msgapp_link_in_flight', 'Messages that wait for their answer', ({ inFlight }) => inFlight)
  networkGauge('trunkline_msgapp_link_submitted', 'Messages taken since the start', ({ submitted }) => submitted)
  metrics.gauge(
    'trunkline_supplier_missing',
    '1 for a supplier whose catalogue could not be read',
    ['supplier'],
    async () =>
      (await supplierFigures(db, suppliers)).map(({ supplier, missing }) => ({ labels: { supplier }, value: missing })),
  )
  metrics.gauge('trunkline_supplier_orders', 'Orders at suppliers that have not ended', ['supplier'], async () =>
    (await supplierFigures(db, suppliers)).map(({ supplier, open }) => ({ labels: { supplier }, value: open })),
  )
  installWebhookMetrics(metrics, db)
  installVoiceMetrics(parts)
  metrics.gauge('trunkline_msgapp_channels', 'Numbers on the messaging app', ['platform', 'status'], async () =>
    (await countChannels(db)).map(({ platform, status, count }) => ({ labels: { platform, status }, value: count })),
  )
  metrics.gauge('trunkline_msgapp_set_aside', 'What networks told and cannot be kept', ['platform'], async () =>
    (await countAside(db)).map(({ platform, count }) => ({ labels: { platform }, value: count })),
  )
  metrics.gauge('trunkline_database_connections', 'Connections of this process to the database', ['state'], () => {
    const { total, idle, waiting } = db.load()
    return Object.entries({ total, idle, waiting }).map(([state, value]) => ({ labels: { state }, value }))
  })
}

/** The HTTP server of these parts, ready to listen or to be injected into, and what tells laptops of events. */
const assemble = async (parts: Parts, tls: { cert: Buffer; key: Buffer } | null) => {
  const { config } = parts
  const trustProxy = config.trustProxy === 'true' ? true : (config.trustProxy ?? false)
  const naming = makeNaming(config.msgappName)
  const tunnel = makeTunnel(parts, naming, makeClientAddress(trustProxy))
  const app = makeServer({ ...parts, tls, trustProxy, naming }, makeEndpoints(parts), [
    tunnel.upgrade,
    parts.voice.upgrade,
  ])
  app.addHook('preClose', tunnel.close)
  await installSite(app, parts)
  await installCallbacks(app, parts)
  await installChatCallbacks(app, parts)
  installRecordings(app, parts)
  installMedia(app, parts.chat.media, parts)
  installMetrics(parts)
  return { app, tunnel }
}

/** The HTTP server alone. */
export const makeApp = async (parts: Parts): Promise<FastifyInstance> => (await assemble(parts, null)).app

export type Running = {
  readonly app: FastifyInstance
  readonly port: number
  /** Finishes what is in hand, and ends. */
  stop(): Promise<void>
}

/** Starts the roles of this process. */
export const run = async (parts: Parts, tls: { cert: Buffer; key: Buffer } | null = null): Promise<Running> => {
  const { config, db, log, carriers, networks, voice, auth, meter, changes, outbound, life } = parts
  const onError = (error: unknown) => log.error({ err: error }, 'something that is done every so often failed')
  const ticks = [tick(5_000, auth.flush, onError), tick(2_000, meter.flush, onError)]
  const { app, tunnel } = await assemble(parts, tls)
  ticks.push(tick(500, tunnel.look, onError), tick(15_000, tunnel.beat, onError))
  if (config.roles.includes('voice')) await voice.start()
  await app.listen({ host: config.host, port: config.port })
  const { port } = app.server.address() as AddressInfo // it listens on TCP
  let worker: Worker | null = null
  let deliveries: Deliveries | null = null
  if (config.roles.includes('worker')) {
    await carriers.start()
    await networks.start({ acts: makeActs(parts), intake: makeIntake(parts) })
    worker = startWorker({
      db,
      log,
      kinds: [
        ...numberJobs(parts),
        ...smsJobs(parts),
        ...webhookJobs(parts),
        discarding(parts.chat.media),
        ageing(config),
      ],
      schedules: [
        { name: 'forget-idempotency-keys', every: 600, run: async (tx) => void (await forgetKeys(tx)) },
        ...smsSchedules(parts),
        ...msgappSchedules(parts),
        forgetOldFiles(config),
        syncSchedule(parts),
        lowBalances,
        closeCalls,
        forgetStories(config.timelineDays),
        forgetCallerIdCodes,
        forgetContactImports,
        forgetDeliveries,
        forgetAudit(config.auditDays),
        forgetRevokedTokens,
      ],
    })
    deliveries = startDeliveries(parts)
  }
  return {
    app,
    port,
    stop: async () => {
      life.stopping = true
      // Whoever was being answered just now may keep the connection, and would hold us for as long.
      const hangUp = tick(100, async () => app.server.closeIdleConnections(), onError)
      await Promise.all([app.close(), worker?.stop(15_000), voice.close()])
      await hangUp.end()
      // Last, because what ended just now is told too.
      await deliveries?.stop()
      await carriers.close()
      await networks.close()
      outbound.close()
      for (const one of ticks) await one.end()
      changes.stop()
    },
  }
}
