import { findMessage } from '../../../domains/sms/ops.ts'
import type { JobKind } from '../../../platform/jobs/job-kind.ts'
import type { Services } from '../../../services.ts'
import * as store from '../store.ts'
import { type StatusChange, statusParameters } from './parameters.ts'
import { reportJob } from './report.ts'

/** Jobs that report a status of a message. A trigger of the database adds them (migration twilio). */
export const statusKind = 'twilio.status'

type StatusPayload = StatusChange & { readonly message: string }

/** Reports each status of a message, one after the other. */
export const statusJob = (services: Services): JobKind<StatusPayload, void> =>
  reportJob<StatusPayload>(services, statusKind, async (account, payload) => {
    const row = await findMessage(services.db, account, payload.message)
    const url = row && (await store.callbackOf(services.db, account, payload.message))
    return row && url ? { to: { url, method: 'POST' }, parameters: statusParameters(account, row, payload) } : null
  })
