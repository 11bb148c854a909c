import {
  type CallbackPayload,
  type CallRow,
  callOf,
  callStatusKind,
  describeCall,
} from '../../../domains/calls/compat/ops.ts'
import type { JobKind } from '../../../platform/jobs/job-kind.ts'
import type { Services } from '../../../services.ts'
import { rfc2822 } from '../times.ts'
import { callParameters, callStatusOf } from './call-parameters.ts'
import { reportJob } from './report.ts'
import type { Parameters } from './signature.ts'

/** Returns the parameters of the report of a status of a call, as it was at its moment. */
export const callStatusParameters = (row: CallRow, { event, status, sequence, at }: CallbackPayload): Parameters => ({
  ...callParameters({ ...describeCall(row), status }),
  CallStatus: event === 'initiated' ? 'initiated' : callStatusOf(status),
  CallbackSource: 'call-progress-events',
  SequenceNumber: String(sequence),
  Timestamp: rfc2822(Date.parse(at)),
  ...(event === 'completed'
    ? {
        CallDuration: String(row.duration),
        // Minutes that were charged.
        Duration: String(Math.ceil(row.billed / 60)),
        ...sipCodeOf(row),
      }
    : {}),
})

const sipCodeOf = ({ end_reason: reason, answered_at }: CallRow): Parameters => {
  if (answered_at !== null) return { SipResponseCode: '200' }
  return reason !== null && /^[3-6]\d\d$/.test(reason) ? { SipResponseCode: reason } : {}
}

/** Reports the statuses of calls whose callbacks have the shape of Twilio, those of one call in order. */
export const callStatusJob = (services: Services): JobKind<CallbackPayload, void> =>
  reportJob<CallbackPayload>(services, callStatusKind, async (account, payload) => {
    const row = await callOf(services.db, account, payload.call)
    if (!row?.callbacks) return null
    const { url, method } = row.callbacks
    return { to: { url, method }, parameters: callStatusParameters(row, payload) }
  })
