import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { voiceSettings } from './config-voice.ts'
import { nearest } from './lib/nearest.ts'
import {
  address,
  flag,
  iceServer,
  integer,
  list,
  network,
  oneOf,
  optional,
  origin,
  quotaDefaults,
  readOne,
  reject,
  type Setting,
  secret,
  setting,
  store,
  text,
  word,
} from './lib/setting.ts'

/** Every setting, in the order in which the documentation shows them. The only reader of the environment. */
export const settings = {
  host: setting('TRUNKLINE_HOST', '127.0.0.1', 'Address that HTTP listens on.', text),
  port: setting('TRUNKLINE_PORT', '8080', 'Port of HTTP; 0 takes any free one.', integer(0, 65_535)),
  home: setting('TRUNKLINE_HOME', './data', 'Folder of the embedded database, keys, recordings and media.', text),
  databaseUrl: setting(
    'DATABASE_URL',
    '',
    'PostgreSQL 15 or newer to use instead of the embedded one.',
    optional(text),
  ),
  roles: setting(
    'TRUNKLINE_ROLES',
    'api,worker,voice,console',
    'Roles that this process runs.',
    list(oneOf('api', 'worker', 'voice', 'console')),
  ),
  sandbox: setting(
    'TRUNKLINE_SANDBOX',
    '',
    'Sandbox carriers and /sandbox. Default: true with the embedded database on a loopback host, when neither TRUNKLINE_PUBLIC_URL nor TRUNKLINE_TRUST_PROXY is set; else false.',
    optional(flag),
  ),
  tlsCert: setting('TRUNKLINE_TLS_CERT', '', 'Certificate file (PEM) for HTTPS by ourselves.', optional(text)),
  tlsKey: setting('TRUNKLINE_TLS_KEY', '', 'Key file (PEM) that belongs to the certificate.', optional(text)),
  trustProxy: setting(
    'TRUNKLINE_TRUST_PROXY',
    '',
    'Proxies whose forwarded headers are believed: true, or addresses and networks separated by commas.',
    optional(text),
  ),
  apiKey: setting(
    'TRUNKLINE_API_KEY',
    '',
    'API key of the first account. Default: made at the first start.',
    optional(secret),
  ),
  operatorKey: setting(
    'TRUNKLINE_OPERATOR_KEY',
    '',
    'Operator key. Default: made at the first start.',
    optional(secret),
  ),
  wrongKeysPerMinute: setting(
    'TRUNKLINE_WRONG_KEYS_PER_MINUTE',
    '300',
    'Wrong keys and tokens that an address may send within a minute before it has to wait; 0 for no limit.',
    integer(0, 1_000_000),
  ),
  masterKey: setting(
    'TRUNKLINE_MASTER_KEY',
    '',
    'Key that seals stored secrets. Default: made at the first start and kept in TRUNKLINE_HOME; set it where several machines share a database.',
    optional(secret),
  ),
  publicUrl: setting('TRUNKLINE_PUBLIC_URL', '', 'Base of links. Default: from host and port.', optional(address)),
  msgappName: setting(
    'TRUNKLINE_MSGAPP_NAME',
    '',
    'Second spelling of msgapp in paths, events, fields and features.',
    optional(word),
  ),
  corsOrigins: setting(
    'TRUNKLINE_CORS_ORIGINS',
    '',
    'Origins whose pages may use the voice SDK, separated by commas; * for all. In the sandbox, those of this machine may too.',
    list(origin),
  ),
  turnUrls: setting(
    'TRUNKLINE_TURN_URLS',
    '',
    'STUN and TURN servers that voice clients are told of, such as turn:turn.example.com:3478?transport=udp, separated by commas.',
    list(iceServer),
  ),
  turnSecret: setting(
    'TRUNKLINE_TURN_SECRET',
    '',
    'The secret that the TURN servers share with us (static-auth-secret of coturn).',
    optional(secret),
  ),
  metricsToken: setting(
    'TRUNKLINE_METRICS_TOKEN',
    '',
    'Token that /metrics wants as Authorization: Bearer. Default: none, and anyone who reaches the port may read it.',
    optional(secret),
  ),
  ...voiceSettings,
  allowPrivateHooks: setting(
    'TRUNKLINE_ALLOW_PRIVATE_HOOKS',
    '',
    'Webhooks to loopback and private addresses. Default: those of sandbox accounts, while TRUNKLINE_SANDBOX is true.',
    optional(flag),
  ),
  allowHttpHooks: setting(
    'TRUNKLINE_ALLOW_HTTP_HOOKS',
    '',
    'Webhooks over plain HTTP. Default: those of sandbox accounts, while TRUNKLINE_SANDBOX is true.',
    optional(flag),
  ),
  allowHookNetworks: setting(
    'TRUNKLINE_ALLOW_HOOK_NETWORKS',
    '',
    'Networks that webhooks may reach whatever they are, such as 10.1.0.0/16, separated by commas.',
    list(network),
  ),
  optOut: setting('TRUNKLINE_OPT_OUT', 'true', 'Honour STOP and its kin: no text goes to a contact who sent it.', flag),
  mediaStore: setting(
    'TRUNKLINE_MEDIA_STORE',
    '',
    'Where files of messages and recordings of calls are kept: a folder, or s3://key:secret@bucket/prefix?region=…&endpoint=… (the secret escaped as in an address). Default: media in TRUNKLINE_HOME. Processes that share a database need one that they share too.',
    optional(store),
  ),
  encryptFiles: setting(
    'TRUNKLINE_ENCRYPT_FILES',
    'false',
    'Encrypt files of messages and recordings of calls that are stored from now on, under keys made from the master key. Files that exist stay as they are and can still be read, also after this is turned off again.',
    flag,
  ),
  deliveryDays: setting(
    'TRUNKLINE_RETENTION_DAYS_DELIVERIES',
    '30',
    'Days that webhook deliveries are kept; the events themselves a week longer.',
    integer(1, 3650),
  ),
  auditDays: setting('TRUNKLINE_RETENTION_DAYS_AUDIT', '400', 'Days that the audit trail is kept.', integer(30, 3650)),
  mediaDays: setting(
    'TRUNKLINE_RETENTION_DAYS_MEDIA',
    '',
    'Days that files of messages are kept; the messages stay. Default: for ever.',
    optional(integer(1, 3650)),
  ),
  recordingDays: setting(
    'TRUNKLINE_RETENTION_DAYS_RECORDINGS',
    '90',
    'Days that recordings of calls are kept.',
    integer(1, 3650),
  ),
  sandboxSipPort: setting(
    'TRUNKLINE_SANDBOX_SIP_PORT',
    '0',
    'Port of the sandbox trunk, for UDP and TCP; 0 takes any free one.',
    integer(0, 65_535),
  ),
  log: setting(
    'TRUNKLINE_LOG',
    'info',
    'Level of the log.',
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
  ),
  readyFile: setting('TRUNKLINE_READY_FILE', '', 'File written once everything is ready.', optional(text)),
  sandboxSmppPort: setting(
    'TRUNKLINE_SANDBOX_SMPP_PORT',
    '0',
    'Port of the sandbox SMSC; 0 takes any free one.',
    integer(0, 65_535),
  ),
  quotas: setting(
    'TRUNKLINE_QUOTAS',
    '',
    'Quotas of accounts where they differ from the defaults, such as webhooks=500,trial.webhooks=5; docs/operating.md lists them.',
    quotaDefaults,
  ),
  reservationMinutes: setting(
    'TRUNKLINE_RESERVATION_MINUTES',
    '30',
    'How long a reserved number is held.',
    integer(1, 1440),
  ),
  registrationDays: setting(
    'TRUNKLINE_REGISTRATION_DAYS',
    '30',
    'Days after which a number with unmet requirements is suspended.',
    integer(1, 365),
  ),
  quarantineDays: setting(
    'TRUNKLINE_QUARANTINE_DAYS',
    '30',
    'Days that a released number rests before it is sold again.',
    integer(0, 365),
  ),
} satisfies Record<string, Setting<unknown>>

type Values = { [Key in keyof typeof settings]: ReturnType<(typeof settings)[Key]['read']> }

/** The settings as the program uses them; `sandbox` is decided, and `isSandboxExplicit` when the setting names it. */
export type Config = Omit<Values, 'sandbox'> & { sandbox: boolean; isSandboxExplicit: boolean }

/** Names that other programs of ours read: not settings of the server, and not errors either. */
const elsewhere = ['TRUNKLINE_URL']

const isLoopback = (host: string) => /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/i.test(host)

/**
 * Reads the settings from an environment.
 * @throws SettingError that names the setting and the mend; an unknown TRUNKLINE_ name is an error too
 */
export const readConfig = (environment: NodeJS.ProcessEnv): Config => {
  const names = Object.values(settings).map(({ name }) => name)
  for (const name of Object.keys(environment)) {
    if (!name.startsWith('TRUNKLINE_') || names.includes(name) || elsewhere.includes(name)) continue
    if (name.startsWith('TRUNKLINE_TEST_')) continue
    reject(name, `is not a setting; the nearest is ${nearest(name, names)}`)
  }
  const values = Object.fromEntries(
    Object.entries(settings).map(([key, one]) => [key, readOne(environment, one)]),
  ) as Values // each value was made by its own setting's `read`
  if ((values.tlsCert === null) !== (values.tlsKey === null))
    reject('TRUNKLINE_TLS_CERT', 'and TRUNKLINE_TLS_KEY are set together or not at all')
  if (values.sipTlsPort !== null && values.tlsCert === null)
    reject('TRUNKLINE_SIP_TLS_PORT', 'wants the certificate of TRUNKLINE_TLS_CERT')
  if (values.turnSecret === null && values.turnUrls.some((url) => url.startsWith('turn')))
    reject('TRUNKLINE_TURN_SECRET', 'is wanted by the TURN servers of TRUNKLINE_TURN_URLS')
  const isPrivate = isLoopback(values.host) && values.publicUrl === null && values.trustProxy === null
  return {
    ...values,
    sandbox: values.sandbox ?? (values.databaseUrl === null && isPrivate),
    isSandboxExplicit: values.sandbox !== null,
  }
}

/** Why the sandbox of this installation can be reached from other machines, for a warning; null when it cannot, or is off. */
export const sandboxExposure = ({ sandbox, host, publicUrl, trustProxy }: Config): string | null => {
  if (!sandbox) return null
  if (!isLoopback(host)) return `TRUNKLINE_HOST is ${host}`
  if (publicUrl !== null && !isLoopback(new URL(publicUrl).hostname)) return `TRUNKLINE_PUBLIC_URL is ${publicUrl}`
  return trustProxy === null ? null : 'TRUNKLINE_TRUST_PROXY is set'
}

/** The environment of the process, with the names of a `.env` file in the folder of the start where it does not have them. */
export const environment = (file = '.env'): NodeJS.ProcessEnv => ({
  ...(existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {}),
  ...process.env,
})
