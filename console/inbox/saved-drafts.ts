import { type Signal, signal } from '@preact/signals'
import { api } from '../api/client.ts'
import { requestContext } from '../api/send.ts'

// Drafts of the person. A draft is stored in the browser with each letter, and on the server when typing pauses:
// it is there after a reload, and in another browser. Nobody else can read it.

export type DraftKind = 'message' | 'note'

export type Draft = {
  readonly text: string
  readonly channel?: string | undefined
  readonly replyTo?: string | undefined
  /** Milliseconds of the last change. */
  readonly at: number
  /** The server has it. */
  readonly isSaved: boolean
}

export const emptyDraft: Draft = { text: '', at: 0, isSaved: true }

/** Milliseconds after the last letter. */
const saveDelay = 500

const drafts = new Map<string, Signal<Draft>>()
const timers = new Map<string, ReturnType<typeof setTimeout>>()
let user = ''

/** Conversations with a draft, and how it begins: for the list. */
export const draftTexts = signal<ReadonlyMap<string, string>>(new Map())

const keyOf = (conversation: string, kind: DraftKind): string =>
  `trunkline.draft.${requestContext.account}.${user}.${conversation}.${kind}`

const read = (key: string): Draft => {
  try {
    const stored = localStorage.getItem(key)
    return stored ? (JSON.parse(stored) as Draft) : emptyDraft // as `write` has stored it
  } catch {
    return emptyDraft
  }
}

const write = (key: string, draft: Draft): void => {
  try {
    if (draft.text === '' && draft.isSaved) localStorage.removeItem(key)
    else localStorage.setItem(key, JSON.stringify(draft))
  } catch {
    // The browser forbids storage: the server has the draft half a second later.
  }
}

const markInList = (conversation: string, kind: DraftKind, text: string): void => {
  if (kind !== 'message' || (draftTexts.value.get(conversation) ?? '') === text) return
  const next = new Map(draftTexts.value)
  if (text.trim() === '') next.delete(conversation)
  else next.set(conversation, text)
  draftTexts.value = next
}

/** The draft of a conversation. */
export const draftOf = (conversation: string, kind: DraftKind): Signal<Draft> => {
  const key = keyOf(conversation, kind)
  const found = drafts.get(key) ?? signal(read(key))
  drafts.set(key, found)
  return found
}

const set = (conversation: string, kind: DraftKind, draft: Draft): void => {
  draftOf(conversation, kind).value = draft
  write(keyOf(conversation, kind), draft)
  markInList(conversation, kind, draft.text)
}

const save = async (conversation: string, kind: DraftKind): Promise<void> => {
  const draft = draftOf(conversation, kind).value
  if (draft.isSaved) return
  const params = { conversation_uuid: conversation }
  try {
    if (draft.text === '') await api('DELETE /open/conversations/:conversation_uuid/draft', { params, query: { kind } })
    else
      await api('PUT /open/conversations/:conversation_uuid/draft', {
        params,
        body: {
          kind,
          text: draft.text,
          ...(draft.channel ? { channel_uuid: draft.channel } : {}),
          ...(draft.replyTo ? { reply_to: draft.replyTo } : {}),
        },
      })
    const current = draftOf(conversation, kind).value
    if (current.at === draft.at) set(conversation, kind, { ...current, isSaved: true })
  } catch {
    // The browser has it. The next letter, or the next opening of the conversation, saves it.
  }
}

const schedule = (conversation: string, kind: DraftKind): void => {
  const key = keyOf(conversation, kind)
  clearTimeout(timers.get(key))
  timers.set(
    key,
    setTimeout(() => void save(conversation, kind), saveDelay),
  )
}

/** Changes a draft. */
export const changeDraft = (conversation: string, kind: DraftKind, change: Partial<Draft>): void => {
  const before = draftOf(conversation, kind).value
  set(conversation, kind, { ...before, ...change, at: Math.max(Date.now(), before.at + 1), isSaved: false })
  schedule(conversation, kind)
}

/** Empties a draft: what it held was sent. */
export const clearDraft = (conversation: string, kind: DraftKind): void => {
  if (draftOf(conversation, kind).value.text === '') return
  changeDraft(conversation, kind, { text: '', replyTo: undefined })
}

/** Takes over what the server has, unless this browser has something newer. */
export const loadDraft = async (conversation: string, kind: DraftKind): Promise<void> => {
  if (!draftOf(conversation, kind).peek().isSaved) return save(conversation, kind)
  const { at: before } = draftOf(conversation, kind).peek()
  try {
    const { draft: found } = await api('GET /open/conversations/:conversation_uuid/draft', {
      params: { conversation_uuid: conversation },
      query: { kind },
    })
    const current = draftOf(conversation, kind).peek()
    // Something was typed meanwhile.
    if (!current.isSaved || current.at !== before) return
    const at = found ? Date.parse(found.updated_at) : 0
    const { text = '', channel_uuid: channel, reply_to: replyTo } = found ?? {}
    set(conversation, kind, { text, channel, replyTo, at, isSaved: true })
  } catch {
    // Without a connection, this browser's draft is what there is.
  }
}

/** Begins for a person: lists the drafts that this browser has. */
export const openDrafts = (person: string): void => {
  user = person
  const prefix = `trunkline.draft.${requestContext.account}.${user}.`
  const found = new Map<string, string>()
  try {
    for (const key of Object.keys(localStorage)) {
      const [conversation = '', kind] = key.startsWith(prefix) ? key.slice(prefix.length).split('.') : []
      const { text } = kind === 'message' ? read(key) : emptyDraft
      if (text.trim() !== '') found.set(conversation, text)
    }
  } catch {
    // No storage, no drafts of this browser.
  }
  draftTexts.value = found
}
