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
 * few conversations, wait for `lazy`. Every `sweep` looks for events of other processes, every `idleSweep` if they wake
 * this one. A failed pass is repeated after `retry`.
 */
export const projectorPace = {
  foldMs: 20,
  lazyMs: 1_000,
  sweepMs: 150,
  idleSweepMs: 2_000,
  retryMs: 250,
  idleMs: 30_000,
}

/** Accounts that are projected at once, and examined by one sweep. */
export const projectedAccounts = { atOnce: 2, sweep: 1_000 }

/** Messages and calls that one step of history examines, and milliseconds between steps while there is other work. */
export const historyStep = { rows: 300, conversations: 20, pauseMs: 50, idleMs: 2_000 }

/** Milliseconds within which an unanswered message of the history leaves its conversation open: a week. */
export const openHistoryMs = 604_800_000

/** Accounts that the metrics of the inbox examine: those that were projected last. */
export const countedAccounts = 10_000

// Bulk changes.

/** Conversations that one request names. */
export const maxBulkIds = 1_000

/** Conversations that one change concerns, if it names them by filters. */
export const maxBulkConversations = 100_000

/** Seconds in which a change can be undone. */
export const undoSeconds = 600

/** Conversations of one transaction. */
export const bulkBatchSize = 100

/** Conversations found by one statement. */
export const bulkPageSize = 200

/** Hours for which a finished change is stored. */
export const bulkRetentionHours = 24

/** Old changes that one run deletes, and their conversations, beyond which it deletes no further change. */
export const purgedChanges = { most: 1_000, conversations: 100_000 }

// Conversations that are closed after days without an item.

/** Seconds between two runs. */
export const closeEverySeconds = 60

/** Conversations that one run closes: of one account, and in all. */
export const closedAtOnce = { account: 200, all: 1_000 }

// Drafts.

/** UTF-16 units of a draft: those of a message or note. */
export const maxDraftLength = 10_000

// Messages within conversations.

/** UTF-16 units of a text. SMS and networks have lower limits of their own. */
export const maxMessageLength = 10_000

/** Items that a refusal shows. */
export const maxShownItems = 20

/** UTF-16 units of a text on the messaging app: as in its own contract. */
export const maxChatTextLength = 4_096

// Notes.

/** UTF-16 units of a note. */
export const maxNoteLength = 10_000

/** Users that a note mentions. */
export const maxMentions = 50

// Canned replies.

/** Shared replies of an account. */
export const maxSharedReplies = 500

/** Replies of one user. */
export const maxOwnReplies = 200

/** Characters of a text: a list of all replies stays below 2 MB. */
export const maxReplyLength = 3_000

/** Characters of a shortcut. */
export const maxShortcutLength = 40

// The search in conversations.

/** Rows that are read backwards by time: a word that is found less often in them is looked up in the index. */
export const examinedNewest = 3_000

/** Texts that are compared with the words, for each result: the index knows beginnings of 6 letters only. */
export const comparedTexts = 4

/** Conversations with the words of a search that are ordered by their last item; older ones are not found by a name. */
export const comparedNames = 200

/** UTF-16 units of a text that a result shows. */
export const snippetLength = 160

// Snoozed conversations.

/** Conversations that are opened in one transaction. */
export const dueBatchSize = 200

// Tags.

/** Tags of an account. */
export const maxTags = 500

/** Tags of one conversation. */
export const maxConversationTags = 20

/** Characters of a name. */
export const maxTagNameLength = 50

/** Conversations that lose a deleted tag in one transaction. */
export const untagBatchSize = 500

// The team page.

/** Members that one response shows, oldest first. */
export const maxTeamMembers = 500

// Saved views.

/** Shared views of an account. */
export const maxSharedViews = 100

/** Views of one user. */
export const maxOwnViews = 200
