/**
 * Path of the WebSocket that keeps a page of the console current. A browser with a session opens it, from our own
 * origin. The query may contain `after` (the id of the last event that the page applied), or, without one, `since`: a
 * time of the server (`now` of the session) before the page read anything. Frames are JSON texts.
 */
export const livePath = '/console/live'

/** Subprotocol (RFC 6455, 1.9) that the page must offer. */
export const liveProtocol = 'trunkline.console.1'

/**
 * Events of the account that a page follows. `webhook:WHK…` reports the delivery attempts of one webhook,
 * `conversation:CNV…` the events of one conversation and the people who view it.
 */
export type LiveTopic =
  | 'inbox'
  | 'calls'
  | 'numbers'
  | 'webhooks'
  | `webhook:WHK${string}`
  | `conversation:CNV${string}`
  | 'money'
  | 'team'

/** A frame from the server. */
export type LiveServerFrame =
  | {
      readonly type: 'hello'
      /** Events after this id are sent, once the page has subscribed. */
      readonly after: string
      /** Version of the server. A page of another version is out of date. */
      readonly build: string
      readonly now: string
    }
  | { readonly type: 'subscribed'; readonly account: string; readonly topics: readonly LiveTopic[] }
  | {
      readonly type: 'event'
      /** `EVT…`; a delivery attempt has the id of its event. */
      readonly id: string
      /** Name of the event, or `webhook.delivery`, `balance.changed`, `member.changed`. */
      readonly name: string
      readonly at: string
      readonly topics: readonly LiveTopic[]
      readonly data: { readonly [field: string]: unknown }
      /** False for events outside the log: they are not sent again after a reconnect. */
      readonly logged: boolean
      /** True for an event from just before the page followed its topic: the page may have read what it is about. */
      readonly earlier?: true
    }
  /** Every 15 s, and in reply to a ping: the newest event of the account's log that was sent. */
  | { readonly type: 'head'; readonly id: string; readonly now: string }
  /** The page is too far behind: it must load again what it shows. Events after `after` follow. */
  | { readonly type: 'resync'; readonly reason: 'too_far_behind' | 'expired'; readonly after: string }
  /** A topic was refused: the session lacks the capability, or the webhook is not the account's. */
  | { readonly type: 'refused'; readonly topic: string; readonly error_code: string; readonly error_message: string }
  /** After each change of the other people in a conversation that the page follows, and once at the beginning. */
  | { readonly type: 'presence'; readonly conversation: string; readonly people: readonly LivePerson[] }
  /** Conversations in each view of the sidebar: after a change, at most once a second, to pages that follow `inbox`. */
  | { readonly type: 'counts'; readonly views: LiveCounts }
  /** The last frame before the socket is closed with the same code. 4401: signed out. 4403: rights changed. 1012: the
   *  server restarts. */
  | { readonly type: 'bye'; readonly code: 4401 | 4403 | 1012; readonly reason: string }

/** A member who views or writes in a conversation. */
export type LivePerson = {
  readonly user_uuid: string
  readonly name: string
  readonly state: 'viewing' | 'typing'
}

/** Conversations by the name of a view, or the id of a stored one. `more`: there are more than `n`. */
export type LiveCounts = { readonly [view: string]: { readonly n: number; readonly more: boolean } }

/** A frame from the page. */
export type LivePageFrame =
  /** Replaces all topics of the page. */
  | { readonly type: 'subscribe'; readonly account: string; readonly topics: readonly LiveTopic[] }
  /** The page has applied all events up to this one. */
  | { readonly type: 'ack'; readonly id: string }
  | { readonly type: 'ping' }
  /** Every 5 s while it is true, and after a change. Needs the topic of the conversation; ends after 12 s. */
  | { readonly type: 'presence'; readonly conversation: string; readonly state: 'viewing' | 'typing' | null }
  /** Every 15 s while the page is visible, and after a change. A person with a visible page gets no push. */
  | { readonly type: 'visibility'; readonly visible: boolean }

/** Events that may be sent without an `ack`. */
export const maxUnansweredEvents = 256
