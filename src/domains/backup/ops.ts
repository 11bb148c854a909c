import type { Writable } from 'node:stream'
import { createBackup, type RunControl } from './create/create-backup.ts'
import { openTar } from './format/backup-archive.ts'
import { readBackup } from './format/read-backup.ts'
import { rehearse } from './rehearsal/rehearse.ts'
import { restoreBackup } from './restore/restore-backup.ts'
import { verifyBackup } from './verify/verify-backup.ts'

const ignore = async (): Promise<void> => {}

/** Reads a backup to its end and compares every digest. @throws BadBackup, Unreadable */
const show = (file: string, passphrase: string, { signal }: Pick<RunControl, 'signal'>) =>
  readBackup(file, passphrase, { begin: ignore, entry: async () => signal.throwIfAborted() })

/** Writes a backup as a plain tar file, which other programs can read. @throws BadBackup, Unreadable */
const tar = async (
  file: string,
  passphrase: string,
  to: Writable,
  { signal }: Pick<RunControl, 'signal'>,
): Promise<void> => (await openTar(file, passphrase))(to, signal)

/** The operations on backups, and the rehearsal of an upgrade, whose copy is made as a backup is. */
export const backups = {
  ...{ create: createBackup, show, tar, verify: verifyBackup, restore: restoreBackup },
  rehearse,
} as const
