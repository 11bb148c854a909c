import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { syncToDisk } from '../../../platform/lib/file-store.ts'
import { uuid } from '../../../platform/lib/id.ts'
import { soundCacheBytes, soundGraceMs, soundRetentionMs, soundTouchMs } from '../limits.ts'

// Converted sounds on the disk, below a folder for each account:
//
//   <key>.<sha256 of the octets>.ulaw   the sound. A changed sound has another name, as workers hold files by their names
//   <key>.json                          what is known about its origin: see `SoundOrigin`
//
// The key is the SHA-256 of the sound's source. Files are written to the folder `arriving` first and then renamed, so that
// a crash leaves no partial sound. The names and times of the files are the index after a restart. Only the process that
// runs calls uses the folder.

/** The data that revalidate a sound (RFC 9111, 4.3). `expiresAt`: Unix milliseconds. */
export type SoundOrigin = {
  readonly etag: string | null
  readonly lastModified: string | null
  readonly expiresAt: number
}

/** A sound that is to be stored: a file in the folder of `temporaryFile`. */
export type NewSound = { readonly file: string; readonly sha256: string; readonly octets: number }

/** `unusedMs`: the longest time without a use. */
export type SoundCacheLimits = {
  readonly total: number
  readonly perAccount: number
  readonly graceMs: number
  readonly unusedMs: number
}

const ordinaryLimits: SoundCacheLimits = { ...soundCacheBytes, graceMs: soundGraceMs, unusedMs: soundRetentionMs }

type Entry = { readonly sha256: string; readonly bytes: number; usedAt: number }

/** Bytes of a file system's block: what a file takes at least, and what its name and its origin take. */
const blockBytes = 4_096

const bytesOnDisk = (octets: number): number => (Math.ceil(octets / blockBytes) + 1) * blockBytes

const accountName = /^[0-9a-f-]{36}$/
const soundName = /^([0-9a-f]{64})\.([0-9a-f]{64})\.ulaw$/

/** Returns the key of a source. */
export const soundKey = (...source: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(source)).digest('hex')

const isOrigin = (value: unknown): value is SoundOrigin =>
  typeof value === 'object' &&
  value !== null &&
  'etag' in value &&
  'lastModified' in value &&
  'expiresAt' in value &&
  [value.etag, value.lastModified].every((one) => one === null || typeof one === 'string') &&
  typeof value.expiresAt === 'number'

export class SoundCache {
  readonly #folder: string
  readonly #limits: SoundCacheLimits
  /** Entries of each account by key, least recently used first. */
  readonly #accounts = new Map<string, Map<string, Entry>>()
  readonly #bytes = new Map<string, number>()
  #total = 0
  /** Files that others have replaced, with the timers of their deletion. */
  readonly #replaced = new Map<string, NodeJS.Timeout>()
  readonly #ready: Promise<void>

  constructor(home: string, limits: Partial<SoundCacheLimits> = {}) {
    this.#folder = join(home, 'sounds')
    this.#limits = { ...ordinaryLimits, ...limits }
    this.#ready = this.#scan()
    // Reported to the first caller.
    this.#ready.catch(() => {})
  }

  /** Bytes on the disk. */
  get bytes(): number {
    return this.#total
  }

  /** Returns the path of a new temporary file. @throws Error if the folder cannot be made */
  async temporaryFile(): Promise<string> {
    await this.#ready
    return join(this.#arriving, uuid())
  }

  /** Returns the path of a sound, or null. A found sound stays for the time of grace. */
  async find(account: string, key: string): Promise<string | null> {
    await this.#ready
    const entries = this.#accounts.get(account)
    const entry = entries?.get(key)
    if (!entries || !entry) return null
    const path = this.#pathOf(account, key, entry.sha256)
    const now = Date.now()
    const isTouched = now - entry.usedAt > soundTouchMs
    // Before the first wait: from now on no other sound displaces it.
    entry.usedAt = now
    entries.delete(key)
    entries.set(key, entry)
    if (isTouched) await utimes(path, now / 1_000, now / 1_000).catch(() => {})
    if (await isWhole(path, entry)) return path
    // Changed or deleted by hand.
    if (entries.get(key) === entry) this.#forget(account, key)
    return null
  }

  /** Returns the origin of a sound; null if it is unknown. */
  async originOf(account: string, key: string): Promise<SoundOrigin | null> {
    try {
      const value: unknown = JSON.parse(await readFile(this.#originPath(account, key), 'utf8'))
      return isOrigin(value) ? value : null
    } catch {
      return null
    }
  }

  async setOrigin(account: string, key: string, origin: SoundOrigin): Promise<void> {
    const file = await this.temporaryFile()
    await writeFile(file, JSON.stringify(origin), { mode: 0o600 })
    await rename(file, this.#originPath(account, key))
  }

  /** Stores a sound in place of an earlier one with its key, and deletes others beyond the limits. @returns its path */
  async add(account: string, key: string, { file, sha256, octets }: NewSound): Promise<string> {
    await this.#ready
    await mkdir(join(this.#folder, account), { recursive: true, mode: 0o700 })
    const path = this.#pathOf(account, key, sha256)
    // The content is on the disk before its name is.
    await syncToDisk(file)
    await rename(file, path)
    clearTimeout(this.#replaced.get(path))
    this.#replaced.delete(path)
    const former = this.#accounts.get(account)?.get(key)
    this.#forget(account, key)
    this.#insert(account, key, { sha256, bytes: octets, usedAt: Date.now() })
    if (former && former.sha256 !== sha256) this.#deleteLater(this.#pathOf(account, key, former.sha256))
    await this.#evict(account)
    return path
  }

  /** Deletes files whose time of grace has not passed. The cache must not be used any more. */
  async close(): Promise<void> {
    await this.#ready.catch(() => {})
    for (const [path, timer] of this.#replaced) {
      clearTimeout(timer)
      await rm(path, { force: true })
    }
    this.#replaced.clear()
  }

  /** A player may be about to open the file. */
  #deleteLater(path: string): void {
    const remove = () => {
      this.#replaced.delete(path)
      rm(path, { force: true }).catch(() => {})
    }
    clearTimeout(this.#replaced.get(path))
    this.#replaced.set(path, setTimeout(remove, Math.max(0, this.#limits.graceMs)).unref())
  }

  get #arriving(): string {
    return join(this.#folder, 'arriving')
  }

  #pathOf(account: string, key: string, sha256: string): string {
    return join(this.#folder, account, `${key}.${sha256}.ulaw`)
  }

  #originPath(account: string, key: string): string {
    return join(this.#folder, account, `${key}.json`)
  }

  #insert(account: string, key: string, entry: Entry): void {
    const entries = this.#accounts.get(account) ?? new Map<string, Entry>()
    this.#accounts.set(account, entries.set(key, entry))
    this.#count(account, bytesOnDisk(entry.bytes))
  }

  #forget(account: string, key: string): Entry | null {
    const entries = this.#accounts.get(account)
    const entry = entries?.get(key)
    if (!entries || !entry) return null
    entries.delete(key)
    if (entries.size === 0) this.#accounts.delete(account)
    this.#count(account, -bytesOnDisk(entry.bytes))
    return entry
  }

  #count(account: string, bytes: number): void {
    this.#total += bytes
    const own = (this.#bytes.get(account) ?? 0) + bytes
    if (own === 0) this.#bytes.delete(account)
    else this.#bytes.set(account, own)
  }

  /**
   * Deletes sounds that nobody has used for long, which may be those of a deleted clip or of a person's text; then sounds of an
   * account beyond its share, and of any account beyond the total: least recently used first.
   */
  async #evict(account: string): Promise<void> {
    while (await this.#deleteOldest([...this.#accounts.keys()], this.#limits.unusedMs));
    while ((this.#bytes.get(account) ?? 0) > this.#limits.perAccount && (await this.#deleteOldest([account])));
    while (this.#total > this.#limits.total && (await this.#deleteOldest([...this.#accounts.keys()])));
  }

  /** @param ageMs since the last use; default: the time of grace, as a player may be about to open it @returns false if every
   *  sound was used since */
  async #deleteOldest(accounts: readonly string[], ageMs = this.#limits.graceMs): Promise<boolean> {
    let oldest: { account: string; key: string; usedAt: number } | null = null
    for (const account of accounts)
      for (const [key, { usedAt }] of this.#accounts.get(account) ?? []) {
        if (!oldest || usedAt < oldest.usedAt) oldest = { account, key, usedAt }
        break
      }
    if (!oldest || oldest.usedAt > Date.now() - ageMs) return false
    const { account, key } = oldest
    const entry = this.#forget(account, key)
    if (entry) await rm(this.#pathOf(account, key, entry.sha256), { force: true })
    await rm(this.#originPath(account, key), { force: true })
    return true
  }

  /** Reads the files that an earlier process left. */
  async #scan(): Promise<void> {
    await rm(this.#arriving, { recursive: true, force: true })
    await mkdir(this.#arriving, { recursive: true, mode: 0o700 })
    const found: { account: string; key: string; entry: Entry }[] = []
    for (const account of await readdir(this.#folder)) {
      if (!accountName.test(account)) continue
      const names = await readdir(join(this.#folder, account))
      const keys = new Set(names.flatMap((name) => soundName.exec(name)?.[1] ?? []))
      for (const name of names) {
        const [, key, sha256] = soundName.exec(name) ?? []
        if (key === undefined || sha256 === undefined) {
          // The origin of a sound whose deletion a crash interrupted.
          if (!keys.has(basename(name, '.json'))) await rm(join(this.#folder, account, name), { recursive: true })
          continue
        }
        const { size, mtimeMs } = await stat(join(this.#folder, account, name))
        found.push({ account, key, entry: { sha256, bytes: size, usedAt: mtimeMs } })
      }
    }
    for (const { account, key, entry } of found.sort((a, b) => a.entry.usedAt - b.entry.usedAt)) {
      // A crash came between the rename of a changed sound and the deletion of the former one.
      const former = this.#forget(account, key)
      if (former) await rm(this.#pathOf(account, key, former.sha256), { force: true })
      this.#insert(account, key, entry)
    }
  }
}

const isWhole = (path: string, { bytes }: Entry): Promise<boolean> =>
  stat(path).then(
    ({ size }) => size === bytes,
    () => false,
  )
