import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { voiceSettings } from './config-voice.ts'
import { databaseAddress } from './platform/db/database-address.ts'
import { isLoopbackHost } from './platform/lib/address-list.ts'
import { closestWord } from './platform/lib/levenshtein.ts'
import {
  address,
  contact,
  flag,
  iceServer,
  integer,
  list,
  network,
  oneOf,
  optional,
  origin,
  proxies,
  quotaDefaults,
  readOne,
  reject,
  type Setting,
  secret,
  setting,
  store,
  text,
  word,
} from './platform/lib/setting.ts'
import { mailSender, smtpServer } from './platform/lib/smtp-settings.ts'

/** All settings, in the order of the documentation. No other module reads the environment. */
export const settings = {
  host: setting('TRUNKLINE_HOST', '127.0.0.1', 'Address that HTTP listens on.', text),
  port: setting('TRUNKLINE_PORT', '8080', 'Port of HTTP; 0 takes any free one.', integer(0, 65_535)),
  home: setting('TRUNKLINE_HOME', './data', 'Folder of the embedded database, keys, recordings and media.', text),
  databaseUrl: setting(
    'DATABASE_URL',
    '',
    'PostgreSQL 15 or newer to use instead of the embedded one: postgres://user:password@host:5432/database. Several hosts, separated by commas, are tried in turn until one can be written.',
    optional(databaseAddress),
  ),
  migrate: setting(
    'TRUNKLINE_MIGRATE',
    'start',
    'When the database is migrated: start applies pending migrations at each start; with never a start that finds some ends, and npx trunkline migrate applies them.',
    oneOf('start', 'never'),
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
  tlsCert: setting('TRUNKLINE_TLS_CERT', '', 'Certificate file (PEM) for HTTPS without a proxy.', optional(text)),
  tlsKey: setting('TRUNKLINE_TLS_KEY', '', 'Key file (PEM) that belongs to the certificate.', optional(text)),
  trustProxy: setting(
    'TRUNKLINE_TRUST_PROXY',
    '',
    'Proxies whose forwarded headers are trusted: addresses, networks, and the names loopback, linklocal and uniquelocal, separated by commas; or how many proxies pass a request on.',
    optional(proxies),
  ),
  apiKey: setting(
    'TRUNKLINE_API_KEY',
    '',
    'API key of the first account. Default: generated at the first start.',
    optional(secret),
  ),
  operatorKey: setting(
    'TRUNKLINE_OPERATOR_KEY',
    '',
    'Operator key. Default: generated at the first start.',
    optional(secret),
  ),
  wrongKeysPerMinute: setting(
    'TRUNKLINE_WRONG_KEYS_PER_MINUTE',
    '300',
    'Wrong keys and tokens that an address may send within a minute before it has to wait; 0 for no limit.',
    integer(0, 1_000_000),
  ),
  sessionIdleHours: setting(
    'TRUNKLINE_SESSION_IDLE_HOURS',
    '12',
    'Hours without a request after which a session of the console ends.',
    integer(1, 8_760),
  ),
  sessionDays: setting(
    'TRUNKLINE_SESSION_DAYS',
    '14',
    'Days after which a session of the console ends at the latest.',
    integer(1, 365),
  ),
  masterKey: setting(
    'TRUNKLINE_MASTER_KEY',
    '',
    'Key that encrypts stored secrets. Default: generated at the first start and stored in TRUNKLINE_HOME; set it where several machines share a database.',
    optional(secret),
  ),
  publicUrl: setting('TRUNKLINE_PUBLIC_URL', '', 'Base URL of links. Default: from host and port.', optional(address)),
  msgappName: setting(
    'TRUNKLINE_MSGAPP_NAME',
    '',
    'Second spelling of msgapp in paths, events, fields and features.',
    optional(word),
  ),
  corsOrigins: setting(
    'TRUNKLINE_CORS_ORIGINS',
    '',
    'Origins whose pages may use the voice SDK, separated by commas; * for all. The sandbox also admits origins of this machine.',
    list(origin),
  ),
  turnUrls: setting(
    'TRUNKLINE_TURN_URLS',
    '',
    'STUN and TURN servers for voice clients, such as turn:turn.example.com:3478?transport=udp, separated by commas.',
    list(iceServer),
  ),
  turnSecret: setting(
    'TRUNKLINE_TURN_SECRET',
    '',
    'Secret shared with the TURN servers (static-auth-secret of coturn).',
    optional(secret),
  ),
  metricsToken: setting(
    'TRUNKLINE_METRICS_TOKEN',
    '',
    'Token that /metrics requires as Authorization: Bearer. Default: none; anyone who reaches the port may read it.',
    optional(secret),
  ),
  ...voiceSettings,
  allowPrivateHooks: setting(
    'TRUNKLINE_ALLOW_PRIVATE_HOOKS',
    '',
    'Allow webhooks to loopback and private addresses. Default: for sandbox accounts only, while TRUNKLINE_SANDBOX is true.',
    optional(flag),
  ),
  allowHttpHooks: setting(
    'TRUNKLINE_ALLOW_HTTP_HOOKS',
    '',
    'Allow webhooks over plain HTTP. Default: for sandbox accounts only, while TRUNKLINE_SANDBOX is true.',
    optional(flag),
  ),
  allowHookNetworks: setting(
    'TRUNKLINE_ALLOW_HOOK_NETWORKS',
    '',
    'Networks that webhooks may always reach, such as 10.1.0.0/16, separated by commas.',
    list(network),
  ),
  pushContact: setting(
    'TRUNKLINE_PUSH_CONTACT',
    '',
    'Contact of the operator for push services of browsers: mailto:ops@example.com, or an https address. Default: the public URL.',
    optional(contact),
  ),
  smtp: setting(
    'TRUNKLINE_SMTP_URL',
    '',
    'Mail server: smtps://user:password@mail.example.com, or smtp:// with STARTTLS (the password percent-encoded). Options: ?requireTLS=false, &ca=FILE, &name=HOST; docs/operating/mail.md explains them. Default: no mail; links are shown instead.',
    optional(smtpServer),
  ),
  mailFrom: setting(
    'TRUNKLINE_MAIL_FROM',
    '',
    'Sender of mails, such as Example <no-reply@example.com>; together with TRUNKLINE_SMTP_URL.',
    optional(mailSender),
  ),
  inbox: setting(
    'TRUNKLINE_INBOX',
    'true',
    'Shows messages and calls in the shared inbox. After a time with false, run trunkline inbox rebuild.',
    flag,
  ),
  optOut: setting('TRUNKLINE_OPT_OUT', 'true', 'Send no SMS to a contact who sent STOP or an equivalent.', flag),
  mediaStore: setting(
    'TRUNKLINE_MEDIA_STORE',
    '',
    'Store of message files and call recordings: a folder, or s3://key:secret@bucket/prefix?region=…&endpoint=… (the secret percent-encoded). Default: media in TRUNKLINE_HOME. Processes that share a database must share this store.',
    optional(store),
  ),
  encryptFiles: setting(
    'TRUNKLINE_ENCRYPT_FILES',
    'false',
    'Encrypt new message files and call recordings under keys derived from the master key. Existing files stay unchanged and readable, also after this is turned off again.',
    flag,
  ),
  compat: setting(
    'TRUNKLINE_COMPAT',
    'on',
    'Serves the interface in the shape of Twilio (/2010-04-01, /v1, /v2) to accounts that make credentials for it; off serves it to none.',
    oneOf('on', 'off'),
  ),
  deliveryDays: setting(
    'TRUNKLINE_RETENTION_DAYS_DELIVERIES',
    '30',
    'Days for which webhook deliveries are stored; events are stored a week longer.',
    integer(1, 3650),
  ),
  auditDays: setting(
    'TRUNKLINE_RETENTION_DAYS_AUDIT',
    '400',
    'Days for which audit rows are stored.',
    integer(30, 3650),
  ),
  mediaDays: setting(
    'TRUNKLINE_RETENTION_DAYS_MEDIA',
    '',
    'Days for which message files are stored; the messages stay. Default: unlimited.',
    optional(integer(1, 3650)),
  ),
  recordingDays: setting(
    'TRUNKLINE_RETENTION_DAYS_RECORDINGS',
    '90',
    'Days for which call recordings are stored.',
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
    'Log level.',
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
  ),
  drainSeconds: setting(
    'TRUNKLINE_DRAIN_SECONDS',
    '0',
    'Seconds for which a stopping process still serves requests, while /readyz answers 503: load balancers leave it first.',
    integer(0, 10),
  ),
  readyFile: setting('TRUNKLINE_READY_FILE', '', 'File that is written when the server is ready.', optional(text)),
  keysFile: setting(
    'TRUNKLINE_KEYS_FILE',
    '',
    'File, readable by its owner only, to which the first start writes the keys that it generates, instead of printing them.',
    optional(text),
  ),
  sandboxSmppPort: setting(
    'TRUNKLINE_SANDBOX_SMPP_PORT',
    '0',
    'Port of the sandbox SMSC; 0 takes any free one.',
    integer(0, 65_535),
  ),
  quotas: setting(
    'TRUNKLINE_QUOTAS',
    '',
    'Account quotas that differ from the defaults, such as webhooks=500,trial.webhooks=5; docs/operating/quotas.md lists them.',
    quotaDefaults,
  ),
  reservationMinutes: setting(
    'TRUNKLINE_RESERVATION_MINUTES',
    '30',
    'Minutes for which a number stays reserved.',
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
    'Days before a released number is sold again.',
    integer(0, 365),
  ),
} satisfies Record<string, Setting<unknown>>

type Values = { [Key in keyof typeof settings]: ReturnType<(typeof settings)[Key]['read']> }

/** The settings in use: `sandbox` is resolved, and `isSandboxExplicit` is true when the setting was given. */
export type Config = Omit<Values, 'sandbox'> & { sandbox: boolean; isSandboxExplicit: boolean }

/** Variables of our other programs: the server ignores them. */
const foreignVariables = ['TRUNKLINE_URL', 'TRUNKLINE_BACKUP_PASSPHRASE']

/** Deprecated names of settings, with the present ones. */
const formerSettings: ReadonlyMap<string, string> = new Map([
  ['TRUNKLINE_CALLS_AT_A_TIME', 'TRUNKLINE_MAX_CONCURRENT_CALLS'],
])

/** Returns a warning for each deprecated name in the environment. */
export const deprecatedSettings = (environment: NodeJS.ProcessEnv): string[] =>
  [...formerSettings]
    .filter(([former]) => environment[former] !== undefined)
    .map(([former, name]) => `${former} is deprecated: use ${name}`)

/** Replaces deprecated names by the present ones. @throws SettingError when both are set */
const withPresentNames = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const present = { ...environment }
  for (const [former, name] of formerSettings) {
    if (present[former] === undefined) continue
    if (present[name] !== undefined) reject(former, `is deprecated and ${name} is set: remove ${former}`)
    present[name] = present[former]
    delete present[former]
  }
  return present
}

/**
 * Reads the settings from an environment.
 * @throws SettingError with the setting and the fix; also for an unknown TRUNKLINE_ name
 */
export const readConfig = (variables: NodeJS.ProcessEnv): Config => {
  const environment = withPresentNames(variables)
  const names = Object.values(settings).map(({ name }) => name)
  for (const name of Object.keys(environment)) {
    if (!name.startsWith('TRUNKLINE_') || names.includes(name) || foreignVariables.includes(name)) continue
    if (name.startsWith('TRUNKLINE_TEST_')) continue
    const nearest = closestWord(name, names)
    reject(
      name,
      `is not a setting${nearest === null ? ': see docs/operating/settings.md' : `; the nearest is ${nearest}`}`,
    )
  }
  const values = Object.fromEntries(
    Object.entries(settings).map(([key, one]) => [key, readOne(environment, one)]),
  ) as Values // each value comes from its own setting's `read`
  if ((values.tlsCert === null) !== (values.tlsKey === null))
    reject('TRUNKLINE_TLS_CERT', 'and TRUNKLINE_TLS_KEY are set together or not at all')
  if (values.sipTlsPort !== null && values.tlsCert === null)
    reject('TRUNKLINE_SIP_TLS_PORT', 'wants the certificate of TRUNKLINE_TLS_CERT')
  if (values.turnSecret === null && values.turnUrls.some((url) => url.startsWith('turn')))
    reject('TRUNKLINE_TURN_SECRET', 'is wanted by the TURN servers of TRUNKLINE_TURN_URLS')
  if ((values.smtp === null) !== (values.mailFrom === null))
    reject('TRUNKLINE_SMTP_URL', 'and TRUNKLINE_MAIL_FROM are set together or not at all')
  const isPrivate = isLoopbackHost(values.host) && values.publicUrl === null && values.trustProxy === null
  return {
    ...values,
    sandbox: values.sandbox ?? (values.databaseUrl === null && isPrivate),
    isSandboxExplicit: values.sandbox !== null,
  }
}

/** Returns the reason why other machines can reach the sandbox, for a warning; null when they cannot or it is off. */
export const sandboxExposure = ({ sandbox, host, publicUrl, trustProxy }: Config): string | null => {
  if (!sandbox) return null
  if (!isLoopbackHost(host)) return `TRUNKLINE_HOST is ${host}`
  if (publicUrl !== null && !isLoopbackHost(new URL(publicUrl).hostname)) return `TRUNKLINE_PUBLIC_URL is ${publicUrl}`
  return trustProxy === null ? null : 'TRUNKLINE_TRUST_PROXY is set'
}

/** Returns the environment of the process, completed from a `.env` file in the working directory. */
export const environment = (file = '.env'): NodeJS.ProcessEnv => ({
  ...(existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {}),
  ...process.env,
})
