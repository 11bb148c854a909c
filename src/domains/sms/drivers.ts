import { smppDriver } from '../../adapters/smpp/smpp-driver.ts'
import { smsHttpDriver } from '../../adapters/sms-http/sms-http-driver.ts'
import type { Sql } from '../../platform/db/sql.ts'
import type { Seal } from '../../platform/lib/secret.ts'
import type { SmsDriver } from '../../ports/sms.ts'
import { type Connection, enabledConnections } from '../connections/ops.ts'

/** Drivers by kind of connection. Settings were validated against the schema of their kind
 *  (connections/connection-kinds.ts). */
const drivers = {
  smpp: smppDriver,
  'sms-http': smsHttpDriver,
}

export type SmsKind = keyof typeof drivers

/** The table of drivers. A test may add one. */
export const smsDrivers = new Map<string, SmsDriver<unknown>>(Object.entries(drivers))

/** Returns the driver of a kind of connection. @throws Error without one */
export const driverOf = (kind: string): SmsDriver<unknown> => {
  const driver = smsDrivers.get(kind)
  if (!driver) throw new Error(`SMS connections of the kind ${kind} have no driver`)
  return driver
}

/** Returns the enabled SMS connections with their secrets. */
export const enabledCarriers = (sql: Sql, seal: Seal): Promise<Connection<SmsKind>[]> =>
  // The map loses the types of the kinds.
  enabledConnections(sql, seal, ...([...smsDrivers.keys()] as SmsKind[]))

/** Returns the name of a metric of one kind of carrier, such as trunkline_smpp_up. */
export const metricName = (kind: string, what: string): string => `trunkline_${kind.replaceAll('-', '_')}_${what}`
