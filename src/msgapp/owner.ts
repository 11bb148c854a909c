import type { ChatDriver, ChatEvents, ChatNetwork } from '../connectors/chat-port.ts'
import type { LinkState } from '../connectors/port.ts'
import { hasten } from '../jobs/ops.ts'
import { makeRoom } from '../jobs/queue.ts'
import { tick } from '../jobs/tick.ts'
import { startWorker } from '../jobs/worker.ts'
import type { Parts } from '../parts.ts'
import type { Acts } from './acts.ts'
import { kindOf } from './asking.ts'
import * as links from './channels/links.ts'
import { turnLeft } from './channels/standing.ts'
import { deleted, type LineRow, lines as linesOf, newest } from './channels/store.ts'
import { askForGroups } from './groups/acts.ts'
import { heardBy, type Intake, type Line } from './intake.ts'
import { makeStandings } from './standings.ts'
import { makeVault } from './vault.ts'
import { type Reach, workOf } from './work.ts'

/** A round trip for each line every so often, milliseconds. */
const proofEvery = 5_000

export type Owned = {
  /** The lease lasts until then, milliseconds of `performance.now()`. */
  prolong(until: number): void
  isHeld(): boolean
  /** Attaches and detaches lines as the database wants it. */
  reconcile(): Promise<void>
  state(): LinkState
  /** Whether every line has come to stand somehow. */
  isSettled(): boolean
  /** @param reason null when the lease is lost: then nothing is written any more */
  end(reason: string | null): Promise<void>
}

type Given = Pick<Parts, 'db' | 'seal' | 'log'> & {
  readonly acts: Acts
  readonly intake: Intake
  readonly owner: string
  readonly home: string
  readonly connection: { readonly id: string; readonly name: string; readonly settings: unknown }
  readonly driver: ChatDriver<unknown>
  readonly until: number
}

/** Runs one connection in this process: its network, its lines, what is asked of it, and what it tells. */
export const ownConnection = (given: Given): Owned => {
  const { db, seal, log, acts, intake, driver, connection } = given
  const { id, name } = connection
  const abilities = driver.abilitiesOf(connection.settings)
  const holder = { connection: id, owner: given.owner }
  const attached = new Map<string, Line>()
  let until = given.until
  let ending = false
  let reconciled = false

  const isHeld = () => performance.now() < until
  const admit = () => {
    if (!isHeld() || ending) throw new Error('another process may run this connection')
  }
  const noted = (error: unknown) => log.warn({ err: error, connection: name }, 'a chat connection could not be seen to')

  /** What was put off while these channels were down need not wait for its time. */
  const recall = async (channels: readonly string[]) => {
    if (channels.length > 0) await db.begin((tx) => hasten(tx, kindOf(id), { waitsFor: channels }))
  }
  /** Connected since the last round of proofs: what was just being put off is recalled with the next. */
  const fresh = new Set<string>()

  const onConnected = (channels: readonly string[]) => {
    makeRoom(kindOf(id))
    for (const channel of channels) fresh.add(channel)
    const work = async () => {
      await recall(channels)
      if (abilities.groups === 'no') return
      for (const channel of channels) {
        const line = attached.get(channel)
        if (line) await db.begin((tx) => askForGroups(tx, line))
      }
    }
    void work().catch(noted)
  }
  const proof = driver.provesPossession
  const standings = makeStandings({ db, seal, log, holder, proof, isHeld, onConnected })

  const lineOf = (channel: string): Line => {
    admit()
    const line = attached.get(channel)
    if (!line) throw new Error(`the channel ${channel} is not attached`)
    return line
  }
  const events: ChatEvents = {
    line: (channel, state) => {
      if (!ending && isHeld()) standings.tell(channel, state)
    },
    ...heardBy(intake, lineOf),
  }

  const network: ChatNetwork = driver.start(connection.settings, {
    events,
    vault: makeVault(db, seal, admit),
    home: given.home,
    log: (event, details) => log.warn({ connection: name, ...details }, `${driver.platform} ${event}`),
  })

  const reach = (channel: string): Reach => {
    if (!attached.has(channel)) return 'unknown'
    return standings.isConnected(channel) ? 'connected' : 'down'
  }
  const worker = startWorker({
    db,
    log,
    kinds: [
      workOf({
        connection: id,
        network,
        acts,
        isHeld: () => isHeld() && !ending,
        reach,
        isSteady: standings.isSteady,
        hasRoom: () => standings.anyConnected() || (reconciled && attached.size === 0),
        isGone: async (channel) => (await deleted(db, [channel])).length > 0,
      }),
    ],
  })

  const attach = (row: LineRow, since: number | null) => {
    const { id: channel, phone_number: number } = row
    attached.set(channel, { account: row.account_id, channel, connection: id, platform: row.platform, number })
    standings.begin(channel, row.phase)
    network.attach({ channel, number, name: row.name, since })
  }

  const detach = async (channel: string, logout: boolean) => {
    attached.delete(channel)
    standings.end(channel)
    await network.detach(channel, logout)
  }

  /** Somebody asked for another try. */
  const isAgain = (row: LineRow) => standings.told(row.id) === 'failed' && row.phase === 'connecting'

  const bring = async () => {
    if (ending) return
    const rows = await linesOf(db, id)
    const wanted = new Set(rows.map((row) => row.id))
    const missing = [...attached.keys()].filter((channel) => !wanted.has(channel))
    const gone = new Set((missing.length > 0 ? await deleted(db, missing) : []).map((row) => row.id))
    for (const channel of missing) await detach(channel, gone.has(channel))
    await recall([...gone])
    const begins = rows.filter((row) => !attached.has(row.id) || isAgain(row))
    const since = begins.length > 0 ? await newest(db, begins) : new Map<string, number>()
    for (const row of begins) {
      if (ending) return
      if (attached.has(row.id)) await detach(row.id, false)
      attach(row, since.get(row.id) ?? null)
    }
    reconciled = true
  }

  let provedAt = 0
  let proving = false
  const prove = async () => {
    proving = true
    provedAt = performance.now()
    try {
      const recent = [...fresh]
      fresh.clear()
      await recall(recent)
      const came: string[] = []
      const ask = async (channel: string) => {
        const isThere = await network.prove(channel).catch(() => false)
        if (isThere && standings.told(channel) === 'connected') came.push(channel)
        standings.proved(channel, isThere)
      }
      await Promise.all(standings.linked().map(ask))
      if (came.length === 0 || !isHeld()) return
      await standings.settled()
      const stand = await links.prove(db, holder, came)
      for (const channel of came) if (!stand.has(channel)) standings.forgotten(channel)
    } finally {
      proving = false
    }
  }

  // Each second, so that an age of 10 s is noticed although a proof may take 4.
  const watch = tick(
    1_000,
    async () => {
      if (ending || !isHeld()) return
      standings.look()
      if (!proving && performance.now() - provedAt >= proofEvery) void prove().catch(noted)
    },
    noted,
  )

  // What an owner before left; and nothing is attached before that is written.
  let turn = db.begin((tx) => turnLeft(tx, seal, holder, 'the process that ran it is gone')).catch(noted)

  return {
    prolong: (next) => {
      until = next
    },
    isHeld,
    reconcile: () => {
      turn = turn.then(bring).catch(noted)
      return turn
    },
    state: () => network.state(),
    isSettled: () => reconciled && attached.keys().every((channel) => standings.told(channel) !== 'connecting'),
    end: async (reason) => {
      ending = true
      await watch.end()
      await turn
      await worker.stop(reason === null ? 0 : 5_000)
      await network.close()
      await standings.settled()
      if (reason !== null && isHeld()) await db.begin((tx) => turnLeft(tx, seal, holder, reason)).catch(noted)
    },
  }
}
