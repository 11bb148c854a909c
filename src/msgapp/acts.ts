import type { ChatNetwork } from '../connectors/chat-port.ts'
import type { Tx } from '../db/sql.ts'
import type { Done, Job } from '../jobs/kind.ts'
import type { Parts } from '../parts.ts'
import type { Asked } from './asking.ts'
import { checkAct, makeCheckAct } from './checks/act.ts'
import { batchAct, makeBatchAct } from './checks/batch.ts'
import { makeContactAct } from './directory/act.ts'
import { contactAct } from './directory/ops.ts'
import { changeAct, createAct, makeChangeAct, makeCreateAct, makeSyncAct, syncAct } from './groups/acts.ts'
import { makeFetch } from './media/acts.ts'
import { makeRead, readAct } from './messages/reading.ts'
import { makeRemove } from './messages/removing.ts'
import { makeSend } from './messages/sending.ts'
import { makePictureAct, makeStatusAct, pictureAct, statusAct } from './pictures/act.ts'

/** One kind of thing that is asked of networks: how it is done there, and what is written down of it. */
export type Act<Payload = unknown, Result = unknown> = {
  /** May happen more than once for a job: hand its id to the network. Only while the channel is connected. */
  run(network: ChatNetwork, job: Job<Asked<Payload>>, signal: AbortSignal): Promise<Result>
  /** Exactly once, in the transaction that ends the jobs; many at a time. */
  settle(tx: Tx, done: readonly Done<Asked<Payload>, Result>[]): Promise<void>
  /** When it is given up, in the transaction of that. Who waits for an answer is told in any case. */
  failed?(tx: Tx, job: Job<Asked<Payload>>, reason: string): Promise<void>
}

export type Acts = { readonly [act: string]: Act }

/** Everything that can be asked of a network. */
export const makeActs = ({ db, chat, outbound, sandboxAccounts }: Parts): Acts => ({
  send: makeSend({ db, ...chat }),
  remove: makeRemove(),
  [readAct]: makeRead(),
  fetch: makeFetch(chat.media),
  [checkAct]: makeCheckAct(),
  [batchAct]: makeBatchAct(),
  [createAct]: makeCreateAct(),
  [changeAct]: makeChangeAct(),
  [syncAct]: makeSyncAct(),
  [contactAct]: makeContactAct(),
  [pictureAct]: makePictureAct({ outbound, sandboxAccounts }, chat.media.turns),
  [statusAct]: makeStatusAct(),
})
