import type { Sql } from '../../../platform/db/sql.ts'
import { print, uuid } from '../../../platform/lib/id.ts'
import type { VoiceDecision, VoicePlan } from '../../../ports/voice.ts'
import { callerIdOf, type UsableCallerId } from '../../callers/ops.ts'
import { userByIdentity } from '../../users/ops.ts'
import { maxCallDepth, maxChildSeconds, ringTimeoutSeconds } from '../limits.ts'
import { programCallOf } from '../orders/program-call.ts'
import type { ProgramCall } from '../programs/program.ts'
import type { PlacedChild } from '../programs/program-deps.ts'
import type { CallCallbacks } from '../programs/program-source.ts'
import type { VerbOf } from '../programs/verbs.ts'
import { type CallRefusal, callRefusals } from '../refusals.ts'
import { type CallRow, find, type NewCall } from '../store.ts'
import type { Admission, CallControlDeps } from './call-admission.ts'
import { checkDestination, countAttempt, getsRecord, limitsOf } from './call-limits.ts'
import { type Destination, findDestination } from './destination.ts'

type Dial = VerbOf<'dial'>

/** The digits or the printed user that a `dial` names. A user is named by id or e-mail address. */
const dialledOf = async (sql: Sql, account: string, { targets: [target] }: Dial): Promise<string> => {
  if (!target) return ''
  if ('number' in target) return target.number
  const user = await userByIdentity(sql, account, target.user_uuid)
  return user === null ? target.user_uuid : print('USR', user)
}

const failed = ({ status, reason }: CallRefusal): PlacedChild => ({ failed: status, reason })

const childCall = (
  parent: CallRow,
  found: Destination | CallRefusal,
  dialled: string,
  { id, number, virtual_number_id }: Partial<UsableCallerId>,
  callbacks: CallCallbacks | null,
): NewCall => {
  const nowhere = { to: dialled.slice(0, 64), country: '', isTrunk: false, isTollFree: false, rate: '0' }
  const where = 'targets' in found ? found : nowhere
  const call = uuid()
  return {
    ...{ account_id: parent.account_id, id: call, callid: call, direction: 'O', user_id: null, from_number: null },
    ...{ to_number: where.to, iso_country_code: where.country, is_msgapp: false, is_trunk: where.isTrunk },
    ...{ caller_id: id ?? null, caller_id_used: number ?? '', virtual_number_id: virtual_number_id ?? null },
    ...{ toll_free: where.isTollFree, rate: where.rate, origin: 'dial', parent_id: parent.id },
    // Each call counts for the key that made the first one.
    limited_keys: parent.limited_keys,
    depth: parent.depth + 1,
    forwarded: where.isTrunk && parent.direction === 'I',
    // Its ringing is a status of its own where statuses are reported.
    ...(callbacks ? { callbacks, status: 'QUEUED' } : {}),
  }
}

/**
 * Decides on the calls that programs dial, by the rules of the calls of users: limits, destinations, caller ID and balance.
 * Each is a call of its own. A refused one is stored, and is a result of the `dial`.
 */
export const makePlaceChild =
  (deps: CallControlDeps, { storeRefusal, admitCall }: Admission) =>
  async (
    { account, id, from, to, origin, tags }: ProgramCall,
    dial: Dial,
    callbacks: CallCallbacks | null,
  ): Promise<PlacedChild> => {
    const { db } = deps
    const parent = await find(db, account, id)
    if (!parent) return failed(callRefusals.closed())
    const limits = await limitsOf(db, account, deps.config)
    const attempts = await countAttempt(db, account)
    const isHasty = attempts > limits.attemptsPerMinute
    if (isHasty && !getsRecord(attempts, limits.attemptsPerMinute))
      return failed(callRefusals.tooManyAttempts(limits.attemptsPerMinute))
    const dialled = await dialledOf(db, account, dial)
    const found = await findDestination(deps, account, dialled)
    const proofs = {
      simulated: 'targets' in found && found.isSimulated,
      isSandbox: deps.sandboxAccounts.has(account),
    }
    const isToNumber = origin === 'trunk' || origin === 'device'
    // The number of the account that the call came to, or was made with.
    const own = isToNumber ? to : from
    const shown = await callerIdOf(db, account, dial.caller_id ?? own, 'targets' in found ? found.country : '', proofs)
    const call = childCall(parent, found, dialled, shown ?? {}, callbacks)
    const refuse = async (refusal: CallRefusal): Promise<PlacedChild> => {
      await storeRefusal(call, refusal)
      return failed(refusal)
    }
    if (call.depth !== undefined && call.depth >= maxCallDepth) return await refuse(callRefusals.tooDeep(maxCallDepth))
    if (isHasty) return await refuse(callRefusals.attemptOverLimit(limits.attemptsPerMinute, attempts))
    if ('code' in found) return await refuse(found)
    const barred = found.isTrunk ? checkDestination(found.to, limits.destinations) : null
    if (barred) return await refuse(barred)
    if (!shown) return await refuse(callRefusals.unknownCallerId(dial.caller_id ?? own))
    const isRecorded = (found.isRecorded && !found.program) || dial.record === 'from_answer'
    // Colleagues see who calls.
    const callerId = found.isTrunk || !isToNumber ? shown.number : from
    const decided: VoiceDecision<VoicePlan> = await admitCall(
      call,
      { callerId, targets: found.targets, isRecorded },
      callRefusals.insufficientBalance(),
    )
    if ('refused' in decided) return { failed: decided.refused.status, reason: decided.refused.reason }
    return {
      call: programCallOf({ ...call, status: 'RINGING' }, tags),
      plan: {
        ...decided.value,
        ringSeconds: dial.timeout ?? ringTimeoutSeconds.dial,
        mostSeconds: dial.max_seconds ?? maxChildSeconds,
        hops: parent.depth + 1,
      },
    }
  }
