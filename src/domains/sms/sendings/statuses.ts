/** Statuses that messages of sendings have. */
export const sendingStatuses = [
  'queued',
  'sending',
  'sent',
  'delivered',
  'undelivered',
  'rejected',
  'expired',
  'failed',
  'canceled',
  'unknown',
] as const

export type SendingStatus = (typeof sendingStatuses)[number]
