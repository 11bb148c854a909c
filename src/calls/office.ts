import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { VoiceDesk, VoiceGateway } from '../connectors/voice-port.ts'
import type { Db } from '../db/sql.ts'
import type { Quotas } from '../http/quotas.ts'
import type { Seal } from '../lib/secret.ts'
import type { Prices } from '../prices/ops.ts'
import { barredOf } from '../users/ops.ts'
import { type Desk, makeDesk } from './desk.ts'
import * as dialogs from './dialogs.ts'
import { type Drivers, startDrivers } from './drivers.ts'
import { closeEarlier } from './ops.ts'
import type { RecordingLink } from './shown.ts'
import * as store from './store.ts'
import type { TrunkConnection } from './trunks.ts'

/** What runs calls while they are ours. */
export type Office = Drivers & {
  /** That of the lease under which it was opened. */
  readonly tenure: number
  /** Sends away who may not be here any more: when something changed, and every so often, as one may come while another look is under way. */
  look(): Promise<void>
  /** Ends what operators asked to be ended: when they ask, and every so often, as a call has no end yet while it begins. */
  hangUp(): Promise<void>
  /** Ends what tenures before have left: their records, and their calls at the other sides. */
  recover(): Promise<void>
  /** Writes the stories of calls down. */
  flush(): Promise<void>
  /** Takes no new calls, and ends those that last longer than so many milliseconds. @param isTaken another process runs the calls by now */
  close(milliseconds: number, isTaken?: boolean): Promise<void>
}

export type OfficeGround = {
  readonly db: Db
  readonly sandboxAccounts: { has(account: string): boolean }
  readonly seal: Seal
  readonly prices: Prices
  readonly quotas: Quotas
  readonly config: Config
  readonly log: Logger
  readonly linkOf: RecordingLink
  /** By which browsers reach us. */
  readonly host: string
  /** Of the lease. */
  readonly tenure: number
  isHeld(): boolean
  trunks(): readonly TrunkConnection[]
}

/** How many calls, or farewells, at once. */
const mostLeft = 50

const elsewhere = { refused: { status: 503, reason: 'Calls are run by another process' } }

/** Begins nothing once another process may run the calls. What is under way goes on: who has taken over has closed its records. */
const held = (desk: Desk, isHeld: () => boolean): VoiceDesk => ({
  ...desk,
  place: async (call) => (isHeld() ? desk.place(call) : elsewhere),
  receive: async (call) => (isHeld() ? desk.receive(call) : elsewhere),
})

/** Opens the ports, and closes what tenures before have left open. @throws Error as `startDrivers` */
export const openOffice = async (ground: OfficeGround): Promise<Office> => {
  const { db, seal, config, log, host, tenure } = ground
  const fault = (error: unknown) => log.error({ err: error }, 'voice met an error')
  let gateway: VoiceGateway | null = null
  const desk = makeDesk({
    ...ground,
    hangUp: (call, reason) => void gateway?.hangUp(call, reason).catch(fault),
  })
  const closeLeft = async () => {
    while ((await db.begin((tx) => closeEarlier(tx, tenure, mostLeft))) > 0);
  }
  const secret = seal.derive('sip nonces').toString('base64')
  const drivers = await startDrivers(config, { desk: held(desk, ground.isHeld), secret, fault }, host)
  gateway = drivers.gateway
  // Only who can run calls is the one to say that those before are over.
  await closeLeft().catch(fault)

  const sayGoodbye = async ({ account_id, call_id, dialogs: kept }: dialogs.Left) => {
    const told = await drivers.gateway.release(kept.list)
    log.info({ call: call_id, told }, 'a call that a crash had left open was hung up')
    await dialogs.forget(db, account_id, call_id)
  }

  let closed: Promise<void> | null = null
  const close = async (milliseconds: number, isTaken: boolean) => {
    await drivers.gateway.close(milliseconds, isTaken)
    await drivers.media.close()
    await desk.flush().catch(fault)
  }

  const lookOnce = async () => {
    const people = desk.present()
    if (people.length === 0) return
    const barred = new Set(
      await barredOf(
        db,
        people.map(({ user }) => user),
      ),
    )
    const gone = people.filter(({ user }) => barred.has(user))
    await drivers.gateway.drop(gone, 'suspended', true)
    await drivers.gateway.drop(await desk.revoked(), 'expired', true)
  }
  let isDue = false
  let looking: Promise<void> | null = null
  /** However often something changes, one look at a time, and one more for what changed meanwhile. */
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

  return {
    ...drivers,
    tenure,
    look,
    hangUp: async () => {
      if (drivers.gateway.calls() === 0) return
      for (const { id } of await store.toHangUp(db)) await drivers.gateway.hangUp(id, 'An operator ended the call')
    },
    recover: async () => {
      await closeLeft()
      const found = await dialogs.left(db, mostLeft)
      // All at once: a carrier that is silent takes half a minute to be given up.
      await Promise.all(found.map((one) => sayGoodbye(one).catch(fault)))
    },
    flush: desk.flush,
    close: (milliseconds, isTaken = false) => {
      closed ??= close(milliseconds, isTaken)
      return closed
    },
  }
}
