import type { Db } from '../../platform/db/sql.ts'
import { backoff, type Job, type JobKind, Retry } from '../../platform/jobs/job-kind.ts'
import { enqueueAll } from '../../platform/jobs/queue.ts'
import type { Schedule } from '../../platform/jobs/schedule.ts'
import type { Services } from '../../services.ts'
import { isAnswering } from '../accounts/ops.ts'
import { concurrency, deliveryLimits, shownDays, ttlSeconds } from './limits.ts'
import { type DeliverPayload, deliverKind, type Notice, type PlanPayload, planKind } from './ops.ts'
import { makePushSender, type PushMessage, type PushOutcome } from './push-sender.ts'
import { choicesOf, isQuiet, type NoticeKind } from './quiet-hours.ts'
import * as store from './store.ts'

const choiceOf: { readonly [kind in Notice['kind']]: NoticeKind } = {
  message: 'messages',
  mention: 'mentions',
  missed_call: 'calls',
  call: 'calls',
}

/** Members to notify: null for all who answer, empty if there is no reason any more. */
type Audience = Pick<Notice, 'users' | 'item'>

/** Returns whom a notice is for, and of what. Messages of a burst share a notice: its item is then the last of them. */
const audienceOf = async (db: Db, account: string, { kind, subject, item, users }: Notice): Promise<Audience> => {
  if (users !== null) return { users, item }
  if (kind === 'call') {
    const user = (await store.ringingCall(db, account, subject))?.inbound_user_id
    return { users: user ? [user] : [], item }
  }
  const state = await store.conversationState(db, account, subject)
  // A person has answered meanwhile.
  if (!state || state.waiting_since === null) return { users: [], item }
  return {
    users: state.assignee_id === null ? null : [state.assignee_id],
    item: state.last_inbound !== null && state.last_inbound > item ? state.last_inbound : item,
  }
}

/** Browsers to notify, and the item of which. */
type Plan = { readonly browsers: readonly string[]; readonly item: string }

/** Returns the browsers to notify now. */
const planOf = async (db: Db, account: string, notice: Notice, now: Date): Promise<Plan> => {
  if (notice.users === null) await store.unmarkPending(db, account, notice.subject, notice.kind)
  const { users, item } = await audienceOf(db, account, notice)
  if (users?.length === 0 || !(await isAnswering(db, account, now))) return { browsers: [], item }
  const found = await store.recipients(db, { account, subject: notice.subject, item, users })
  const browsers = found
    .filter(({ preferences, timezone }) => {
      const choices = choicesOf(preferences, timezone)
      return choices.isOn[choiceOf[notice.kind]] && !isQuiet(choices, now)
    })
    .map(({ id }) => id)
  return { browsers, item }
}

type DeliverJob = Job<DeliverPayload>

/** Returns what a browser is sent; null if there is no reason any more. */
const messageOf = async (
  db: Db,
  { payload, account, createdAt }: DeliverJob,
  subscription: store.SubscriptionRow,
  now: number,
): Promise<PushMessage | null> => {
  const { kind, subject, item } = payload
  const ttl = ttlSeconds[kind] - Math.floor((now - createdAt.getTime()) / 1_000)
  if (ttl <= 0) return null
  if (kind === 'test') return { kind, ttl }
  if (account === null || subject === null) return null
  if (kind === 'close') return { kind, ttl, account, subject }
  const { person_id: person, id } = subscription
  const count = (await store.countShown(db, id, subject)) + 1
  if (kind === 'call') {
    const call = await store.ringingCall(db, account, subject)
    const name = call?.push_names ? (call.name ?? call.from_number) : null
    return call && { kind, ttl, account, subject, count, ...(name ? { name } : {}) }
  }
  if (item !== null && (await store.hasRead(db, { account, conversation: subject, item, person }))) return null
  const state = await store.conversationState(db, account, subject)
  return state && { kind, ttl, account, subject, count, ...(state.push_names ? { name: state.name } : {}) }
}

type Result = PushOutcome | { readonly outcome: 'dropped' }

/** Jobs of notifications. */
export const pushJobs = (services: Services): JobKind[] => {
  const { db, clock, countPush: count, log } = services
  const send = makePushSender(services)

  const plan: JobKind<PlanPayload, Plan> = {
    kind: planKind,
    concurrency: 4,
    leaseSeconds: 30,
    maxAttempts: 5,
    fair: true,
    run: ({ account, payload }) =>
      account === null
        ? Promise.resolve({ browsers: [], item: payload.item })
        : planOf(db, account, payload, new Date(clock.now())),
    onComplete: async (tx, done) => {
      const jobs = done.flatMap(({ job: { account, payload }, result }) =>
        result.browsers.map((subscription) => ({
          payload: {
            ...{ subscription, kind: payload.kind, subject: payload.subject, item: result.item },
          } satisfies DeliverPayload,
          account,
        })),
      )
      if (jobs.length > 0)
        await enqueueAll(
          tx,
          deliverKind,
          jobs.map(({ payload, account }) => ({ payload, ...(account ? { account } : {}) })),
        )
    },
  }

  const deliver: JobKind<DeliverPayload, Result> = {
    kind: deliverKind,
    concurrency,
    batch: concurrency,
    leaseSeconds: 60,
    maxAttempts: deliveryLimits.attempts,
    fair: true,
    run: async (job, signal) => {
      const subscription = await store.find(db, job.payload.subscription)
      const message = subscription && (await messageOf(db, job, subscription, clock.now()))
      if (!subscription || !message) return { outcome: 'dropped' }
      const result = await send(subscription, message, signal)
      if (result.outcome !== 'retry') return result
      if (job.attempt >= deliveryLimits.attempts) return { outcome: 'failed', reason: result.reason }
      throw new Retry(result.reason, Math.min(deliveryLimits.maxRetryAfter, result.seconds ?? backoff(job.attempt)))
    },
    onComplete: async (tx, done) => {
      const outcomes = new Map<string, string | null>()
      const shown: store.ShownNotice[] = []
      const gone: string[] = []
      for (const { job, result } of done) {
        const { subscription, kind, subject, item } = job.payload
        if (result.outcome === 'gone') gone.push(subscription)
        if (result.outcome === 'failed') outcomes.set(subscription, result.reason)
        if (result.outcome === 'delivered') outcomes.set(subscription, null)
        if (result.outcome === 'delivered' && kind !== 'close' && subject && item && job.account)
          shown.push({ subscription, account: job.account, subject, item })
      }
      if (shown.length > 0) await store.addShown(tx, shown)
      if (outcomes.size > 0) await store.noteOutcomes(tx, outcomes)
      if (gone.length > 0) await store.removeAll(tx, gone)
      tx.afterCommit(() => {
        for (const { job, result } of done) {
          count({ outcome: result.outcome })
          if (result.outcome === 'failed')
            log.warn({ subscription: job.payload.subscription, reason: result.reason }, 'push: delivery failed')
        }
      })
    },
  }
  // All jobs of these kinds were added by ops.ts, routes.ts and the plan above.
  return [plan as JobKind, deliver as JobKind]
}

/** Schedule that deletes the browsers of ended sessions. */
export const purgePush: Schedule = {
  name: 'forget-push-subscriptions',
  every: 3_600,
  run: (tx) => store.purge(tx, shownDays),
}
