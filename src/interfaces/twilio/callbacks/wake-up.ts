import { callStatusKind } from '../../../domains/calls/compat/ops.ts'
import { onRecorded } from '../../../domains/events/ops.ts'
import { notify } from '../../../platform/jobs/queue.ts'
import type { CompatAccounts } from '../compat-accounts.ts'
import { inboundKind } from './inbound-job.ts'
import { statusKind } from './status-job.ts'

/**
 * Wakes the workers of this process after events of accounts that use the interface: a trigger may have added jobs. A hint,
 * as workers also poll.
 * @returns a function that unsubscribes
 */
export const wakeAfterEvents = (accounts: CompatAccounts): (() => void) => {
  const wake = (isOn: boolean) => {
    if (!isOn) return
    notify(statusKind)
    notify(inboundKind)
    notify(callStatusKind)
  }
  return onRecorded((_webhooks, concerned) => {
    for (const account of concerned) {
      const isOn = accounts.wasOn(account)
      if (typeof isOn === 'boolean') wake(isOn)
      else isOn.then(wake, () => undefined)
    }
  })
}
