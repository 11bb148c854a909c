import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import type { Config } from '../../../config.ts'
import type { Db, Sql, Tx } from '../../../platform/db/sql.ts'
import { Problem, refuse } from '../../../platform/http/problem.ts'
import type { Quotas } from '../../../platform/http/quotas.ts'
import { type Job, Retry } from '../../../platform/jobs/job-kind.ts'
import type { Clock } from '../../../platform/lib/clock.ts'
import { type Encryption, mediaCipher } from '../../../platform/lib/encrypted-file.ts'
import { type ByteRange, type FileStore, type LocalFile, makeFolderStore } from '../../../platform/lib/file-store.ts'
import { parse, print, uuid } from '../../../platform/lib/id.ts'
import type { Outbound, OutboundPair } from '../../../platform/lib/outbound.ts'
import { OutboundError } from '../../../platform/lib/outbound-exchange.ts'
import { makeS3Store } from '../../../platform/lib/s3-store.ts'
import type { Seal } from '../../../platform/lib/secret.ts'
import { type LinkDeps, makeSignedLinks, type SignedLinks } from '../../../platform/lib/signed-links.ts'
import type { ChatNetwork } from '../../../ports/chat.ts'
import type { ChatFile } from '../../../ports/chat-message.ts'
import { maxSourceSilenceMs, maxUploadBytes } from '../limits.ts'
import { snoozeForNetwork, type TimedJob } from '../operations/snooze.ts'
import { refusals } from '../refusals.ts'
import { type FetchLimiter, makeFetchLimiter, raceSignal } from './fetch-limiter.ts'
import { requestDeletion, requestDeletions } from './media-gc.ts'
import { maxBytes, mimeOf, nameOf, typeOf } from './media-types.ts'
import { processFolder, removePartial, spool, TooLarge } from './spool.ts'
import * as store from './store.ts'

export type MediaDeps = {
  readonly db: Db
  readonly config: Pick<Config, 'home' | 'mediaStore' | 'encryptFiles'>
  readonly outbound: OutboundPair
  readonly sandboxAccounts: { has(account: string): boolean }
  readonly quotas: Quotas
  readonly seal: Seal
  readonly clock: Clock
  readonly publicUrl: () => string
}

/** A stored file, or the permanent failure. */
export type FetchResult =
  | { readonly file: ChatFile }
  | { readonly failure: { readonly code: string; readonly reason: string } }

export type Media = {
  readonly links: SignedLinks
  /** Limits concurrent fetches. */
  readonly fetchLimiter: FetchLimiter
  find(account: string, id: string): Promise<store.MediaRow | null>
  /** Returns the files with these ids, in any order. */
  findAll(sql: Sql, account: string, ids: readonly string[]): Promise<store.MediaRow[]>
  /**
   * Reads a stored file, or a range of it.
   * @throws Unreadable if it is encrypted and cannot be decrypted
   */
  read(file: StoredMedia, span?: ByteRange): Promise<Readable>
  /**
   * Ensures that a file is in the store. Fetches it once, from its URL or from its network.
   * @param job the requester
   * @param network null for a file with a URL
   * @param headersFor returns the headers of the request for a URL. Default: none
   * @throws Retry on a temporary failure, Later if no slot is free
   */
  fetch(
    job: FetchJob,
    id: string,
    network: ChatNetwork | null,
    signal: AbortSignal,
    headersFor?: HeadersFor,
  ): Promise<FetchResult>
  /**
   * Fetches a file from a URL, as an upload that can be sent.
   * @param most bytes
   * @throws Unavailable, in words of the URL; the 403 Problem for an exhausted quota
   */
  fetchUpload(account: string, url: string, most: number, signal: AbortSignal): Promise<store.MediaRow>
  /** Marks a file as failed: it will not be fetched any more. */
  markFailed(tx: Tx, account: string, id: string, reason: string): Promise<void>
  /**
   * Stores an uploaded file.
   * @throws Problem 400 for an empty file, 403 for an exhausted quota, 413
   */
  upload(account: string, file: UploadFile): Promise<store.MediaRow>
  /** Deletes uploads that were not sent, so that they do not count until the end of the day. */
  removeUploads(account: string, uploads: readonly string[]): Promise<void>
  /** Deletes the bytes with this digest from the store, unless a message has them. */
  discard(account: string, digest: Buffer): Promise<void>
}

/** Returns the headers of the request for a file with a URL. */
export type HeadersFor = (source: {
  readonly url: string
  readonly connection?: string
}) => Promise<Readonly<Record<string, string>>>

/** A file whose bytes are in the store. */
export type StoredMedia = store.MediaRow & { readonly key: string }

/** The bytes of an upload, with its MIME type and name. `most`: its limit in bytes. Default: that of files of messages. */
export type UploadFile = FileNames & { readonly body: Readable; readonly most?: number }

/** The MIME type and the name of a file. */
type FileNames = { readonly mime: string; readonly name: string }

type FetchJob = TimedJob & Pick<Job, 'account'>

type FetchSource = { readonly body: Readable; readonly type: string | null; readonly length: number | null }

/** The retry finds out which of the two happened. */
const overtaken = () => new Retry('the file was fetched or given up meanwhile', 1)

/** A permanent failure. */
export class Unavailable extends Error {}

const retryableStatuses = new Set([408, 425, 429])

const fromAddress = async (
  outbound: Outbound,
  url: string,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<FetchSource> => {
  const answer = await outbound.get({ url, headers, idleMs: maxSourceSilenceMs, signal }).catch((error: unknown) => {
    if (error instanceof OutboundError && error.code === 'refused') throw new Unavailable(`its URL ${error.message}`)
    throw new Retry(error instanceof Error ? error.message : String(error), 5)
  })
  const { status, retryAfter } = answer
  if (status === 200) return answer
  answer.body.destroy()
  if (status < 500 && !retryableStatuses.has(status)) throw new Unavailable(`its URL answered ${status}`)
  throw new Retry(`its URL answered ${status}`, Math.min(Number(retryAfter) || 5, 300))
}

const fromNetwork = async (
  job: FetchJob,
  network: ChatNetwork | null,
  channel: string,
  id: string,
  signal: AbortSignal,
): Promise<FetchSource> => {
  if (!network?.media) throw new Unavailable('the network keeps no files')
  const answer = await raceSignal(signal, network.media(channel, id))
  if (answer.outcome === 'refused') throw new Unavailable(answer.reason)
  if (answer.outcome === 'later') return snoozeForNetwork(job, answer)
  if (answer.outcome !== 'done') throw new Retry(answer.reason, 5)
  return { body: answer.value.body, type: answer.value.mimeType, length: null }
}

/** Creates a stream that opens its source when it is first read. */
const lazily = (open: () => Promise<Readable>): Readable => {
  const through = new PassThrough()
  open().then(
    (stream) => stream.once('error', (error) => through.destroy(error)).pipe(through),
    (error: unknown) => through.destroy(error instanceof Error ? error : new Error(String(error))),
  )
  return through
}

const keyOf = (account: string, name: string): string => `${account}/${name.slice(0, 2)}/${name}`

/**
 * Key suffix of encrypted files. The key is in the database, so write access to the store cannot substitute a plain
 * file.
 */
const encryptedEnding = '.enc'
const encryptedType = 'application/octet-stream'

const homeOf = ({ home }: Pick<Config, 'home'>): string => join(resolve(home), 'media')

const fileStoreOf = (config: MediaDeps['config']): FileStore =>
  config.mediaStore?.startsWith('s3://')
    ? makeS3Store(config.mediaStore)
    : makeFolderStore(config.mediaStore ?? homeOf(config))

type SpooledFile = LocalFile & { readonly encryption: Encryption | null }

/** The stored bytes: plain or encrypted files in a folder or a bucket. */
const makeMediaFiles = (parts: MediaDeps, fileStore: FileStore, links: SignedLinks) => {
  const { db, seal, config } = parts
  const arriving = join(homeOf(config), 'arriving')
  // Removes partial files of earlier processes.
  const swept = removePartial(arriving)
  const cipher = mediaCipher(seal)
  const plainKeyOf = (account: string, digest: Buffer) => keyOf(account, digest.toString('hex'))
  const encryptedKeyOf = (account: string, digest: Buffer) =>
    keyOf(account, cipher.nameOf(account, digest)) + encryptedEnding

  const read: Media['read'] = ({ account_id: account, key, size }, span) =>
    key.endsWith(encryptedEnding)
      ? cipher.open((part) => fileStore.get(key, part), { account, place: key, size: size ?? 0 }, span)
      : fileStore.get(key, span)

  const present = (row: StoredMedia): ChatFile => ({
    type: row.type,
    mimeType: row.mime_type,
    name: row.name,
    size: row.size ?? 0,
    url: links.urlOf(row.account_id, row.id),
    open: () => lazily(() => read(row)),
  })

  /** Writes a stream to the disk, encrypted if the setting says so. */
  const spoolFile = async (
    account: string,
    body: Readable,
    limit: number,
    signal: AbortSignal,
  ): Promise<SpooledFile> => {
    await swept
    const encryption = config.encryptFiles ? cipher.encrypt(account) : null
    return { ...(await spool(join(arriving, processFolder), body, limit, signal, encryption)), encryption }
  }

  const storedKeyOf = (account: string, { digest, encryption }: SpooledFile): string =>
    (encryption ? encryptedKeyOf : plainKeyOf)(account, digest)

  const put = async (key: string, { encryption, ...file }: SpooledFile, mime: string): Promise<void> => {
    if (encryption) await fileStore.put(key, await encryption.finish(file.path, key), encryptedType)
    else await fileStore.put(key, file, mime)
  }

  const discard: Media['discard'] = (account, digest) =>
    db.begin(async (tx) => {
      await store.lockDigestExclusive(tx, account, digest)
      if (await store.isUsed(tx, account, digest)) return
      // The setting may have changed between two messages with the same file.
      for (const keyOf of [plainKeyOf, encryptedKeyOf]) await fileStore.delete(keyOf(account, digest))
      for (const name of cipher.formerNamesOf(account, digest))
        await fileStore.delete(keyOf(account, name) + encryptedEnding)
    })

  return { read, present, spool: spoolFile, keyOf: storedKeyOf, put, discard }
}

type MediaFiles = ReturnType<typeof makeMediaFiles>

const markFailed: Media['markFailed'] = async (tx, account, id, reason) => {
  const failed = await store.markFailed(tx, account, id, reason.slice(0, 300))
  if (failed?.digest) await requestDeletion(tx, account, failed.digest)
}

/** Fetches files from their URLs or networks. */
const makeMediaFetch = (parts: MediaDeps, files: MediaFiles, fetchLimiter: FetchLimiter): Media['fetch'] => {
  const { db, outbound, quotas, sandboxAccounts } = parts

  /**
   * Records the digest before the file is in the store, so that no deletion takes it for unused. Other bytes of an
   * earlier attempt are deleted.
   */
  const claim = (account: string, id: string, digest: Buffer) =>
    db.begin(async (tx) => {
      await store.lockDigestShared(tx, account, digest)
      const locked = await store.lockUnfetched(tx, account, id)
      if (!locked) return false
      await store.recordDigest(tx, account, id, digest)
      if (locked.digest && !locked.digest.equals(digest)) await requestDeletion(tx, account, locked.digest)
      return true
    })

  const fetchFile = async (
    job: FetchJob,
    row: store.MediaRow,
    network: ChatNetwork | null,
    signal: AbortSignal,
    headersFor: HeadersFor | undefined,
  ): Promise<ChatFile> => {
    const full = await quotas.storageExhausted(db, row.account_id)
    if (full) throw full
    const isOurs = 'url' in row.source && row.type === 'document'
    const opened =
      'url' in row.source
        ? await fromAddress(
            outbound.of(sandboxAccounts.has(row.account_id)),
            row.source.url,
            signal,
            await headersFor?.(row.source),
          )
        : await fromNetwork(job, network, row.channel_id, row.source.id, signal)
    const { body, length } = opened
    const received = mimeOf(opened.type, row.name)
    const mime = received === 'application/octet-stream' ? row.mime_type : received
    const type = isOurs ? typeOf(mime) : row.type
    if (length !== null && length > maxBytes[type]) {
      body.destroy()
      throw new Unavailable(`it has ${length} bytes, and the limit for its type is ${maxBytes[type]}`)
    }
    const { account_id: account, id } = row
    const file = await files.spool(account, body, maxBytes[type], signal).catch((error: unknown) => {
      if (error instanceof TooLarge) throw new Unavailable(error.message)
      throw new Retry(error instanceof Error ? error.message : String(error), 5)
    })
    const { path, digest } = file
    const key = files.keyOf(account, file)
    try {
      if (!(await claim(account, id, digest))) throw overtaken()
      await files.put(key, file, mime)
    } finally {
      await rm(path, { force: true })
    }
    const stored = await db.begin(async (tx) => {
      const stored = await store.markStored(tx, account, id, { type, mime, ...file, key })
      if (!stored) await requestDeletion(tx, account, digest)
      else await quotas.checkBytes(tx, account)
      return stored
    })
    if (!stored) throw overtaken()
    return files.present({ ...stored, key })
  }

  return async (job, id, network, signal, headersFor) => {
    const account = job.account ?? ''
    const row = await store.find(db, account, id)
    const failure = (reason: string) => ({ failure: { code: 'media_unavailable', reason } })
    if (!row) return failure('the file does not exist')
    if (row.error !== null) {
      // A crashed attempt may have stored its bytes after they were searched for.
      const { digest } = row
      if (digest) await db.begin((tx) => requestDeletion(tx, account, digest))
      return failure(row.error)
    }
    const { key } = row
    if (key !== null) return { file: files.present({ ...row, key }) }
    try {
      return { file: await fetchLimiter.run(job, signal, (until) => fetchFile(job, row, network, until, headersFor)) }
    } catch (error) {
      // The only Problem thrown here is the account's storage quota.
      if (!(error instanceof Unavailable || error instanceof Problem)) throw error
      await db.begin((tx) => markFailed(tx, account, id, error.message))
      return failure(error.message.slice(0, 300))
    }
  }
}

/** Stores uploads: files that people upload, and files that are fetched before they are sent. */
const makeMediaUploads = (
  { db, quotas, outbound, sandboxAccounts }: MediaDeps,
  files: MediaFiles,
): Pick<Media, 'upload' | 'fetchUpload'> => {
  const storeUpload = async (account: string, { mime, name }: FileNames, file: SpooledFile) => {
    const { digest, size } = file
    if (size === 0) throw refusals.emptyFile()
    const id = uuid()
    const displayed = typeOf(mime)
    // A network refuses a picture of this size as a picture, and takes it as a document.
    const type = size > maxBytes[displayed] ? 'document' : displayed
    const key = files.keyOf(account, file)
    await db.begin(async (tx) => {
      await store.lockDigestShared(tx, account, digest)
      await store.addUpload(tx, account, { id, type, mime, name, digest })
    })
    await files.put(key, file, mime)
    // Without this commit the row is deleted after a day, and the bytes with it.
    return await db.begin(async (tx) => {
      const stored = await store.markStored(tx, account, id, { type, mime, size, digest, key })
      await quotas.checkBytes(tx, account)
      return stored ?? refuse(refusals.unknownUpload(id))
    })
  }

  const checkQuota = async (account: string): Promise<void> => {
    const full = await quotas.storageExhausted(db, account)
    if (full) throw full
  }

  const storeAndRemove = async (account: string, source: FileNames, file: SpooledFile): Promise<store.MediaRow> => {
    try {
      return await storeUpload(account, source, file)
    } finally {
      await rm(file.path, { force: true })
    }
  }

  /** Fetches a file to the disk. @throws Unavailable */
  const fetchToDisk = async (account: string, url: string, most: number, signal: AbortSignal) => {
    const { body, type, length } = await fromAddress(outbound.of(sandboxAccounts.has(account)), url, signal)
    if (length !== null && length > most) body.destroy()
    if (length !== null && length > most) throw new Unavailable(`it has ${length} bytes, and at most ${most} are left`)
    return { type, file: await files.spool(account, body, most, signal) }
  }

  return {
    upload: async (account, source) => {
      await checkQuota(account)
      const { signal } = new AbortController()
      const { body, most = maxUploadBytes } = source
      const file = await files.spool(account, body, most, signal).catch((error: unknown) => {
        throw error instanceof TooLarge ? refusals.uploadTooLarge(most) : error
      })
      return await storeAndRemove(account, source, file)
    },
    fetchUpload: async (account, url, most, signal) => {
      await checkQuota(account)
      const { type, file } = await fetchToDisk(account, url, most, signal).catch((error: unknown) => {
        // A client waits: a temporary failure is its to repeat.
        throw new Unavailable(error instanceof Error ? error.message : String(error))
      })
      if (file.size === 0) {
        await rm(file.path, { force: true })
        throw new Unavailable('it is empty')
      }
      const name = nameOf(url)
      return await storeAndRemove(account, { mime: mimeOf(type, name), name }, file)
    },
  }
}

/** Describes a file by its address, and by the MIME type that its source states, if it does. */
export const describeFile = (url: string, stated: string | null) => {
  const name = nameOf(url)
  const mimeType = mimeOf(stated, name)
  return { name, mimeType, type: typeOf(mimeType) }
}

/** Adds files of messages that are still to be fetched. */
export const addUnfetched = store.addUnfetched

/** Makes the links to files of messages. */
export const makeMediaLinks = (deps: LinkDeps): SignedLinks => makeSignedLinks(deps, 'media', (id) => `/media/${id}`)

export const makeMedia = (parts: MediaDeps, fileStore = fileStoreOf(parts.config)): Media => {
  const links = makeMediaLinks(parts)
  const fetchLimiter = makeFetchLimiter()
  const files = makeMediaFiles(parts, fileStore, links)
  return {
    links,
    fetchLimiter,
    find: (account, id) => store.find(parts.db, account, id),
    findAll: store.findAll,
    read: files.read,
    fetch: makeMediaFetch(parts, files, fetchLimiter),
    markFailed,
    ...makeMediaUploads(parts, files),
    removeUploads: (account, uploads) =>
      parts.db.begin(async (tx) => void (await requestDeletions(tx, await store.removeUploads(tx, account, uploads)))),
    discard: files.discard,
  }
}

/** Checks that an account has an upload, which stays until the transaction ends. @returns its id and digest
 *  @throws the 404 Problem */
export const requireUpload = async (tx: Tx, account: string, printed: string) => {
  const id = parse('MED', printed)
  const digest = id && (await store.lockUpload(tx, account, id))
  return id && digest ? { id, digest } : refuse(refusals.unknownUpload(printed))
}

/** Deletes files of a message, and their bytes unless another message has them. */
export const removeFiles = async (tx: Tx, account: string, files: readonly string[]): Promise<void> => {
  for (const { digest } of await store.removeFiles(tx, account, files))
    if (digest) await requestDeletion(tx, account, digest)
}

/** Makes files of a message from uploads, which cannot be sent again. @throws the 404 Problem */
export const takeUploads = async (
  tx: Tx,
  account: string,
  uploads: readonly string[],
  channel: string,
): Promise<void> => {
  const taken = new Set(await store.takeUploads(tx, account, uploads, channel))
  const missing = uploads.find((id) => !taken.has(id))
  if (missing !== undefined) throw refusals.unknownUpload(print('MED', missing))
}

/** Keeps an upload until `removeFiles`, whatever its age. @throws the 404 Problem */
export const keepUpload = (tx: Tx, account: string, upload: string): Promise<void> =>
  takeUploads(tx, account, [upload], store.permanentChannel)

/** Makes a file of a message from an upload, which stays and may be sent again. @returns its id @throws the 404 Problem */
export const useUpload = async (tx: Tx, account: string, printed: string, channel: string): Promise<string> => {
  const upload = await requireUpload(tx, account, printed)
  // The bytes are not deleted while the row of the upload is locked, nor later, as the new row has them.
  await store.lockDigestShared(tx, account, upload.digest)
  const id = uuid()
  await store.copyUpload(tx, account, upload.id, { id, channel })
  return id
}
