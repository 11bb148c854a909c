import type { Sql } from '../../platform/db/sql.ts'
import { print } from '../../platform/lib/id.ts'
import type { LivePerson } from './contract.ts'
import { maxPeople } from './limits.ts'
import type { LiveSession } from './live-session.ts'
import * as store from './presence-store.ts'

/** Conversations of a subscription. */
export const conversationsOf = (session: LiveSession): string[] =>
  [...(session.subscription()?.topics ?? [])].flatMap((topic) =>
    topic.startsWith('conversation:CNV') ? [topic.slice('conversation:CNV'.length)] : [],
  )

/**
 * Makes the function that reads the people of followed conversations and sends each page those that changed. A read in
 * progress is followed by another.
 */
export const makePeopleReader = (
  sql: Sql,
  sessions: () => readonly LiveSession[],
  onError: (error: unknown) => void,
) => {
  /** The people that each page was sent, by conversation. */
  const sent = new WeakMap<LiveSession, Map<string, string>>()
  let looking: Promise<void> | null = null
  let looksAgain = false

  const show = (session: LiveSession, conversation: string, people: readonly LivePerson[]) => {
    const known = sent.get(session) ?? new Map<string, string>()
    const text = JSON.stringify(people)
    if (known.get(conversation) === text) return
    known.set(conversation, text)
    sent.set(session, known)
    session.send({ type: 'presence', conversation: print('CNV', conversation), people })
  }

  const readPeople = async () => {
    const followed = sessions().flatMap((session) => {
      const account = session.subscription()?.account
      const conversations = conversationsOf(session)
      const known = sent.get(session)
      for (const id of known?.keys() ?? []) if (!conversations.includes(id)) known?.delete(id)
      return account ? conversations.map((conversation) => ({ session, account, conversation })) : []
    })
    if (followed.length === 0) return
    const distinct = [...new Map(followed.map((row) => [row.conversation, row])).values()]
    const rows = await store.peopleOf(
      sql,
      distinct.map(({ account }) => account),
      distinct.map(({ conversation }) => conversation),
      maxPeople,
    )
    const people = Map.groupBy(rows, ({ conversation_id }) => conversation_id)
    for (const { session, account, conversation } of followed) {
      // The subscription may have changed meanwhile.
      if (session.subscription()?.account !== account || !conversationsOf(session).includes(conversation)) continue
      const others = (people.get(conversation) ?? []).filter(({ user_id }) => user_id !== session.member()?.user)
      show(
        session,
        conversation,
        others.map(({ user_id, name, state }) => ({
          user_uuid: print('USR', user_id),
          name,
          state: state === 'typing' ? 'typing' : 'viewing',
        })),
      )
    }
  }

  return (): Promise<void> => {
    looksAgain = true
    const run = async () => {
      while (looksAgain) {
        looksAgain = false
        await readPeople()
      }
    }
    looking ??= run()
      .catch(onError)
      .finally(() => {
        looking = null
      })
    return looking
  }
}
