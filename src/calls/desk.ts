import type { Logger } from 'pino'
import { callerIdOf } from '../callers/ops.ts'
import type {
  VoiceAsked,
  VoiceDesk,
  VoicePerson,
  VoicePlaced,
  VoicePlan,
  VoiceReceived,
  VoiceTarget,
} from '../connectors/voice-port.ts'
import type { Db } from '../db/sql.ts'
import { expiryOf, newestGeneration, sipSecret } from '../devices/ops.ts'
import { Problem } from '../http/problem.ts'
import type { Quotas } from '../http/quotas.ts'
import { parse, print } from '../lib/id.ts'
import { micros } from '../lib/money.ts'
import { e164 } from '../lib/phone.ts'
import type { Seal } from '../lib/secret.ts'
import { calledNumber } from '../numbers/ops.ts'
import type { Prices } from '../prices/ops.ts'
import { standingOf } from '../users/ops.ts'
import { placedCall, receivedCall } from './attempt.ts'
import { findDestination, type Refused, refuse } from './destination.ts'
import * as dialogs from './dialogs.ts'
import { endOf, longestUnwritten, type Running, spent } from './ending.ts'
import {
  countAttempt,
  isKept,
  type LimitSettings,
  limitsOf,
  makeTally,
  mayBegin,
  mayCall,
  mayStillSpend,
} from './limits.ts'
import { beatCall, beginCall, callAnswered, callEnded, type Lack, refuseCall } from './ops.ts'
import { makePresence } from './presence.ts'
import * as recordings from './recordings.ts'
import type { RecordingLink } from './shown.ts'
import type { NewCall } from './store.ts'
import { epilogue, makeStories } from './story.ts'
import type { TrunkConnection } from './trunks.ts'

export type DeskGround = {
  readonly db: Db
  readonly sandboxAccounts: { has(account: string): boolean }
  readonly seal: Seal
  readonly prices: Prices
  readonly log: Logger
  readonly config: recordings.Archive['config'] & LimitSettings
  readonly linkOf: RecordingLink
  readonly quotas: Quotas
  /** Under which calls are begun: who has a later one closes them. */
  readonly tenure: number
  /** Ends a call of this process. */
  hangUp(call: string, reason: string): void
  trunks(): readonly TrunkConnection[]
}

export type Desk = VoiceDesk & {
  /** Those who may be here, or on the telephone. */
  present(): readonly VoicePerson[]
  /** Those of them whose credentials were revoked. */
  revoked(): Promise<readonly VoicePerson[]>
  /** Writes down what calls told since the last time. */
  flush(): Promise<void>
}

/** How long browsers ring, and telephones, in seconds. */
const ringSeconds = { people: 30, trunk: 60 }

/** How often a call's life is written down, ms: what is talked out before the next time is cut by a timer. */
const beatMs = 5_000

const closed = refuse(503, '', 'The call was closed')

const refused = ({ status, reason }: Refused) => ({ refused: { status, reason } })

/** Decides what browsers and trunks may do, and writes down what they did. */
export const makeDesk = (ground: DeskGround): Desk => {
  const { db, seal } = ground
  const cipher = recordings.recordingCipher(seal)
  const running = new Map<string, Running>()
  const presence = makePresence(db, sipSecret(seal))

  const stories = makeStories(db)

  const decline = async (call: NewCall, refusal: Refused) => {
    stories.begin(call.id, call.account_id)
    stories.tell(call.id, [{ at: Date.now(), leg: null, what: 'note', text: `${refusal.status} ${refusal.reason}` }])
    await db.begin((tx) => refuseCall(tx, call, refusal.code))
    return refused(refusal)
  }

  const turnedAway = makeTally()
  /** Whether one more that comes in to a trunk or an account in vain is written down: carriers try again as fast as they are answered. */
  const isNoted = (whose: string) => isKept(turnedAway(whose), ground.config.callsPerMinute)

  const turnAway = async (call: NewCall, refusal: Refused) =>
    isNoted(call.account_id) ? await decline(call, refusal) : refused(refusal)

  /** Writes an attempt down, and lets it go on if it can be paid. @param refusal of a call that its account cannot pay */
  const begin = async (
    call: NewCall,
    plan: Pick<VoicePlan, 'callerId' | 'targets'> & { isRecorded: boolean },
    refusal: Refused,
  ): Promise<VoiceAsked<VoicePlan>> => {
    const { isRecorded, ...way } = plan
    const refuseIt = call.direction === 'I' ? turnAway : decline
    const full = isRecorded ? await ground.quotas.full(db, call.account_id) : null
    const prepared = isRecorded && !full ? await recordings.prepare(ground.config, call.account_id, call.id) : null
    const record = prepared instanceof Error ? null : prepared
    try {
      const limited = await db.begin(async (tx) => {
        const rate = call.direction === 'O' ? (micros(call.rate) ?? 0) : 0
        const limited = await mayBegin(tx, call.account_id, rate, ground.config)
        if (limited) return limited
        await beginCall(tx, { ...call, tenure: ground.tenure })
        if (record !== null) await recordings.begin(tx, call.account_id, call.id, record.home)
        return null
      })
      if (limited) return await refuseIt(call, limited)
    } catch (error) {
      if (error instanceof Problem) return await refuseIt(call, refusal)
      throw error
    }
    running.set(call.id, {
      account: call.account_id,
      direction: call.direction,
      isRecorded,
      isAnswered: false,
      writtenAt: performance.now(),
    })
    stories.begin(call.id, call.account_id)
    if (full)
      stories.tell(call.id, [{ at: Date.now(), leg: null, what: 'note', text: `not recorded: ${full.message}` }])
    if (prepared instanceof Error) {
      ground.log.error({ call: call.id, err: prepared }, 'a call is not recorded: its folder cannot be made')
      stories.tell(call.id, [
        { at: Date.now(), leg: null, what: 'note', text: 'not recorded: there is no folder for it' },
      ])
    }
    const seconds = call.is_trunk && call.direction === 'O' ? ringSeconds.trunk : ringSeconds.people
    return { value: { call: call.id, ...way, ringSeconds: seconds, record: record?.file ?? null, mostSeconds: null } }
  }

  const place = async (asked: VoicePlaced): Promise<VoiceAsked<VoicePlan>> => {
    const { person, to, from, headers } = asked
    const { account, user } = person
    const limits = await limitsOf(db, account, ground.config)
    const attempts = await countAttempt(db, account)
    const pace = `The account may try ${limits.attemptsPerMinute} calls a minute`
    const isHasty = attempts > limits.attemptsPerMinute
    if (isHasty && !isKept(attempts, limits.attemptsPerMinute)) return refused(refuse(403, '', pace))
    const found = await findDestination(ground, account, to)
    const country = 'targets' in found ? found.country : ''
    const isInside = 'targets' in found && !found.isTrunk
    const isSimulated = 'targets' in found && found.isSimulated
    // A colleague sees who calls, not a number that all of them share.
    const shown = isInside && from === null ? null : await callerIdOf(db, account, from, country, isSimulated)
    const callerId = shown?.number ?? (isInside ? print('USR', user) : '')
    const call = placedCall(asked, found, shown, callerId)
    const standing = await standingOf(db, user)
    if (!standing?.may) return await decline(call, refuse(403, 'user_inactive', 'The user is not active'))
    if (isHasty) return await decline(call, refuse(403, 'too_many_attempts', `${pace}, and this is number ${attempts}`))
    if ('code' in found) return await decline(call, found)
    const barred = found.isTrunk ? mayCall(found.to, limits.destinations) : null
    if (barred) return await decline(call, barred)
    if (callerId === '' || (from !== null && !shown)) {
      const why =
        from === null ? 'The account has no caller ID: buy or prove a number' : `${from} is no caller ID of the account`
      return await decline(call, refuse(403, 'caller_id', why))
    }
    const uncovered = refuse(402, 'balance', 'The balance does not cover a minute of this call')
    const isRecorded = found.isRecorded || recordings.isWished(headers)
    return await begin(call, { callerId, targets: found.targets, isRecorded }, uncovered)
  }

  const receive = async ({ trunk, ...asked }: VoiceReceived): Promise<VoiceAsked<VoicePlan>> => {
    const full = refuse(503, 'no_channel', 'All Channels Are Taken')
    if (asked.isFull && !isNoted(`trunk ${trunk}`)) return refused(full)
    const number = e164(asked.to)
    const called = number && (await calledNumber(db, number))
    if (!called) return refused(refuse(404, 'unknown_number', 'The number is not in use here'))
    const { account_id: account, inbound_user_id: user } = called
    const call = receivedCall(asked, called)
    if (asked.isFull) return await decline(call, full)
    if (!called.works) return await turnAway(call, refuse(480, 'number_suspended', 'The number takes no calls'))
    const standing = user ? await standingOf(db, user) : null
    const targets: VoiceTarget[] = user && standing?.may ? [{ people: [{ account, user }] }] : []
    ground.log.debug({ call: call.id, trunk }, 'a call came in')
    const uncovered = refuse(480, 'balance', 'The number takes no calls')
    return await begin(call, { callerId: call.caller_id_used, targets, isRecorded: called.record_inbound }, uncovered)
  }

  /** What this process runs of a call; null when it is over. */
  const of = (call: string) => running.get(call) ?? null

  /** At the second at which what was set aside is talked out, not at the next beat. */
  const cutLater = (call: string, known: Running, { seconds, why }: Lack) => {
    clearTimeout(known.timer)
    known.timer = setTimeout(() => {
      known.cut = why
      ground.hangUp(call, spent[why])
    }, seconds * 1_000).unref()
  }

  return {
    password: presence.password,

    admit: async ({ username, password, identity, generation }) => {
      const user = parse('USR', identity)
      const until = expiryOf(username)
      const account = user && (await standingOf(db, user))?.account
      if (!user || !account || !until) return refused(refuse(403, '', 'The credentials are unknown or have ended'))
      const person = { account, user }
      // Noted before its standing is read, and kept: whoever is suspended meanwhile is found, now or at the next look.
      presence.note({ ...person, until: until.getTime(), username, password })
      if ((await presence.password(username)) !== password)
        return refused(refuse(403, '', 'The credentials were revoked'))
      const newest = await newestGeneration(db, account, user)
      if (generation !== null && newest !== null && generation < newest)
        return refused(refuse(403, '', 'A newer device has registered'))
      // The password does not prove the generation: one of the future would lock out every device to come, and none at all would
      // let an old device in.
      if (generation !== newest)
        return refused(refuse(403, '', 'X-Device-Gen is not what was given out with the credentials'))
      const standing = await standingOf(db, user)
      if (!standing?.may) return refused(refuse(403, '', 'The user is not active, or the account is blocked'))
      return { value: { ...person, generation: generation ?? 0, until: until.getTime() } }
    },

    // A newer device of the same user is here instead; the others may still be on the telephone.
    left: () => {},
    present: () => presence.present(new Set([...running.values()].map(({ account }) => account))),
    revoked: presence.revoked,

    place,
    receive,
    ringing: async () => {},

    answered: async (call, by, kept) => {
      const known = of(call)
      if (!known) return refused(closed)
      const { account, direction } = known
      const user = direction === 'I' && 'people' in by ? (by.people[0]?.user ?? null) : null
      const isOpen = await db.begin((tx) => callAnswered(tx, account, call, user, kept))
      if (!isOpen) return refused(closed)
      known.isAnswered = true
      return { value: null }
    },

    beat: async (call) => {
      const known = of(call)
      if (!known) return refused(closed)
      const { account } = known
      try {
        const { cut, lack } = await db.begin((tx) =>
          beatCall(tx, account, call, (more) => mayStillSpend(tx, account, more, ground.config)),
        )
        known.writtenAt = performance.now()
        if (cut === 'ended') return refused(closed)
        if (cut !== null) {
          known.cut = cut
          return refused(refuse(402, cut, spent[cut]))
        }
        if (lack && lack.seconds * 1_000 < beatMs) cutLater(call, known, lack)
        return { value: null }
      } catch (error) {
        if (performance.now() - known.writtenAt < longestUnwritten) throw error
        ground.log.error({ call, err: error }, 'a call is cut that could not be written down for a minute')
        return refused(refuse(503, '', 'The call could not be written down'))
      }
    },

    ended: async (call, end) => {
      const known = of(call)
      if (!known) return
      const began = performance.now()
      const recording = known.isRecorded
        ? await recordings.encryptFinished({ ...ground, cipher }, known.account, call, end.recording)
        : 'left'
      await db.begin(async (tx) => {
        // What was left is looked for later.
        if (recording !== 'left') await recordings.finish(tx, known.account, call, recording, recording?.isEncrypted)
        const agoMs = end.agoMs + performance.now() - began
        await callEnded(tx, known.account, call, endOf({ ...end, agoMs }, known), ground.linkOf)
        await dialogs.forget(tx, known.account, call)
      })
      clearTimeout(known.timer)
      stories.tell(call, epilogue(end))
      running.delete(call)
    },

    trace: stories.tell,
    flush: () => stories.flush((call) => !running.has(call)),
  }
}
