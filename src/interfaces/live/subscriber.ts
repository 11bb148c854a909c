import type { FastifyRequest } from 'fastify'
import { contentsOf } from '../../domains/inbox/narrowing/ops.ts'
import { refusals as webhookRefusals } from '../../domains/webhooks/refusals.ts'
import { type AuditActor, auditVisit } from '../../platform/http/audit.ts'
import { blockedRefusal, keyRefusal } from '../../platform/http/auth.ts'
import { Problem, refuse } from '../../platform/http/problem.ts'
import type { Session, SessionAccount } from '../../platform/http/session.ts'
import { print } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import type { LiveTopic } from './contract.ts'
import { maxSocketsOfAccount, maxTopicsOfKind } from './limits.ts'
import type { LiveSession, Subscription } from './live-session.ts'
import { callOf, type NarrowingWatch } from './narrowing-watch.ts'
import { refusals } from './refusals.ts'
import * as store from './store.ts'
import { mayFollow, parseTopic, showsTexts, type Topic } from './topics.ts'

/** The request of a page. `recorded`: accounts whose texts the page of an operator follows, as the audit trail has it. */
export type Visitor = Pick<FastifyRequest, 'ip' | 'id' | 'headers'> & { readonly recorded: Set<string> }

type Subscriber = { readonly session: Session; readonly visitor: Visitor; readonly page: LiveSession }

const refuseTopic = (page: LiveSession, topic: string, error: unknown) => {
  if (!(error instanceof Problem)) throw error
  page.send({ type: 'refused', topic, error_code: error.code, error_message: error.message })
}

type Deps = Pick<Services, 'db' | 'sessions'> & {
  readonly openPages: () => readonly LiveSession[]
  readonly narrowing: NarrowingWatch
}

/** Makes the function that checks what a page asks to follow. */
export const makeSubscriber = ({ db, sessions, openPages, narrowing }: Deps) => {
  /** Checks one topic. @throws Problem */
  const checkTopic = async (
    text: string,
    { account, key, userId }: SessionAccount,
    isNarrowed: boolean,
  ): Promise<Topic> => {
    const topic = parseTopic(text) ?? refuse(refusals.unknownTopic(text))
    const { kind, id } = topic
    if (!mayFollow(topic, key.scopes)) throw refusals.topicNotAllowed(topic.name)
    if (kind === 'webhook' && !(await store.hasWebhook(db, account.id, id)))
      throw webhookRefusals.unknownWebhook(print('WHK', id))
    if (kind === 'conversation' && !(await store.hasConversation(db, account.id, id, { isNarrowed, user: userId })))
      throw refusals.unknownConversation(print('CNV', id))
    return topic
  }

  /** @throws Problem if the session may not act for the account */
  const enter = async (session: Session, printed: string, address: string): Promise<SessionAccount> => {
    const entered = await sessions.accountOf(session, printed)
    if (entered.account.blocked) throw blockedRefusal(entered.account)
    const refusal = keyRefusal(entered.key, { ip: address })
    if (refusal) throw refusal
    return entered
  }

  /** Records once for each page and account that an operator who is no member follows texts. */
  const recordReading = async (session: Session, { account }: SessionAccount, visitor: Visitor): Promise<void> => {
    if (visitor.recorded.has(account.id)) return
    const { person, operator } = session
    const actor: AuditActor = person
      ? { kind: 'operator_person', id: person.id, label: person.name, lastFour: null }
      : {
          kind: 'operator',
          id: operator?.id ?? null,
          label: operator?.label ?? '',
          lastFour: operator?.lastFour ?? null,
        }
    await db.begin((tx) =>
      auditVisit(tx, visitor, 'followInbox', actor, { accounts: [account.id], session: session.id }),
    )
    visitor.recorded.add(account.id)
  }

  /** Returns the topics that a page may follow of those it asked for; null if it may not act for the account. */
  return async (
    { session, visitor, page }: Subscriber,
    printed: string,
    texts: readonly string[],
  ): Promise<Subscription | null> => {
    try {
      const entered = await enter(session, printed, visitor.ip)
      const { id } = entered.account
      const isNew = page.subscription()?.account !== id
      const followers = openPages().filter((other) => other.subscription()?.account === id)
      if (isNew && followers.length >= maxSocketsOfAccount) throw refusals.tooManySockets(maxSocketsOfAccount)
      const isPartial = await narrowing.isNarrowed(entered)
      const topics = new Map<LiveTopic, Topic>()
      for (const text of new Set(texts))
        try {
          const topic = await checkTopic(text, entered, isPartial)
          const most = maxTopicsOfKind[topic.kind]
          const ofKind = [...topics.values()].filter(({ kind }) => kind === topic.kind)
          if (ofKind.length >= most) throw refusals.tooManyTopics(most)
          topics.set(topic.name, topic)
        } catch (error) {
          refuseTopic(page, text, error)
        }
      if (entered.isOperator && [...topics.keys()].some(showsTexts)) await recordReading(session, entered, visitor)
      const member = entered.userId && session.person ? { user: entered.userId, person: session.person.id } : null
      return {
        account: id,
        topics: new Set(topics.keys()),
        member,
        isNarrowed: isPartial,
        contents: await contentsOf(db, callOf(entered)),
      }
    } catch (error) {
      for (const text of new Set(texts)) refuseTopic(page, text, error)
      return null
    }
  }
}
