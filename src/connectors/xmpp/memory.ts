import type { ChatVault } from '../chat-port.ts'

/** What a line has to know when it comes back: in the vault, as one value. */
export type Remembered = {
  /** When it was linked first, Unix milliseconds: the archive is read from there on. */
  readonly first: number
  readonly status: string
  /** Groups that it is in, and its name there. */
  readonly rooms: Readonly<Record<string, string>>
  /** The type of its picture, whose bytes stand beside it. */
  readonly picture: string | null
}

const type = 'xmpp'

/** The name in a room, by the room's address: others choose addresses, so names of a prototype must not be found. */
export const nickIn = ({ rooms }: Remembered, jid: string): string | undefined =>
  Object.hasOwn(rooms, jid) ? rooms[jid] : undefined

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const read = (bytes: Buffer | undefined): Remembered | null => {
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

export type Memory = {
  readonly now: Remembered
  /** The bytes of the picture. */
  image(): Promise<Buffer | null>
  change(change: Partial<Remembered>): Promise<void>
  setImage(image: Buffer | null, mimeType: string | null): Promise<void>
}

export const openMemory = async (vault: ChatVault, channel: string): Promise<Memory> => {
  const kept = read((await vault.read(channel, type, ['line'])).get('line'))
  let now: Remembered = kept ?? { first: Date.now(), status: '', rooms: {}, picture: null }
  let turn = Promise.resolve()
  const line = () => ({ type, id: 'line', value: Buffer.from(JSON.stringify(now)) })
  const write = (entries: () => readonly { type: string; id: string; value: Buffer | null }[]): Promise<void> => {
    const written = turn.then(() => vault.write(channel, entries()))
    turn = written.catch(() => {})
    return written
  }
  if (!kept) await write(() => [line()])
  return {
    get now() {
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

/** The password of an account that we made ourselves. */
export const passwordOf = async (vault: ChatVault, channel: string): Promise<string | null> =>
  (await vault.read(channel, type, ['password'])).get('password')?.toString() ?? null

export const keepPassword = (vault: ChatVault, channel: string, password: string): Promise<void> =>
  vault.write(channel, [{ type, id: 'password', value: Buffer.from(password) }])
