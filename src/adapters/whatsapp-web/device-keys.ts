import { makeSerialQueue } from '../../platform/lib/serial-queue.ts'
import type { ChatCredentialStore } from '../../ports/chat.ts'
import type { Creds, Keys, Library } from './library.ts'
import { retry } from './retry.ts'

/** Identity and keys of a linked device. */
export type DeviceKeys = {
  readonly creds: Creds
  /**
   * Leases the keys to one socket. @param fault called when they cannot be read or written; the socket must not
   * continue then
   */
  lease(fault: (error: unknown) => void): KeyLease
  /** Marks the credentials as changed; they are written with the next keys or at once. */
  markChanged(): void
  /** Resolves after all changes are written; later writes are rejected. */
  end(): Promise<void>
}

/** Access of one socket to the keys. */
export type KeyLease = {
  readonly keys: Keys
  /**
   * Resolves after the socket's changes are written. Later writes are rejected: another socket may have advanced the
   * keys.
   */
  release(): Promise<void>
}

type Entry = { type: string; id: string; value: Buffer | null }

const credsType = 'creds'
const credsId = 'device'

/**
 * Opens the keys of a device in the vault. Keys that are set together are written in one transaction, with changed
 * credentials. Writes run in sequence, so the vault always holds a state that the device was in.
 */
export const openDeviceKeys = async (
  library: Library,
  vault: ChatCredentialStore,
  channel: string,
): Promise<DeviceKeys> => {
  const { BufferJSON, proto } = library
  const packed = (value: unknown) => Buffer.from(JSON.stringify(value, BufferJSON.replacer))
  const unpacked = (type: string, bytes: Buffer): unknown => {
    const value: unknown = JSON.parse(bytes.toString('utf8'), BufferJSON.reviver)
    const isMessage = type === 'app-state-sync-key' && typeof value === 'object' && value !== null
    return isMessage ? proto.Message.AppStateSyncKeyData.fromObject(value) : value
  }

  const stored = (await vault.read(channel, credsType, [credsId])).get(credsId)
  // Written by this module.
  const creds = stored ? (unpacked(credsType, stored) as Creds) : library.initAuthCreds()

  let isChanged = !stored
  const queue = makeSerialQueue()
  const written = () => queue(() => {})
  let isEnded = false
  const write = (entries: readonly Entry[]): Promise<void> => {
    if (isEnded) return Promise.reject(new Error('the device is closed'))
    const turn = async () => {
      const mine = isChanged ? [{ type: credsType, id: credsId, value: packed(creds) }] : []
      isChanged = false
      if (entries.length + mine.length === 0) return
      try {
        await retry(() => vault.write(channel, [...entries, ...mine]))
      } catch (error) {
        isChanged ||= mine.length > 0
        throw error
      }
    }
    return queue(turn)
  }

  await write([])
  const get: Keys['get'] = async (type, ids) => {
    const found = await retry(() => vault.read(channel, type, ids))
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
  const lend = (fault: (error: unknown) => void): KeyLease => {
    let isReleased = false
    const guarded = async <T>(work: () => Promise<T>): Promise<T> => {
      if (isReleased) throw new Error('the socket is closed')
      try {
        return await work()
      } catch (error) {
        fault(error)
        throw error
      }
    }
    return {
      keys: { get: (type, ids) => guarded(() => get(type, ids)), set: (data) => guarded(() => set(data)) },
      release: () => {
        isReleased = true
        return written()
      },
    }
  }

  return {
    creds,
    lease: lend,
    markChanged: () => {
      isChanged = true
      void write([]).catch(() => {})
    },
    end: () => {
      isEnded = true
      return written()
    },
  }
}
