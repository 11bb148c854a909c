import { makeSerialQueue } from '../../platform/lib/serial-queue.ts'
import type { ChatCredentialStore } from '../../ports/chat.ts'

/** State that a session needs after a restart; stored in the vault as one value. */
export type StateValues = {
  /** Time of the first link, Unix milliseconds. The archive is read from then on. */
  readonly first: number
  readonly status: string
  /** Groups joined, with our nickname in each. */
  readonly rooms: Readonly<Record<string, string>>
  /** MIME type of the picture; its bytes are a separate vault entry. */
  readonly picture: string | null
}

const type = 'xmpp'

/** Nickname in a room, by the room's address. Others choose addresses, so prototype properties must not match. */
export const nickIn = ({ rooms }: StateValues, jid: string): string | undefined =>
  Object.hasOwn(rooms, jid) ? rooms[jid] : undefined

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const read = (bytes: Buffer | undefined): StateValues | null => {
  if (!bytes) return null
  const value: unknown = JSON.parse(bytes.toString())
  if (!isRecord(value)) return null
  const { first, status, rooms, picture } = value
  const pairs = isRecord(rooms) ? Object.entries(rooms) : []
  return {
    first: typeof first === 'number' ? first : Date.now(),
    status: typeof status === 'string' ? status : '',
    rooms: Object.fromEntries(pairs.filter((pair): pair is [string, string] => typeof pair[1] === 'string')),
    picture: typeof picture === 'string' ? picture : null,
  }
}

export type PersistedState = {
  readonly values: StateValues
  image(): Promise<Buffer | null>
  change(change: Partial<StateValues>): Promise<void>
  setImage(image: Buffer | null, mimeType: string | null): Promise<void>
}

export const openPersistedState = async (vault: ChatCredentialStore, channel: string): Promise<PersistedState> => {
  const stored = read((await vault.read(channel, type, ['line'])).get('line'))
  let now: StateValues = stored ?? { first: Date.now(), status: '', rooms: {}, picture: null }
  const queue = makeSerialQueue()
  const line = () => ({ type, id: 'line', value: Buffer.from(JSON.stringify(now)) })
  const write = (entries: () => readonly { type: string; id: string; value: Buffer | null }[]): Promise<void> =>
    queue(() => vault.write(channel, entries()))
  if (!stored) await write(() => [line()])
  return {
    get values() {
      return now
    },
    image: async () => (await vault.read(channel, type, ['picture'])).get('picture') ?? null,
    change: (change) => {
      now = { ...now, ...change }
      return write(() => [line()])
    },
    setImage: (image, mimeType) => {
      now = { ...now, picture: mimeType }
      return write(() => [line(), { type, id: 'picture', value: image }])
    },
  }
}

/** The password of an account that we registered. */
export const passwordOf = async (vault: ChatCredentialStore, channel: string): Promise<string | null> =>
  (await vault.read(channel, type, ['password'])).get('password')?.toString() ?? null

export const storePassword = (vault: ChatCredentialStore, channel: string, password: string): Promise<void> =>
  vault.write(channel, [{ type, id: 'password', value: Buffer.from(password) }])
