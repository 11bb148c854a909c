import { signal } from '@preact/signals'
import { api, type ReplyOf } from '../api/client.ts'
import { asApiError } from '../api/errors.ts'
import { newIdempotencyKey, requestContext } from '../api/send.ts'
import { line } from '../live/socket.ts'
import type { Item } from './inbox-types.ts'
import {
  expire,
  isAnswerOfAnother,
  type MessageBody,
  nextToSend,
  type Outgoing,
  outcomeOf,
  outgoingOf,
  pauseAfter,
  withSeen,
} from './outbox-rules.ts'
import { forgetOutgoing, storedEntry, storedOutgoing, storeOutgoing } from './outbox-store.ts'

// Messages on their way to the server. Enter puts one here; it leaves when the server has it.

/** Every message of this person that waits, over all conversations. */
export const outgoing = signal<readonly Outgoing[]>([])

type Listeners = {
  /** The server has the message. */
  readonly onSent: (conversation: string, item: Item) => void
  /** A colleague answered meanwhile: the text goes back into the box. */
  readonly onMoved: (entry: Outgoing, items: readonly Item[]) => void
  /** Items that the page may not have. */
  readonly onNews: (conversation: string, items: readonly Item[]) => void
}

let listeners: Listeners = { onSent: () => {}, onMoved: () => {}, onNews: () => {} }
let owner = { account: '', user: '' }
let lastPlace = 0
const busy = new Set<string>()
/** Conversations in which a person decides first. */
const held = new Set<string>()
const failures = new Map<string, number>()
/** Requests that are on their way: one ends when the person takes its message back. */
const requests = new Map<string, AbortController>()
/** Messages of this page that it has not tried to send. */
const untried = new Set<string>()
/** The last item that was sent, and when: whatever came before it was checked with it. */
const lastSent = new Map<string, { readonly item: string; readonly at: number }>()

const put = (entry: Outgoing): void => {
  outgoing.value = [...outgoing.value.filter(({ id }) => id !== entry.id), entry]
  void storeOutgoing(entry)
}

const remove = (id: string): void => {
  untried.delete(id)
  outgoing.value = outgoing.value.filter((entry) => entry.id !== id)
  void forgetOutgoing(id)
}

const request = (
  entry: Outgoing,
  signal: AbortSignal,
): Promise<ReplyOf<'POST /open/conversations/:conversation_uuid/messages'>> =>
  api(
    'POST /open/conversations/:conversation_uuid/messages',
    { params: { conversation_uuid: entry.conversation }, body: entry.body },
    { idempotencyKey: entry.id, account: entry.account, signal },
  )

/** The body of the first request of a message. Each later one repeats it: the server refuses another under its key. */
const firstBody = ({ conversation, at, body }: Outgoing): MessageBody => {
  // A message that was written since states itself what its author has seen.
  const before = lastSent.get(conversation)
  return before && at <= before.at ? withSeen(body, { seen: before.item, seen_answer: before.item }) : body
}

/** False if the message was taken back meanwhile, or the page shows another account: that one keeps it. */
const isHere = ({ id }: Outgoing): boolean => outgoing.value.some((entry) => entry.id === id)

/** Sends one message. Returns false if the queue of the conversation must wait. */
const sendOne = async (next: Outgoing): Promise<boolean> => {
  // Only one tab sends a message. The store is not asked about one that this page has not tried yet. Where locks are
  // missing (plain HTTP), the key alone makes a second request harmless.
  const stored = untried.delete(next.id) ? next : await storedEntry(next)
  if (!stored) {
    outgoing.value = outgoing.value.filter(({ id }) => id !== next.id)
    return true
  }
  if (!isHere(next)) return true
  const entry: Outgoing = stored.isTried ? stored : { ...stored, body: firstBody(stored), isTried: true }
  put({ ...entry, state: 'sending' })
  const controller = new AbortController()
  requests.set(entry.id, controller)
  try {
    const { item } = await request(entry, controller.signal)
    failures.delete(entry.conversation)
    lastSent.set(entry.conversation, { item: item.uuid, at: Date.now() })
    if (owner.account === entry.account) listeners.onSent(entry.conversation, item)
    remove(entry.id)
    return true
  } catch (thrown) {
    if (!isHere(entry)) return true
    const error = asApiError(thrown)
    const refusal = { status: error.status, code: error.code, message: error.message }
    const outcome = outcomeOf(refusal)
    if (outcome === 'moved') {
      const { items = [] } = error.body as { items?: readonly Item[] } // as the contract says
      listeners.onNews(entry.conversation, items)
      remove(entry.id)
      const [newest] = items
      if (newest && !items.some((item) => isAnswerOfAnother(item, owner.user))) {
        // The person wrote again meanwhile: no colleague has answered, so the text goes, behind what came.
        put({
          ...entry,
          id: newIdempotencyKey(),
          isTried: false,
          state: 'waiting',
          body: { ...entry.body, seen: newest.uuid },
        })
        return true
      }
      held.add(entry.conversation)
      listeners.onMoved(entry, items)
    } else if (outcome === 'refused') put({ ...entry, state: 'refused', refusal })
    else {
      put({ ...entry, state: 'waiting' })
      const count = failures.get(entry.conversation) ?? 0
      failures.set(entry.conversation, count + 1)
      setTimeout(() => void pump(entry.conversation), pauseAfter(count))
    }
    return false
  } finally {
    requests.delete(entry.id)
  }
}

const locked = async (conversation: string, act: () => Promise<void>): Promise<void> => {
  // Browsers offer locks on secure origins only.
  if (!navigator.locks) return act()
  await navigator.locks.request(`trunkline.outbox.${conversation}`, act)
}

/** Shows which messages have waited too long: the person decides about them. */
const markExpired = (): void => {
  const next = expire(outgoing.value, Date.now())
  if (next.some((entry, index) => entry !== outgoing.value[index])) outgoing.value = next
}

/** Sends what waits in a conversation, in order. */
const pump = async (conversation: string): Promise<void> => {
  markExpired()
  if (busy.has(conversation) || held.has(conversation)) return
  busy.add(conversation)
  try {
    await locked(conversation, async () => {
      for (;;) {
        const entry = nextToSend(outgoing.value, conversation, Date.now())
        if (!entry || held.has(conversation) || !(await sendOne(entry))) return
      }
    })
  } finally {
    // From here on another tab may send what waits.
    for (const { id } of outgoingOf(outgoing.value, conversation)) untried.delete(id)
    busy.delete(conversation)
  }
}

const pumpAll = (): void => {
  for (const conversation of new Set(outgoing.value.map((entry) => entry.conversation))) void pump(conversation)
}

/** Lets the messages that wait in a conversation go with the next one: the person has seen as much for all of them. */
const decide = (conversation: string, decided: MessageBody): void => {
  for (const entry of outgoingOf(outgoing.value, conversation))
    if (entry.state === 'waiting' && !entry.isTried) put({ ...entry, body: withSeen(entry.body, decided) })
}

/** Puts a message on its way. */
export const sendMessage = (conversation: string, body: MessageBody, file?: Outgoing['file']): void => {
  lastPlace = Math.max(lastPlace + 1, Date.now())
  if (held.delete(conversation)) decide(conversation, body)
  const id = newIdempotencyKey()
  untried.add(id)
  put({
    id,
    ...owner,
    conversation,
    at: Date.now(),
    place: lastPlace,
    body,
    state: 'waiting',
    file,
  })
  void pump(conversation)
}

/** Takes a message back that is not on its way. Returns it, or undefined if it is too late. */
export const takeBack = (id: string): Outgoing | undefined => {
  const entry = outgoing.value.find((each) => each.id === id)
  if (!entry || (entry.state === 'sending' && navigator.onLine && line.value.state !== 'lost')) return undefined
  remove(id)
  requests.get(id)?.abort()
  void pump(entry.conversation)
  return entry
}

/**
 * Sends a message again under a new key: the server may have forgotten the old one.
 * @param seen the newest messages that the person has seen by now
 */
export const sendOutgoingAgain = (id: string, seen: Pick<MessageBody, 'seen' | 'seen_answer'>): void => {
  const entry = outgoing.value.find((each) => each.id === id)
  if (!entry) return
  remove(id)
  const body = { ...entry.body, ...seen }
  put({ ...entry, body, id: newIdempotencyKey(), isTried: false, at: Date.now(), state: 'waiting', refusal: undefined })
  void pump(entry.conversation)
}

/** Lets the next messages of a conversation go: the person has decided about the one that came back. */
export const releaseHeld = (conversation: string): void => {
  if (held.delete(conversation)) void pump(conversation)
}

/** Begins for a person in an account: what an earlier page left is sent now. */
export const openOutbox = async (user: string, ownListeners: Listeners): Promise<void> => {
  listeners = ownListeners
  const { account } = requestContext
  if (owner.account === account && owner.user === user) return
  owner = { account, user }
  const stored = await storedOutgoing()
  const own = stored.filter((entry) => entry.account === account && entry.user === user)
  const known = new Set(outgoing.value.map(({ id }) => id))
  outgoing.value = [
    ...outgoing.value.filter((entry) => entry.account === account && entry.user === user),
    ...own
      .filter(({ id }) => !known.has(id))
      .map((entry): Outgoing => (entry.state === 'sending' ? { ...entry, state: 'waiting' } : entry)),
  ]
  pumpAll()
}

line.subscribe(({ state }) => {
  if (state === 'open') pumpAll()
})
addEventListener('online', pumpAll)
