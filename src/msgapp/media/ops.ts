import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import type { Config } from '../../config.ts'
import type { ChatNetwork } from '../../connectors/chat-port.ts'
import type { ChatFile } from '../../connectors/message-port.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { Problem } from '../../http/problem.ts'
import type { Quotas } from '../../http/quotas.ts'
import { type Job, Retry } from '../../jobs/kind.ts'
import { makeBucket } from '../../lib/bucket.ts'
import type { Clock } from '../../lib/clock.ts'
import { makeFileCipher } from '../../lib/encrypted-file.ts'
import { makeFolder, type Place, type Span } from '../../lib/files.ts'
import { type Links, makeLinks } from '../../lib/links.ts'
import type { Outbound, OutboundPair } from '../../lib/outbound.ts'
import { OutboundError } from '../../lib/outbound-exchange.ts'
import type { Seal } from '../../lib/secret.ts'
import { type Aged, asTold } from '../later.ts'
import { askToDiscard } from './discarding.ts'
import { limits, mimeOf, typeOf } from './limits.ts'
import { ownName, spool, sweep, TooLarge } from './spool.ts'
import * as store from './store.ts'
import { makeTurns, type Turns, within } from './turns.ts'

export type MediaParts = {
  readonly db: Db
  readonly config: Pick<Config, 'home' | 'mediaStore' | 'encryptFiles'>
  readonly outbound: OutboundPair
  readonly sandboxAccounts: { has(account: string): boolean }
  readonly quotas: Quotas
  readonly seal: Seal
  readonly clock: Clock
  readonly publicUrl: () => string
}

/** A file that is in the store, or why it never will be. */
export type Fetched =
  | { readonly file: ChatFile }
  | { readonly failure: { readonly code: string; readonly reason: string } }

export type Media = {
  readonly links: Links
  /** Whose turn it is to fetch something. */
  readonly turns: Turns
  find(account: string, id: string): Promise<store.MediaRow | null>
  /** The content of a file that is in the store, or a part of it. @throws Unreadable when it is encrypted and does not open */
  read(file: StoredMedia, span?: Span): Promise<Readable>
  /**
   * Sees to it that a file is in the store: fetched once, from its address or from the network that has it.
   * @param job on whose behalf
   * @throws Retry when it may be had later, Later when it is not its turn
   */
  fetch(job: FetchJob, id: string, network: ChatNetwork, signal: AbortSignal): Promise<Fetched>
  /** It will not be fetched any more. */
  giveUp(tx: Tx, account: string, id: string, reason: string): Promise<void>
  /** Takes the bytes of this digest out of the store, unless a message has them. */
  discard(account: string, digest: Buffer): Promise<void>
}

/** A file that is in the store. */
export type StoredMedia = store.MediaRow & { readonly key: string }

/** The longest silence of whoever has a file. */
const idleMs = 20_000

type FetchJob = Aged & Pick<Job, 'account'>

type Opened = { readonly body: Readable; readonly type: string | null; readonly length: number | null }

/** Whoever tries again sees what became of it. */
const overtaken = () => new Retry('the file was fetched or given up meanwhile', 1)

/** It never can be had. */
class Gone extends Error {}

const again = new Set([408, 425, 429])

const fromAddress = async (outbound: Outbound, url: string, signal: AbortSignal): Promise<Opened> => {
  const answer = await outbound.get({ url, idleMs, signal }).catch((error: unknown) => {
    if (error instanceof OutboundError && error.code === 'refused') throw new Gone(`its address ${error.message}`)
    throw new Retry(error instanceof Error ? error.message : String(error), 5)
  })
  const { status, retryAfter } = answer
  if (status === 200) return answer
  answer.body.destroy()
  if (status < 500 && !again.has(status)) throw new Gone(`its address answered ${status}`)
  throw new Retry(`its address answered ${status}`, Math.min(Number(retryAfter) || 5, 300))
}

const fromNetwork = async (
  job: FetchJob,
  network: ChatNetwork,
  channel: string,
  id: string,
  signal: AbortSignal,
): Promise<Opened> => {
  if (!network.media) throw new Gone('the network keeps no files')
  const told = await within(signal, network.media(channel, id))
  if (told.outcome === 'refused') throw new Gone(told.reason)
  if (told.outcome === 'later') return asTold(job, told)
  if (told.outcome !== 'done') throw new Retry(told.reason, 5)
  return { body: told.value.body, type: told.value.mimeType, length: null }
}

/** A stream that is opened once somebody reads it. */
const lazily = (open: () => Promise<Readable>): Readable => {
  const through = new PassThrough()
  open().then(
    (stream) => stream.once('error', (error) => through.destroy(error)).pipe(through),
    (error: unknown) => through.destroy(error instanceof Error ? error : new Error(String(error))),
  )
  return through
}

const keyOf = (account: string, name: string): string => `${account}/${name.slice(0, 2)}/${name}`

/** Ends the keys of files that are encrypted. The key is in the database: who can write to the store cannot pass off a plain file. */
const encryptedEnding = '.enc'
const encryptedType = 'application/octet-stream'

const homeOf = ({ home }: Pick<Config, 'home'>): string => join(resolve(home), 'media')

const placeOf = (config: MediaParts['config']): Place =>
  config.mediaStore?.startsWith('s3://')
    ? makeBucket(config.mediaStore)
    : makeFolder(config.mediaStore ?? homeOf(config))

export const makeMedia = (parts: MediaParts, place = placeOf(parts.config)): Media => {
  const { db, outbound, quotas, sandboxAccounts, seal, config } = parts
  const home = homeOf(config)
  const arriving = join(home, 'arriving')
  const spooled = join(arriving, ownName)
  const links = makeLinks(parts, 'media', (id) => `/media/${id}`)
  const turns = makeTurns()
  // What an earlier life left half-fetched.
  const swept = sweep(arriving)

  const cipher = makeFileCipher(seal, 'files of messages')
  const plainKeyOf = (account: string, digest: Buffer) => keyOf(account, digest.toString('hex'))
  const encryptedKeyOf = (account: string, digest: Buffer) =>
    keyOf(account, cipher.nameOf(account, digest)) + encryptedEnding

  const read: Media['read'] = ({ account_id: account, key, size }, span) =>
    key.endsWith(encryptedEnding)
      ? cipher.open((part) => place.get(key, part), { account, place: key, size: size ?? 0 }, span)
      : place.get(key, span)

  const fileOf = (row: StoredMedia): ChatFile => ({
    type: row.type,
    mimeType: row.mime_type,
    name: row.name,
    size: row.size ?? 0,
    url: links.of(row.account_id, row.id),
    open: () => lazily(() => read(row)),
  })

  const bring = async (
    job: FetchJob,
    row: store.MediaRow,
    network: ChatNetwork,
    signal: AbortSignal,
  ): Promise<ChatFile> => {
    const full = await quotas.full(db, row.account_id)
    if (full) throw full
    const isOurs = 'url' in row.source && row.type === 'document'
    const opened =
      'url' in row.source
        ? await fromAddress(outbound.of(sandboxAccounts.has(row.account_id)), row.source.url, signal)
        : await fromNetwork(job, network, row.channel_id, row.source.id, signal)
    const { body, length } = opened
    const given = mimeOf(opened.type, row.name)
    const mime = given === 'application/octet-stream' ? row.mime_type : given
    const type = isOurs ? typeOf(mime) : row.type
    if (length !== null && length > limits[type]) {
      body.destroy()
      throw new Gone(`it has ${length} bytes, and a file of this type may have ${limits[type]}`)
    }
    await swept
    const { account_id: account, id } = row
    const encryption = config.encryptFiles ? cipher.encrypt(account) : null
    const file = await spool(spooled, body, limits[type], signal, encryption).catch((error: unknown) => {
      if (error instanceof TooLarge) throw new Gone(error.message)
      throw new Retry(error instanceof Error ? error.message : String(error), 5)
    })
    const { path, digest } = file
    const key = (encryption ? encryptedKeyOf : plainKeyOf)(account, digest)
    try {
      if (!(await claim(account, id, digest))) throw overtaken()
      if (encryption) await place.put(key, await encryption.finish(path, key), encryptedType)
      else await place.put(key, file, mime)
    } finally {
      await rm(path, { force: true })
    }
    const kept = await db.begin(async (tx) => {
      const kept = await store.keep(tx, account, id, { type, mime, ...file, key })
      if (!kept) await askToDiscard(tx, account, digest)
      else await quotas.checkBytes(tx, account)
      return kept
    })
    if (!kept) throw overtaken()
    return fileOf({ ...kept, key })
  }

  /** Before it is in the store, so that nobody takes it away for being nobody's; other bytes of an earlier attempt go. */
  const claim = (account: string, id: string, digest: Buffer) =>
    db.begin(async (tx) => {
      await store.amongKeepers(tx, account, digest)
      const held = await store.hold(tx, account, id)
      if (!held) return false
      await store.claim(tx, account, id, digest)
      if (held.digest && !held.digest.equals(digest)) await askToDiscard(tx, account, held.digest)
      return true
    })

  const giveUp: Media['giveUp'] = async (tx, account, id, reason) => {
    const given = await store.giveUp(tx, account, id, reason.slice(0, 300))
    if (given?.digest) await askToDiscard(tx, account, given.digest)
  }

  return {
    links,
    turns,
    find: (account, id) => store.find(db, account, id),
    read,
    fetch: async (job, id, network, signal) => {
      const account = job.account ?? ''
      const row = await store.find(db, account, id)
      const failure = (reason: string) => ({ failure: { code: 'media_unavailable', reason } })
      if (!row) return failure('the file is not known')
      if (row.error !== null) {
        // An attempt that a crash ended may have put its bytes there after they were looked for.
        const { digest } = row
        if (digest) await db.begin((tx) => askToDiscard(tx, account, digest))
        return failure(row.error)
      }
      const { key } = row
      if (key !== null) return { file: fileOf({ ...row, key }) }
      try {
        return { file: await turns.take(job, signal, (until) => bring(job, row, network, until)) }
      } catch (error) {
        // The only refusal of ours is that of the account's stored bytes.
        if (!(error instanceof Gone || error instanceof Problem)) throw error
        await db.begin((tx) => giveUp(tx, account, id, error.message))
        return failure(error.message.slice(0, 300))
      }
    },
    giveUp,
    discard: (account, digest) =>
      db.begin(async (tx) => {
        await store.alone(tx, account, digest)
        if (await store.isWanted(tx, account, digest)) return
        // The setting may have changed between two messages with the same file.
        for (const keyOf of [plainKeyOf, encryptedKeyOf]) await place.delete(keyOf(account, digest))
      }),
  }
}
