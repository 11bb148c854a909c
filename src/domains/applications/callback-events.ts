/** Statuses of a call that its `status_url` may get, in their order. */
export const callbackEvents = ['initiated', 'ringing', 'answered', 'completed'] as const

export type CallbackEvent = (typeof callbackEvents)[number]
