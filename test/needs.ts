import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Programs from outside npm that some tests use, and the Debian packages that hold them. .ci/run installs these. */
export const packages = {
  'PostgreSQL 15': 'postgresql-15',
  chromium: 'chromium',
  'chromium-headless-shell': 'chromium-headless-shell',
  'firefox-esr': 'firefox-esr',
  openssl: 'openssl',
  curl: 'curl',
  bearerbox: 'kannel',
  drive_smpp: 'kannel-extras',
  tshark: 'tshark',
  'Net::SMPP': 'libnet-smpp-perl',
  postfix: 'postfix',
  prosody: 'prosody',
  ejabberdctl: 'ejabberd',
  sipp: 'sip-tester',
  kamailio: 'kamailio',
  baresip: 'baresip',
  rtpengine: 'rtpengine-daemon',
  turnserver: 'coturn',
  pgbouncer: 'pgbouncer',
  patroni: 'patroni',
  etcd: 'etcd-server',
  haproxy: 'haproxy',
  buildah: 'buildah',
  debootstrap: 'debootstrap',
  'systemd-notify': 'systemd',
  script: 'bsdutils',
  zsh: 'zsh',
  fish: 'fish',
  python3: 'python3',
  'python3-twilio': 'python3-twilio',
  php: 'php-cli',
  go: 'golang-go',
  ruby: 'ruby',
  'espeak-ng': 'espeak-ng',
  pocketsphinx_continuous: 'pocketsphinx',
  'pocketsphinx-en-us': 'pocketsphinx-en-us',
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

/** Whether a program of this name can be started. */
const isOnPath = (program: string): boolean =>
  [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'].some((folder) =>
    isExecutable(join(folder, program)),
  )

const missing = (reason: string): { skip: string } => {
  if (process.env.CI === 'true') throw new Error(reason)
  return { skip: reason }
}

/**
 * The options of a test that uses a program: skipped where the program is missing, and the run prints how to install
 * it.
 * @param isHere for programs that are not started by their name
 * @throws Error with CI=true: a run that must be complete does not pass with a part of the proof
 */
export const needs = (program: Program, isHere = isOnPath(program)): { skip: false | string } => {
  if (isHere) return { skip: false }
  return missing(`needs ${program}: apt-get install ${packages[program]}`)
}

/**
 * The options of a test that uses recorded data from outside the repository.
 * @param folder null where the data is missing
 * @throws Error with CI=true, as for programs
 */
export const needsData = (folder: string | null, what: string): { skip: false | string } =>
  folder === null ? missing(`needs ${what}`) : { skip: false }

/** Whether this is the full form: `npm test -- --full`. */
export const isFullForm = process.env.TRUNKLINE_TEST_FORM === 'full'

/**
 * The options of a test that only the full form runs (`npm test -- --full`). The fast form lists it at its end.
 * @param why the reason, such as what the fast form has in its place
 * @param isMain true for tests of a list that the fast form runs, too
 */
export const fullForm = (why: string, isMain = false): { skip: false | string } => ({
  skip: isMain || isFullForm ? false : `full form: ${why}`,
})

/**
 * The options of a test that a walk makes for each endpoint: the fast form has every fifth, and `--changed` those near a
 * change.
 * @param n the number of the endpoint in the walk
 */
export const everyFifth = (n: number): { skip: false | string } =>
  fullForm('further endpoints of a walk', n % 5 === 0 || process.env.TRUNKLINE_TEST_CONTRACTS !== undefined)

/** The number of random inputs of a form: the fast one tries a quarter. */
export const randomInputs = (full: number): number => (isFullForm ? full : Math.ceil(full / 4))

/** The options of a walk of the console that only the full form runs. The fast form has the main ones of each section. */
export const furtherWalk = (): { skip: false | string } =>
  isFullForm ? needs('chromium') : fullForm('further walks of the console')

/**
 * The options of a test that only the long form runs; otherwise it counts as skipped.
 * @param isShort true for tests of a list that the short form runs, too
 */
export const longForm = (isShort = false): { skip: false | string } => ({
  skip: isShort || process.env.TRUNKLINE_TEST_LONG === '1' ? false : 'takes long: TRUNKLINE_TEST_LONG=1',
})
