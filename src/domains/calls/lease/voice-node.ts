import type { Logger } from 'pino'
import type { Config } from '../../../config.ts'
import type { Db } from '../../../platform/db/sql.ts'
import type { Quotas } from '../../../platform/http/quotas.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import type { VoiceCallControl, VoiceGateway, VoiceTrunkChange } from '../../../ports/voice.ts'
import { blockedAccounts } from '../../accounts/ops.ts'
import type { Prices } from '../../prices/ops.ts'
import { findBarred } from '../../users/ops.ts'
import type { RecordingLink } from '../call-presenter.ts'
import { type CallControl, makeCallControl } from '../control/call-control.ts'
import * as dialogs from '../control/dialog-store.ts'
import type { TrunkConnection } from '../control/trunk-selection.ts'
import { maxPlacedPerClaim, maxQueuedSeconds, recoveryBatchSize, waitingRetryMs } from '../limits.ts'
import { closeEarlierEpochs } from '../ops.ts'
import type { CallPrograms } from '../orders/call-programs.ts'
import { makeCommandRunner } from '../orders/command-runner.ts'
import { claimQueued, nextDue, type QueuedCall } from '../orders/order-store.ts'
import { noProgram, notAnswered } from '../programs/call-command.ts'
import * as store from '../store.ts'
import { startVoiceDrivers, type VoiceDrivers } from './voice-drivers.ts'

/** Gateway and media engine of the process that holds the lease. */
export type VoiceNode = VoiceDrivers & {
  /** Epoch of the lease under which the node was opened. */
  readonly epoch: number
  /** Drops registrations of suspended users and revoked credentials, and ends the calls of suspended users and blocked
   *  accounts. Runs on change and periodically, as a user may register, and a call start, during a check. */
  checkUsers(): Promise<void>
  /** Ends calls with a hang-up request. Runs on request and periodically, as a starting call cannot be ended yet. */
  hangUp(): Promise<void>
  /** Places queued calls that are due. Runs on request and periodically, and when the next one is due. */
  placeQueued(): Promise<void>
  /** Executes commands on calls. Runs on request and periodically. */
  runCommands(): Promise<void>
  /** Closes the records of earlier epochs and sends BYE for their open dialogs. */
  recover(): Promise<void>
  /** Persists the timelines of calls. */
  flush(): Promise<void>
  /** Stops new calls and ends current ones after `graceMs`. @param isSuperseded another process runs the calls now */
  close(graceMs: number, isSuperseded?: boolean): Promise<void>
}

export type VoiceNodeDeps = {
  readonly db: Db
  readonly sandboxAccounts: { has(account: string): boolean }
  readonly seal: Seal
  readonly prices: Prices
  readonly quotas: Quotas
  readonly config: Config
  readonly log: Logger
  readonly linkOf: RecordingLink
  readonly urlOfRecording: (account: string, recording: string) => string
  readonly callPrograms: CallPrograms
  /** Host name by which browsers reach us. */
  readonly host: string
  /** Epoch of the lease. */
  readonly epoch: number
  isHeld(): boolean
  trunks(): readonly TrunkConnection[]
}

const runsElsewhere = { refused: { status: 503, reason: 'Calls are run by another process' } }

/** Refuses new calls once another process may run them. Current calls go on; the new holder closes their records. */
const refuseUnlessHeld = (callControl: CallControl, isHeld: () => boolean): VoiceCallControl => ({
  ...callControl,
  placeCall: async (call) => (isHeld() ? callControl.placeCall(call) : runsElsewhere),
  receiveCall: async (call) => (isHeld() ? callControl.receiveCall(call) : runsElsewhere),
  receiveOwnCall: async (call) => (isHeld() ? callControl.receiveOwnCall(call) : runsElsewhere),
})

/** Opens the ports and closes the calls of earlier epochs. @throws Error as `startVoiceDrivers` */
export const openVoiceNode = async (deps: VoiceNodeDeps): Promise<VoiceNode> => {
  const { db, seal, config, log, host, epoch } = deps
  const fault = (error: unknown) => log.error({ err: error }, 'voice: unhandled error')
  const trunkChanged = ({ name: connection, what, reason }: VoiceTrunkChange) => {
    if (reason === null) log.info({ connection }, `sip-trunk: ${what}`)
    else log.warn({ connection, reason }, `sip-trunk: ${what}`)
  }
  let gateway: VoiceGateway | null = null
  const control = makeCallControl({
    ...deps,
    hangUp: (call, reason) => void gateway?.hangUp(call, reason).catch(fault),
  })
  const closeLeft = async () => {
    while ((await db.begin((tx) => closeEarlierEpochs(tx, epoch, recoveryBatchSize))) > 0);
  }
  const secret = seal.derive('sip nonces').toString('base64')
  const drivers = await startVoiceDrivers(
    config,
    { callControl: refuseUnlessHeld(control, deps.isHeld), secret, fault, trunkChanged },
    host,
  )
  gateway = drivers.gateway
  // Only a process that can run calls may close those of earlier epochs.
  await closeLeft().catch(fault)

  const releaseDialogs = async ({ account_id, call_id, dialogs: left }: dialogs.LeftDialogs) => {
    const released = await drivers.gateway.releaseDialogs(left.list)
    log.info({ call: call_id, told: released }, 'voice: ended a call left open by a crash')
    await dialogs.deleteDialogs(db, account_id, call_id)
  }

  let closed: Promise<void> | null = null
  const close = async (milliseconds: number, isTaken: boolean) => {
    await drivers.gateway.close(milliseconds, isTaken)
    await drivers.media.close()
    await control.flush().catch(fault)
  }

  const checkAccounts = async () => {
    const accounts = control.callingAccounts()
    if (accounts.length > 0) await drivers.gateway.endCallsOf(await blockedAccounts(db, accounts))
  }

  const checkPeople = async () => {
    const people = control.registeredUsers()
    if (people.length === 0) return
    const barred = new Set(
      await findBarred(
        db,
        people.map(({ user }) => user),
      ),
    )
    const gone = people.filter(({ user }) => barred.has(user))
    await drivers.gateway.dropRegistrations(gone, 'suspended', true)
    await drivers.gateway.dropRegistrations(await control.revokedUsers(), 'expired', true)
  }

  const lookOnce = async () => {
    await checkPeople()
    await checkAccounts()
  }
  let isDue = false
  let looking: Promise<void> | null = null
  /** Runs one check at a time, and one more for changes that came meanwhile. */
  const look = () => {
    isDue = true
    const work = async () => {
      while (isDue) {
        isDue = false
        await lookOnce()
      }
    }
    looking ??= work().finally(() => {
      looking = null
    })
    return looking
  }

  /** Claims under way, and calls that were claimed and do not run yet: commands wait for them. */
  const claims = new Set<Promise<unknown>>()
  const beginning = new Map<string, Promise<unknown>>()
  const placeOne = async (row: QueuedCall) => {
    const begun = control.placeQueuedCall(row).finally(() => beginning.delete(row.id))
    beginning.set(row.id, begun)
    const placed = await begun
    if (placed === null) return
    if ('order' in placed) await drivers.gateway.run(placed.order)
    else await drivers.gateway.dial(placed.plan, placed.entry)
  }
  const placing = { maxWaitSeconds: maxQueuedSeconds, callsAtATime: config.callsAtATime, limit: maxPlacedPerClaim }
  let placeTimer: NodeJS.Timeout | undefined
  const placeQueued = async () => {
    clearTimeout(placeTimer)
    if (!deps.isHeld() || closed) return
    const claiming = claimQueued(db, epoch, placing)
    claims.add(claiming)
    const claimed = await claiming.finally(() => claims.delete(claiming))
    // In parallel, as a call may ring for a minute.
    for (const row of claimed) void placeOne(row).catch(fault)
    const due = await nextDue(db, maxQueuedSeconds)
    if (due === null) return
    const waitMs = due > 0 ? due : waitingRetryMs
    clearTimeout(placeTimer)
    placeTimer = setTimeout(() => void placeQueued().catch(fault), waitMs).unref()
  }

  /** Waits until a call that was claimed runs, or has ended. */
  const hasBegun = async (call: string) => {
    await Promise.allSettled(claims)
    await beginning.get(call)?.catch(() => {})
  }

  /** Commands on calls that run here. A call that does not run here any more gets none. */
  const commands = makeCommandRunner({
    ...{ db, epoch, onError: fault },
    execute: async (call, command) => {
      if (control.isAnswered(call) === null) await hasBegun(call)
      const isAnswered = control.isAnswered(call)
      if (isAnswered === null) return null
      if (command.command !== 'hangup')
        return (await deps.callPrograms.runner.command(call, command)) ?? (isAnswered ? noProgram : notAnswered)
      await drivers.gateway.hangUp(call, 'The account ended the call', isAnswered ? 'completed' : 'canceled')
      return { ok: true }
    },
  })

  return {
    ...drivers,
    epoch,
    checkUsers: look,
    placeQueued,
    runCommands: async () => {
      if (deps.isHeld() && !closed) await commands.run()
    },
    hangUp: async () => {
      if (drivers.gateway.calls() === 0) return
      for (const { id } of await store.findHangUpRequests(db))
        await drivers.gateway.hangUp(id, 'An operator ended the call')
    },
    recover: async () => {
      await closeLeft()
      const found = await dialogs.findLeftDialogs(db, recoveryBatchSize)
      // In parallel, as a silent carrier takes half a minute to time out.
      await Promise.all(found.map((one) => releaseDialogs(one).catch(fault)))
    },
    flush: control.flush,
    close: (milliseconds, isTaken = false) => {
      clearTimeout(placeTimer)
      closed ??= close(milliseconds, isTaken)
      return closed
    },
  }
}
