import { maskNumber } from '@trunkline/phone/phone.ts'
import type { Logger } from 'pino'
import type { Metrics } from '../../../platform/http/metrics.ts'
import type { Router } from '../route/router.ts'

/** Reports an inbound message to a number that no account of this installation has. The carrier gets a normal
 *  response. */
export type ReportUnattributed = (connection: string, destination: string) => void

export const makeUnattributedReporter = (metrics: Metrics, routing: Router, log: Logger): ReportUnattributed => {
  const count = metrics.counter(
    'trunkline_sms_unattributed_total',
    'Inbound messages to numbers that no account holds with SMS',
    ['connection'],
  )
  return (id, destination) => {
    const known = routing.connections().find(({ connection }) => connection === id)
    const connection = known?.name ?? 'unknown'
    count({ connection })
    log.warn({ connection, destination: maskNumber(destination) }, 'sms: inbound message to an unknown number dropped')
  }
}
