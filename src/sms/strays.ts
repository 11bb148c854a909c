import type { Logger } from 'pino'
import type { Metrics } from '../http/metrics.ts'
import { masked } from '../lib/phone.ts'
import type { Routing } from './routing.ts'

/** Reports an inbound message whose destination is not a number of this installation. The carrier has its answer. */
export type Stray = (connection: string, destination: string) => void

export const makeStray = (metrics: Metrics, routing: Routing, log: Logger): Stray => {
  const count = metrics.counter(
    'trunkline_sms_unattributed_total',
    'Inbound messages to numbers that no account holds with SMS',
    ['connection'],
  )
  return (id, destination) => {
    const known = routing.connections().find(({ connection }) => connection === id)
    const connection = known?.name ?? 'unknown'
    count({ connection })
    log.warn({ connection, destination: masked(destination) }, 'sms: inbound message to an unknown number dropped')
  }
}
