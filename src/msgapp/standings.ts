import type { ChatLineState, ChatProof } from '../connectors/chat-port.ts'
import type { Db } from '../db/sql.ts'
import type { Log } from '../jobs/kind.ts'
import type { Seal } from '../lib/secret.ts'
import { type Turn, turn } from './channels/standing.ts'
import { describe, type Me, type Phase } from './channels/store.ts'

/** A line is no longer connected when a round trip failed so often in a row, or the last one is so old (milliseconds). */
const mostMisses = 2
const oldest = 10_000
const steadyMs = 600_000

type Standing = {
  /** What the driver says, and what was written down last. */
  told: Phase
  shown: Phase
  /** By the monotonic clock: the last round trip. */
  provedAt: number
  misses: number
  /** By the monotonic clock: connected since then, if it is. */
  since: number
}

export type Standings = {
  /** A line begins, as the database has it. */
  begin(channel: string, shown: Phase): void
  end(channel: string): void
  /** The driver tells of a line. */
  tell(channel: string, state: ChatLineState): void
  /** Who is to be asked for a round trip. */
  linked(): string[]
  proved(channel: string, came: boolean): void
  /** The database has another phase than connected. */
  forgotten(channel: string): void
  /** Turns those whose last round trip is too old. */
  look(): void
  told(channel: string): Phase | null
  isConnected(channel: string): boolean
  /** Connected for ten minutes: what a network does first, reading what came meanwhile, is over. */
  isSteady(channel: string): boolean
  anyConnected(): boolean
  /** Resolves once all changes so far are written. */
  settled(): Promise<void>
}

type Given = {
  db: Db
  seal: Seal
  log: Log
  holder: { connection: string; owner: string }
  /** What it proves that the network connects a line. */
  proof: ChatProof
  isHeld: () => boolean
  /** These are connected from now on. */
  onConnected: (channels: readonly string[]) => void
}

/** How the lines of a connection stand, by what the driver says and by round trips; every change is written down, in order. */
export const makeStandings = ({ db, seal, log, holder, proof, isHeld, onConnected }: Given): Standings => {
  const lines = new Map<string, Standing>()
  let turns: Turn[] = []
  let mine: Me[] = []
  let writing: Promise<void> | null = null

  /** The first change of each line that waits. */
  const next = (): Turn[] => {
    const taken = new Map<string, Turn>()
    const rest: Turn[] = []
    for (const one of turns) {
      if (taken.has(one.channel) || taken.size >= 200) rest.push(one)
      else taken.set(one.channel, one)
    }
    turns = rest
    return [...taken.values()]
  }

  const write = async () => {
    while ((turns.length > 0 || mine.length > 0) && isHeld()) {
      const [some, says] = [next(), mine]
      mine = []
      try {
        await db.begin(async (tx) => {
          if (says.length > 0) await describe(tx, says)
          await turn(tx, seal, holder, some)
        })
      } catch (error) {
        log.warn({ err: error, connection: holder.connection }, 'how channels stand could not be written')
        turns = [...some, ...turns]
        mine = [...says, ...mine]
        await new Promise((resolve) => setTimeout(resolve, 500))
        continue
      }
      const connected = some.filter(({ phase }) => phase === 'connected').map(({ channel }) => channel)
      if (connected.length > 0) onConnected(connected)
    }
    turns = []
  }

  const writeSoon = () => {
    writing ??= Promise.resolve()
      .then(write)
      .finally(() => {
        writing = null
      })
  }

  const show = (standing: Standing, change: Turn) => {
    if (change.phase === 'connected' && standing.shown !== 'connected') standing.since = performance.now()
    standing.shown = change.phase
    turns.push({ ...change, proof })
    writeSoon()
  }

  const tell = (channel: string, state: ChatLineState) => {
    const standing = lines.get(channel)
    if (!standing) return
    const { reason, me, qr, code, until } = state
    const phase: Phase = state.fatal ? 'failed' : state.phase
    standing.told = phase
    if (me)
      mine.push({
        channel,
        pushname: me.pushname ?? null,
        server: me.server ?? null,
        business: me.business ?? null,
      })
    if (phase === 'connected') {
      standing.provedAt = performance.now()
      standing.misses = 0
    }
    if (phase === 'pairing') {
      const pairing = {
        ...(qr === undefined ? {} : { qr }),
        ...(code === undefined ? {} : { code }),
        ...(until === undefined ? {} : { until }),
      }
      show(standing, { channel, phase, reason, pairing })
    } else if (phase === 'connecting') {
      // Connecting is only how a line begins: later it is disconnected until it is connected again.
      if (standing.shown !== 'connecting' && standing.shown !== 'disconnected')
        show(standing, { channel, phase: 'disconnected', reason })
    } else if (phase !== standing.shown) show(standing, { channel, phase, reason })
    if (me) writeSoon()
  }

  const isConnected = ({ told, shown }: Standing) => told === 'connected' && shown === 'connected'

  return {
    begin: (channel, shown) => lines.set(channel, { told: 'connecting', shown, provedAt: 0, misses: 0, since: 0 }),
    end: (channel) => {
      lines.delete(channel)
      turns = turns.filter((one) => one.channel !== channel)
    },
    tell,
    linked: () => [...lines].filter(([, { told }]) => told === 'connected').map(([channel]) => channel),
    proved: (channel, came) => {
      const standing = lines.get(channel)
      if (standing?.told !== 'connected') return
      if (!came) {
        if (++standing.misses >= mostMisses && standing.shown === 'connected')
          show(standing, { channel, phase: 'disconnected', reason: 'the network does not answer' })
        return
      }
      standing.misses = 0
      standing.provedAt = performance.now()
      if (standing.shown !== 'connected')
        show(standing, { channel, phase: 'connected', reason: 'the network answers again' })
    },
    forgotten: (channel) => {
      const standing = lines.get(channel)
      if (standing && isConnected(standing))
        show(standing, { channel, phase: 'connected', reason: 'a round trip with the network succeeded' })
    },
    look: () => {
      const now = performance.now()
      for (const [channel, standing] of lines)
        if (isConnected(standing) && now - standing.provedAt > oldest)
          show(standing, { channel, phase: 'disconnected', reason: 'the network does not answer' })
    },
    told: (channel) => lines.get(channel)?.told ?? null,
    isConnected: (channel) => {
      const standing = lines.get(channel)
      return standing !== undefined && isConnected(standing)
    },
    isSteady: (channel) => {
      const standing = lines.get(channel)
      return standing !== undefined && isConnected(standing) && performance.now() - standing.since > steadyMs
    },
    anyConnected: () => lines.values().some(isConnected),
    settled: async () => {
      while (writing) await writing
    },
  }
}
