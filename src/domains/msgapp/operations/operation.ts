import type { Tx } from '../../../platform/db/sql.ts'
import type { CompletedRun, Job } from '../../../platform/jobs/job-kind.ts'
import type { ChatNetwork } from '../../../ports/chat.ts'
import type { OperationPayload } from './requests.ts'

/** One kind of operation on chat networks: how it runs there, and how its result is stored. */
export type Operation<Payload = unknown, Result = unknown> = {
  /**
   * Runs the operation, only while the channel is connected. May run more than once per job: give the network the
   * job's id.
   */
  run(network: ChatNetwork, job: Job<OperationPayload<Payload>>, signal: AbortSignal): Promise<Result>
  /** Stores the results, exactly once, in the transaction that completes the jobs; many per call. */
  onComplete(tx: Tx, done: readonly CompletedRun<OperationPayload<Payload>, Result>[]): Promise<void>
  /** Called when the job is discarded, in the same transaction. The requester gets an answer in any case. */
  onDiscard?(tx: Tx, job: Job<OperationPayload<Payload>>, reason: string): Promise<void>
}

export type Operations = { readonly [act: string]: Operation }
