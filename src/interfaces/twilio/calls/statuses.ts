/** Statuses of calls, as Twilio names them. */
export const callStatuses = [
  'queued',
  'initiated',
  'ringing',
  'in-progress',
  'completed',
  'busy',
  'no-answer',
  'canceled',
  'failed',
] as const

export type TwilioCallStatus = (typeof callStatuses)[number]
