// Limits of the inbox.

/** Highest numbers that are counted: conversations of a view, and unread items of a conversation. */
export const countCap = { view: 1_000, unread: 100 }

/** Characters of the last message that a list shows. */
export const lastTextLength = 160

/** Items that are taken in at once: when a conversation begins, and later of its history. */
export const takenIn = { first: 200, page: 1_000 }

/** Channels of an account whose threads with a number are taken in. */
export const searchedChannels = 1_000

/** Words of a text that are indexed. */
export const indexedWords = 64

/** Letters of the shortest and the longest indexed beginning of a word, and digits of a number (E.164 has 15). */
export const indexedPrefix = { shortest: 3, longest: 6, longestOfDigits: 15 }

/** Conversations that a page examines for filters without an index. */
export const examinedConversations = 10_000

/** The newest texts with the words of `q` whose conversations are listed. */
export const searchedTexts = 2_000

/** A word that is found this often among a sample of the newest texts is searched by time, among more of them. */
export const frequentWord = { sample: 3_000, found: 30, walked: 50_000 }

/** Conversations of a tag up to which the index of tags is used; those of a more frequent tag are met by time. */
export const rareTag = 2_000

/** Channels of a conversation that one response shows. */
export const shownChannels = 20

/** Conversations of a contact that one response shows. */
export const conversationsOfContact = 100

/** Events that the projector handles in one transaction, and examines in one read: about a fifth concern conversations. */
export const projectedEvents = { each: 200, read: 1_000 }

/** Failed passes of an account after which its events are handled one by one, and after which one is skipped. */
export const projectionFailures = { alone: 3, most: 6 }

/**
 * Milliseconds by which the projector looks back: events appear when their transactions commit, up to `commit` behind later
 * ids. Each pass reads the last `each` again, or the last `busy` while more than `busyEvents` are read. The whole of that time is
 * read again at an interval, which is longer while it has more than `bulkEvents`.
 */
export const projectorLookback = {
  eachMs: 1_000,
  busyMs: 250,
  busyEvents: 500,
  commitMs: 11_000,
  wholeEveryMs: 5_000,
  bulkEveryMs: 20_000,
  bulkEvents: 2_000,
}

/**
 * Milliseconds: within `fold`, events become one update of their conversations. Events of bulk messages, which change
 * few conversations, wait for `lazy`. Every `sweep` looks for events of other processes. A failed pass is repeated after
 * `retry`.
 */
export const projectorPace = { foldMs: 20, lazyMs: 1_000, sweepMs: 150, retryMs: 250, idleMs: 30_000 }

/** Accounts that are projected at once, and examined by one sweep. */
export const projectedAccounts = { atOnce: 2, sweep: 1_000 }

/** Messages and calls that one step of history examines, and milliseconds between steps while there is other work. */
export const historyStep = { rows: 300, conversations: 20, pauseMs: 50, idleMs: 2_000 }

/** Milliseconds within which an unanswered message of the history leaves its conversation open: a week. */
export const openHistoryMs = 604_800_000

/** Accounts that the metrics of the inbox examine: those that were projected last. */
export const countedAccounts = 10_000
