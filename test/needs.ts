import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Programs that some tests use beside what npm brings, and the Debian packages that hold them. .ci/run installs these. */
export const packages = {
  'PostgreSQL 15': 'postgresql-15',
  chromium: 'chromium',
  openssl: 'openssl',
  curl: 'curl',
  bearerbox: 'kannel',
  drive_smpp: 'kannel-extras',
  tshark: 'tshark',
  'Net::SMPP': 'libnet-smpp-perl',
  prosody: 'prosody',
  sipp: 'sip-tester',
  baresip: 'baresip',
  rtpengine: 'rtpengine-daemon',
  turnserver: 'coturn',
  pgbouncer: 'pgbouncer',
  buildah: 'buildah',
  debootstrap: 'debootstrap',
  'systemd-notify': 'systemd',
} as const

type Program = keyof typeof packages

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** True when a program of this name can be started. */
const isOnPath = (program: string): boolean =>
  [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'].some((folder) =>
    isExecutable(join(folder, program)),
  )

const missing = (reason: string): { skip: string } => {
  if (process.env.CI === 'true') throw new Error(reason)
  return { skip: reason }
}

/**
 * The options of a test that uses a program: skipped where that is missing, and the run says how to install it.
 * @param isHere for programs that are not started by their name
 * @throws Error with CI=true: a run that is meant to be complete does not pass with a part of the proof
 */
export const needs = (program: Program, isHere = isOnPath(program)): { skip: false | string } => {
  if (isHere) return { skip: false }
  return missing(`needs ${program}: apt-get install ${packages[program]}`)
}

/**
 * The options of a test that uses recorded data which are kept beside the repository.
 * @param folder null where they are missing
 * @throws Error with CI=true, as for programs
 */
export const needsData = (folder: string | null, what: string): { skip: false | string } =>
  folder === null ? missing(`needs ${what}`) : { skip: false }
