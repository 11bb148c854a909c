import type { Services } from '../../../services.ts'
import { batchOperation, makeBatchOperation } from '../checks/batch-operation.ts'
import { checkOperation, makeCheckOperation } from '../checks/check-operation.ts'
import { makeContactOperation } from '../directory/contact-operation.ts'
import { contactOperation } from '../directory/ops.ts'
import {
  changeOperation,
  createOperation,
  makeChangeOperation,
  makeCreateOperation,
  makeSyncOperation,
  syncOperation,
} from '../groups/group-operations.ts'
import { makeFetchOperation } from '../media/fetch-operation.ts'
import { makeDeleteOperation } from '../messages/outbound/delete-operation.ts'
import { makeSendOperation } from '../messages/outbound/send-operation.ts'
import { makeReadOperation, readOperation } from '../messages/reading/mark-read.ts'
import {
  makePictureOperation,
  makeStatusOperation,
  pictureOperation,
  statusOperation,
} from '../pictures/picture-operation.ts'
import type { Operations } from './operation.ts'

/** All operations on chat networks. */
export const makeOperations = ({ db, chat, outbound, sandboxAccounts }: Services): Operations => ({
  send: makeSendOperation({ db, ...chat }),
  remove: makeDeleteOperation(),
  [readOperation]: makeReadOperation(),
  fetch: makeFetchOperation(chat.media),
  [checkOperation]: makeCheckOperation(),
  [batchOperation]: makeBatchOperation(),
  [createOperation]: makeCreateOperation(),
  [changeOperation]: makeChangeOperation(),
  [syncOperation]: makeSyncOperation(db),
  [contactOperation]: makeContactOperation(),
  [pictureOperation]: makePictureOperation({ outbound, sandboxAccounts }, chat.media.fetchLimiter),
  [statusOperation]: makeStatusOperation(),
})
