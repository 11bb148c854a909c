import type { ConcurrencyLimiter } from '../../../platform/lib/concurrency-limiter.ts'
import type { AttemptResult, Delivery, Endpoint } from './attempt.ts'
import type { DeliveryChange, EndpointHealth } from './attempt-store.ts'

/** Results that a worker stores in one transaction. */
export type WorkerReport = {
  readonly changes: readonly DeliveryChange[]
  readonly health: EndpointHealth | null
  /** Deliveries due again: of one conversation, or of the whole webhook (null). */
  readonly recovered: { readonly conversation: string | null } | null
  readonly disabled: 'gone' | 'failing' | null
}

/** Callbacks from a worker to the engine. */
export type WorkerContext<Worker> = {
  readonly limiter: ConcurrencyLimiter
  /** Platform time, Unix milliseconds. */
  now(): number
  /** Whether the lease holds: no attempt starts without it. */
  isLeaseHeld(): boolean
  attempt(endpoint: Endpoint, delivery: Delivery, signal: AbortSignal): Promise<AttemptResult>
  /** Resolves once the report is stored, or once the lease is lost. */
  write(worker: Worker, report: WorkerReport): Promise<void>
  /** Returns the oldest delivery of the conversation that failed before `before` and waits. */
  findOldestFailed(worker: Worker, conversation: string, before: string): Promise<Delivery | null>
  /** Reports that the worker may have room for more deliveries. */
  requestWork(worker: Worker): void
}
