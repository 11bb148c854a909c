/** Kinds of the jobs that report the statuses of calls, by the shape of their requests. A trigger of the database adds them
 *  (migration call_orders). */
export const callbackKinds = { native: 'call.status', twilio: 'twilio.call_status' } as const
