import type { ChatVault } from '../chat-port.ts'
import { insist } from './insist.ts'
import type { Creds, Keys, Library } from './library.ts'

/** What a linked device is: who it is, and the keys that it shares with others. */
export type DeviceKeys = {
  readonly creds: Creds
  /** The keys as one socket sees them. @param fault they cannot be read or written: what the socket does next cannot be right */
  lend(fault: (error: unknown) => void): LentKeys
  /** The credentials were changed: they are written with the next keys, or at once. */
  changed(): void
  /** Resolves once all that was changed is written; nothing is from now on. */
  end(): Promise<void>
}

/** What a socket does with the keys while it has them. */
export type LentKeys = {
  readonly keys: Keys
  /** Resolves once all that the socket changed is written; nothing of it is from now on: another socket may have moved the keys on. */
  giveBack(): Promise<void>
}

type Entry = { type: string; id: string; value: Buffer | null }

const credsType = 'creds'
const credsId = 'device'

/**
 * The keys of a device in the vault. Everything that is set together is written in one transaction, and changed credentials
 * with it, one write after the other: at every moment the vault holds a state that the device was in.
 */
export const openKeys = async (library: Library, vault: ChatVault, channel: string): Promise<DeviceKeys> => {
  const { BufferJSON, proto } = library
  const packed = (value: unknown) => Buffer.from(JSON.stringify(value, BufferJSON.replacer))
  const unpacked = (type: string, bytes: Buffer): unknown => {
    const value: unknown = JSON.parse(bytes.toString('utf8'), BufferJSON.reviver)
    const isMessage = type === 'app-state-sync-key' && typeof value === 'object' && value !== null
    return isMessage ? proto.Message.AppStateSyncKeyData.fromObject(value) : value
  }

  const stored = (await vault.read(channel, credsType, [credsId])).get(credsId)
  // What we wrote ourselves.
  const creds = stored ? (unpacked(credsType, stored) as Creds) : library.initAuthCreds()

  let isChanged = !stored
  let writing: Promise<void> = Promise.resolve()
  let isEnded = false
  const write = (entries: readonly Entry[]): Promise<void> => {
    if (isEnded) return Promise.reject(new Error('the device is let go'))
    const turn = async () => {
      const mine = isChanged ? [{ type: credsType, id: credsId, value: packed(creds) }] : []
      isChanged = false
      if (entries.length + mine.length === 0) return
      try {
        await insist(() => vault.write(channel, [...entries, ...mine]))
      } catch (error) {
        isChanged ||= mine.length > 0
        throw error
      }
    }
    const written = writing.then(turn)
    writing = written.catch(() => {})
    return written
  }

  await write([])
  const get: Keys['get'] = async (type, ids) => {
    const found = await insist(() => vault.read(channel, type, ids))
    return Object.fromEntries([...found].map(([id, bytes]) => [id, unpacked(type, bytes)]))
  }
  const set: Keys['set'] = (data) =>
    write(
      Object.entries(data).flatMap(([type, values]) =>
        Object.entries(values).map(([id, value]) => ({
          type,
          id,
          value: value === null || value === undefined ? null : packed(value),
        })),
      ),
    )
  const lend = (fault: (error: unknown) => void): LentKeys => {
    let isOver = false
    const sound = async <T>(work: () => Promise<T>): Promise<T> => {
      if (isOver) throw new Error('the socket is let go')
      try {
        return await work()
      } catch (error) {
        fault(error)
        throw error
      }
    }
    return {
      keys: { get: (type, ids) => sound(() => get(type, ids)), set: (data) => sound(() => set(data)) },
      giveBack: () => {
        isOver = true
        return writing
      },
    }
  }

  return {
    creds,
    lend,
    changed: () => {
      isChanged = true
      void write([]).catch(() => {})
    },
    end: () => {
      isEnded = true
      return writing
    },
  }
}
