/**
 * Path of the WebSocket on which a laptop listens. The upgrade carries X-User-API-Key. The query may contain `events`
 * (names separated by commas; default: all) and `after` (the id of the event to continue after). Frames are JSON texts.
 */
export const listenPath = '/open/webhooks/listen'

/** A frame from the server. */
export type ServerFrame =
  | {
      readonly type: 'ready'
      /** Signs the events of this connection. The same for as long as the same API key is used. */
      readonly secret: string
      /** Events after this id are delivered. */
      readonly after: string
    }
  | {
      readonly type: 'event'
      /** `EVT…`, the webhook-id. */
      readonly id: string
      readonly name: string
      /** Headers to post unchanged. */
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }

/** A frame from the laptop: the result of an event. The server sends further events as results arrive. */
export type LaptopFrame = {
  readonly type: 'result'
  readonly id: string
  /** Status of the laptop's response; absent when there was no response or no request. */
  readonly status?: number
}

/** Maximum number of events sent without a result. */
export const maxUnanswered = 32
