import type { SmsInbound } from '../../../ports/sms.ts'

/** A message from a handset, with the connection that delivered it. */
export type CarrierInbound = SmsInbound & { connection: string }
