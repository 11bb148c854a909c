/** Where a laptop listens: a WebSocket, with X-User-API-Key on its upgrade, and in its query `events` (names, separated by
 *  commas; all unless told) and `after` (the id of an event to go on behind it). Its frames are JSON texts. */
export const listenPath = '/open/webhooks/listen'

/** What the server says. */
export type ServerFrame =
  | {
      readonly type: 'ready'
      /** Signs what follows. The same for as long as the same API key is used. */
      readonly secret: string
      /** What happens behind this event's id is told. */
      readonly after: string
    }
  | {
      readonly type: 'event'
      /** `EVT…`, the webhook-id. */
      readonly id: string
      readonly name: string
      /** To be posted as they are. */
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }

/** What the laptop says: what became of an event. The server tells the next ones when it has heard of those before. */
export type LaptopFrame = {
  readonly type: 'result'
  readonly id: string
  /** The laptop's answer; absent when nothing answered, or nothing was asked. */
  readonly status?: number
}

/** Events told and not yet answered for, at most. */
export const unansweredMost = 32
