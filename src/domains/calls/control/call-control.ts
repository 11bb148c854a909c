import { e164 } from '@trunkline/phone/phone.ts'
import type { Db, Tx } from '../../../platform/db/sql.ts'
import { recordingCipher } from '../../../platform/lib/encrypted-file.ts'
import { parse, print } from '../../../platform/lib/id.ts'
import type { VoiceCallControl, VoiceCodeEntry, VoicePlan, VoiceTarget, VoiceUser } from '../../../ports/voice.ts'
import { callerIdOf, checkTypedCode, codeDigits } from '../../callers/ops.ts'
import { findBlocked } from '../../contacts/blocking/ops.ts'
import { expiryOf, newestGeneration, sipSecret } from '../../devices/ops.ts'
import { anonymousCaller } from '../../inbox/narrowing/ops.ts'
import { calledNumber } from '../../numbers/ops.ts'
import { callPermissionOf } from '../../users/ops.ts'
import { callHeartbeatMs, maxCodeEntrySeconds, maxUnpersistedMs, ringTimeoutSeconds } from '../limits.ts'
import {
  callAnswered,
  callEnded,
  callPlaced,
  callRinging,
  type HoldShortfall,
  heartbeatCall,
  publishProgramFailed,
  publishRecordingsReady,
  type ReadyRecording,
} from '../ops.ts'
import type { QueuedCall } from '../orders/order-store.ts'
import { type PlacedOrder, planOfOrder } from '../orders/place-order.ts'
import { ProgramError } from '../programs/program.ts'
import * as recordings from '../recordings/recording-files.ts'
import { type CallRefusal, callRefusals } from '../refusals.ts'
import { find } from '../store.ts'
import { makeCallTimelines, summary } from '../timeline/call-timeline.ts'
import { makeProgramSteps } from '../timeline/program-steps.ts'
import {
  type Admission,
  type CallControlDeps,
  type CallTimelines,
  makeAdmission,
  type RunningCalls,
  refused,
} from './call-admission.ts'
import { inboundCall, outboundCall } from './call-attempt.ts'
import { callEndOf, cutReasons, type RunningCall } from './call-end-reason.ts'
import { checkDestination, countAttempt, getsRecord, limitsOf, mayStillSpend } from './call-limits.ts'
import { makePlaceChild } from './child-call.ts'
import { type Destination, findDestination } from './destination.ts'
import * as dialogs from './dialog-store.ts'
import { applicationIn, failureOf, makeAdmitProgram } from './program-admission.ts'
import { makeProgramRecordings } from './program-recordings.ts'
import { makeRegisteredUsers } from './registered-users.ts'

// Call control: admits call attempts, holds and charges money, and stores the CDRs. A platform call is a call that the
// platform itself places; its callee types a code to prove a caller ID.

export type CallControl = VoiceCallControl & {
  /** Prepares a queued call for placing: a verification call, or one of the API with its program. Returns null if the
   *  call is not allowed any more; it is then ended. */
  placeQueuedCall(call: QueuedCall): Promise<{ plan: VoicePlan; entry: VoiceCodeEntry } | { order: PlacedOrder } | null>
  /** Whether a call that runs here is answered; null if it does not run here. */
  isAnswered(call: string): boolean | null
  /** Returns the accounts of the calls that run here. */
  callingAccounts(): readonly string[]
  /** Returns users that may be registered or in a call. */
  registeredUsers(): readonly VoiceUser[]
  /** Returns registered users whose credentials were revoked. */
  revokedUsers(): Promise<readonly VoiceUser[]>
  /** Persists timeline entries that are still in memory. */
  flush(): Promise<void>
}

/** Decides on the calls of users. */
const makePlaceCall = (deps: CallControlDeps, admission: Admission): CallControl['placeCall'] => {
  const { db } = deps
  const { storeRefusal, admitCall } = admission
  const admitProgram = makeAdmitProgram(deps, admission)
  return async (request) => {
    const { person, to, from, headers } = request
    const { account, user } = person
    const limits = await limitsOf(db, account, deps.config)
    const attempts = await countAttempt(db, account)
    const { attemptsPerMinute } = limits
    const isHasty = attempts > attemptsPerMinute
    if (isHasty && !getsRecord(attempts, attemptsPerMinute))
      return refused(callRefusals.tooManyAttempts(attemptsPerMinute))
    const found = await findDestination(deps, account, to)
    const country = 'targets' in found ? found.country : ''
    const isInside = 'targets' in found && !found.isTrunk
    const isSimulated = 'targets' in found && found.isSimulated
    const proofs = { simulated: isSimulated, isSandbox: deps.sandboxAccounts.has(account) }
    // Colleagues see the user who calls, not a number that all of them share.
    const shown = isInside && from === null ? null : await callerIdOf(db, account, from, country, proofs)
    const callerId = shown?.number ?? (isInside ? print('USR', user) : '')
    const call = outboundCall(request, found, shown, callerId)
    const permission = await callPermissionOf(db, user)
    if (!permission?.may) return await storeRefusal(call, callRefusals.userNotActive())
    if (isHasty) return await storeRefusal(call, callRefusals.attemptOverLimit(attemptsPerMinute, attempts))
    if ('code' in found) return await storeRefusal(call, found)
    const barred = found.isTrunk ? checkDestination(found.to, limits.destinations) : null
    if (barred) return await storeRefusal(call, barred)
    if (callerId === '' || (from !== null && !shown)) {
      const refusal = from === null ? callRefusals.noCallerId() : callRefusals.unknownCallerId(from)
      return await storeRefusal(call, refusal)
    }
    const uncovered = callRefusals.insufficientBalance()
    const isRecorded = found.isRecorded || recordings.isRequested(headers)
    if (found.program) return await admitProgram(call, found.program, isRecorded, uncovered)
    return await admitCall(call, { callerId, targets: found.targets, isRecorded }, uncovered)
  }
}

/**
 * Returns how many calls led to one that a carrier delivers: more than none if a call of ours that rings shows the number of
 * its caller. Few carriers pass our header on.
 */
const depthOfReturned = (running: RunningCalls, caller: string): number =>
  running
    .values()
    .filter(({ isAnswered }) => !isAnswered)
    .reduce((most, { dialled }) => (dialled?.callerId === caller ? Math.max(most, dialled.depth) : most), 0)

/** Decides on the calls that trunks deliver. */
const makeReceiveCall = (
  deps: CallControlDeps,
  running: RunningCalls,
  admission: Admission,
): CallControl['receiveCall'] => {
  const { db } = deps
  const { getsCdr, storeRefusal, refuseInbound, admitCall } = admission
  const admitProgram = makeAdmitProgram(deps, admission)

  return async ({ trunk, hops = 0, ...request }) => {
    const full = callRefusals.trunkFull()
    if (request.isFull && !getsCdr(`trunk ${trunk}`)) return refused(full)
    const number = e164(request.to)
    const called = number && (await calledNumber(db, number))
    if (!called) return refused(callRefusals.unknownNumber())
    const { account_id: account, inbound_user_id: user } = called
    const call = inboundCall(request, called)
    if (request.isFull) return await storeRefusal(call, full)
    if (!called.works) return await refuseInbound(call, callRefusals.numberSuspended())
    const caller = request.from === null ? anonymousCaller : (e164(request.from) ?? request.from)
    const isBlocked = await findBlocked(db, [{ account, number: caller }])
    if (isBlocked(account, caller)) return await refuseInbound(call, callRefusals.callerBlocked())
    const permission = user ? await callPermissionOf(db, user) : null
    const targets: VoiceTarget[] = user && permission?.rings ? [{ people: [{ account, user }] }] : []
    deps.log.debug({ call: call.id, trunk }, 'calls: inbound call')
    const uncovered = callRefusals.inboundNotCovered()
    const { voice, record_inbound: isRecorded } = called
    const depth = Math.max(hops, depthOfReturned(running, caller))
    if (voice) return await admitProgram({ ...call, depth }, voice, isRecorded, uncovered)
    return await admitCall(call, { callerId: call.caller_id_used, targets, isRecorded }, uncovered)
  }
}

/** Decides on our own calls to numbers of the same account, at the side of the number: its program runs, without a price. */
const makeReceiveOwnCall = (
  deps: CallControlDeps,
  running: RunningCalls,
  admission: Admission,
): CallControl['receiveOwnCall'] => {
  const { db } = deps
  const admitProgram = makeAdmitProgram(deps, admission)
  return async ({ call: by, callId, from }) => {
    const known = running.get(by)
    const calling = known && (await find(db, known.account, by))
    if (!calling) return refused(callRefusals.closed())
    const called = await calledNumber(db, calling.to_number)
    if (!called?.works || !called.voice || called.account_id !== calling.account_id)
      return refused(callRefusals.unknownNumber())
    const facts = { asserted: null, divertedFrom: null, verstat: null, npdi: false, rn: null }
    const { depth, limited_keys } = calling
    const call = {
      ...inboundCall({ callId, from, ...facts }, called),
      ...{ depth, limited_keys, is_trunk: false, toll_free: false, rate: '0' },
    }
    const admitted = await admitProgram(call, called.voice, called.record_inbound, callRefusals.inboundNotCovered())
    const own = running.get(call.id)
    if (own) {
      own.otherSide = by
      known.otherSide = call.id
    }
    return admitted
  }
}

/** Places queued calls, and checks the codes that the callees of verification calls type. */
const makePlaceQueuedCall = (
  deps: CallControlDeps,
  running: RunningCalls,
  timelines: CallTimelines,
): CallControl['placeQueuedCall'] => {
  const { db, seal } = deps

  const findQueued = async ({ account_id: account, ...row }: QueuedCall): Promise<Destination | CallRefusal> => {
    if (row.blocked) return callRefusals.accountBlocked()
    if (row.late) return callRefusals.notPlaced()
    const found = await findDestination(deps, account, row.to_number)
    if ('code' in found) return found
    // An own number costs nothing. It was released meanwhile.
    if (found.isTrunk && !row.is_trunk) return callRefusals.unknownNumber()
    const proofs = { simulated: found.isSimulated, isSandbox: deps.sandboxAccounts.has(account) }
    const shown = await callerIdOf(db, account, row.caller_id_used, found.country, proofs)
    const isPossible = found.isTrunk || row.program !== null
    return isPossible && shown ? found : callRefusals.callerIdGone()
  }

  return async (row) => {
    const { account_id: account, id: call, to_number: number, caller_id_used: callerId, program, placement } = row
    const found = await findQueued(row)
    timelines.begin(call, account)
    const note = (text: string) => timelines.append(call, [{ at: Date.now(), leg: null, what: 'note', text }])
    const fail = async (text: string, reason: string, more: (tx: Tx) => Promise<void> = async () => {}) => {
      note(text)
      await db.begin(async (tx) => {
        await more(tx)
        await callEnded(tx, account, call, { status: 'FAILED', reason })
      })
      return null
    }
    if ('code' in found) return await fail(`${found.status} ${found.reason}`, found.code)
    const known: RunningCall = {
      ...{ account, direction: 'O', recording: null, isAnswered: false, persistedAt: performance.now() },
    }
    if (program && placement) {
      try {
        const order = await planOfOrder(deps.callPrograms, { ...row, program, placement }, found)
        await db.begin((tx) => callPlaced(tx, row))
        running.set(call, { ...known, storesRinging: true })
        return { order }
      } catch (error) {
        if (!(error instanceof ProgramError)) throw error
        return await fail(`the program cannot run: ${error.message}`, 'program_error', (tx) =>
          publishProgramFailed(tx, account, call, applicationIn(program), failureOf(error)),
        )
      }
    }
    running.set(call, known)
    note('platform call: the callee types a verification code')
    const judge = async (typed: string) => {
      const { verdict, mayRetry } = await checkTypedCode(db, seal, {
        account,
        call,
        number,
        simulated: found.isSimulated,
        typed,
      })
      note(`the code that was typed: ${verdict}`)
      if (mayRetry) return 'again'
      known.cutReason = `code_${verdict}`
      return { done: `code ${verdict}` }
    }
    const plan = {
      call,
      account,
      callerId,
      targets: found.targets,
      ringSeconds: ringTimeoutSeconds.trunk,
      record: null,
      mostSeconds: null,
    }
    return { plan, entry: { length: codeDigits, seconds: maxCodeEntrySeconds, check: judge } }
  }
}

/** Charges running calls, and stores how they end. */
const makeCallProgress = (
  deps: CallControlDeps,
  running: RunningCalls,
  timelines: CallTimelines,
): Pick<CallControl, 'answered' | 'heartbeat' | 'ended'> => {
  const { db } = deps
  const cipher = recordingCipher(deps.seal)

  /** Notes why a call is cut, and why those end with it that its program dialled, and its other side. */
  const noteCut = (call: string, why: HoldShortfall['why']) => {
    const known = running.get(call)
    if (!known || known.cutReason === why) return
    known.cutReason = why
    for (const [id, { dialled, otherSide }] of running) if (dialled?.by === call || otherSide === call) noteCut(id, why)
  }

  /** Schedules the end for when the held minutes run out, not for the next heartbeat. */
  const scheduleEnd = (call: string, known: RunningCall, { seconds, why }: HoldShortfall) => {
    clearTimeout(known.timer)
    known.timer = setTimeout(() => {
      noteCut(call, why)
      deps.hangUp(call, cutReasons[why])
    }, seconds * 1_000).unref()
  }

  return {
    answered: async (call, by, openDialogs) => {
      const known = running.get(call)
      if (!known) return refused(callRefusals.closed())
      const { account, direction } = known
      const user = direction === 'I' && by !== null && 'people' in by ? (by.people[0]?.user ?? null) : null
      const isOpen = await db.begin((tx) => callAnswered(tx, account, call, user, openDialogs))
      if (!isOpen) return refused(callRefusals.closed())
      known.isAnswered = true
      return { value: null }
    },

    heartbeat: async (call) => {
      const known = running.get(call)
      if (!known) return refused(callRefusals.closed())
      const { account } = known
      try {
        const { cut, lack } = await db.begin((tx) =>
          heartbeatCall(tx, account, call, (more) => mayStillSpend(tx, account, more, deps.config)),
        )
        known.persistedAt = performance.now()
        if (cut === 'ended') return refused(callRefusals.closed())
        if (cut !== null) {
          noteCut(call, cut)
          return refused(callRefusals.cut(cutReasons[cut], cut))
        }
        if (lack && lack.seconds * 1_000 < callHeartbeatMs) scheduleEnd(call, known, lack)
        return { value: null }
      } catch (error) {
        if (performance.now() - known.persistedAt < maxUnpersistedMs) throw error
        deps.log.error({ call, err: error }, 'calls: persistence failed for 60 s, call ended')
        return refused(callRefusals.notPersisted())
      }
    },

    ended: async (call, end) => {
      const known = running.get(call)
      if (!known) return
      const began = performance.now()
      const { account, recording } = known
      // Unfinished recordings are repaired later.
      const finished = await recordings.encryptFinished({ ...deps, cipher }, account, end.recordings)
      await db.begin(async (tx) => {
        if (recording !== null && !end.recordings.some(({ id }) => id === recording))
          await recordings.forgetRecording(tx, account, recording)
        const ready: ReadyRecording[] = []
        for (const { id, content, isEncrypted } of finished)
          if (await recordings.completeRecording(tx, account, id, content, isEncrypted))
            ready.push({ id, seconds: content.seconds, url: deps.urlOfRecording(account, id) })
        const agoMs = end.agoMs + performance.now() - began
        await callEnded(tx, account, call, callEndOf({ ...end, agoMs }, known), deps.linkOf)
        await publishRecordingsReady(tx, account, call, ready)
        await dialogs.deleteDialogs(tx, account, call)
      })
      clearTimeout(known.timer)
      timelines.appendEnd(call, summary(end))
      running.delete(call)
    },
  }
}

/** Checks the credentials of a user who registers. */
const makeAdmitUser =
  (db: Db, presence: ReturnType<typeof makeRegisteredUsers>): CallControl['admit'] =>
  async ({ username, password, identity, generation }) => {
    const user = parse('USR', identity)
    const until = expiryOf(username)
    const account = user && (await callPermissionOf(db, user))?.account
    if (!user || !account || !until) return refused(callRefusals.badCredentials())
    const person = { account, user }
    // Noted before the user's state is read, so that a suspension in between is found now or at the next check.
    presence.add({ ...person, until: until.getTime(), username, password })
    if ((await presence.password(username)) !== password) return refused(callRefusals.credentialsRevoked())
    const newest = await newestGeneration(db, account, user)
    if (generation !== null && newest !== null && generation < newest) return refused(callRefusals.newerDevice())
    // The password does not prove the generation. A future generation would lock out every later device; a missing
    // one would let an old device in.
    if (generation !== newest) return refused(callRefusals.wrongGeneration())
    const permission = await callPermissionOf(db, user)
    if (!permission?.may) return refused(callRefusals.mayNotRegister())
    return { value: { ...person, generation: generation ?? 0, until: until.getTime() } }
  }

/** Admits and rates the calls of browsers and trunks, and stores their CDRs. */
export const makeCallControl = (deps: CallControlDeps): CallControl => {
  const { db, seal } = deps
  const running: RunningCalls = new Map()
  const presence = makeRegisteredUsers(db, sipSecret(seal))
  const timelines = makeCallTimelines(db)
  const programSteps = makeProgramSteps(db)
  const admission = makeAdmission(deps, running, timelines)
  const callingAccounts = () => new Set([...running.values()].map(({ account }) => account))
  deps.callPrograms.connect({
    placeChild: makePlaceChild(deps, admission),
    recordings: makeProgramRecordings(deps),
    onStep: programSteps.add,
  })

  return {
    password: presence.password,
    admit: makeAdmitUser(db, presence),
    // A newer device of the same user has replaced it; other users may still be in a call.
    left: () => {},
    callingAccounts: () => [...callingAccounts()],
    registeredUsers: () => presence.active(callingAccounts()),
    revokedUsers: presence.revoked,

    placeCall: makePlaceCall(deps, admission),
    placeQueuedCall: makePlaceQueuedCall(deps, running, timelines),
    receiveCall: makeReceiveCall(deps, running, admission),
    receiveOwnCall: makeReceiveOwnCall(deps, running, admission),
    isAnswered: (call) => running.get(call)?.isAnswered ?? null,
    ringing: async (call) => {
      const known = running.get(call)
      if (known?.storesRinging) await db.begin((tx) => callRinging(tx, known.account, call))
    },
    ...makeCallProgress(deps, running, timelines),

    addTimelineEntries: timelines.append,
    flush: async () => {
      await programSteps.flush()
      await timelines.flush((call) => !running.has(call))
    },
  }
}
