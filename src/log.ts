import pino, { type DestinationStream, type LogFn, type Logger } from 'pino'
import type { Config } from './config.ts'
import { makeOutageMonitor, type OutageMonitor } from './platform/db/outage-monitor.ts'
import { errorStack, errorText } from './platform/lib/error-text.ts'
import { contextFields } from './platform/lib/log-context.ts'
import { processName } from './platform/lib/process-name.ts'

/** Loaded only for a terminal: 30 files. */
const pretty = process.stdout.isTTY ? (await import('pino-pretty')).default : null

/** Returns the logged fields of an error. Other fields are omitted: libraries may quote their input in them. */
const errorFields = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error
  const { name, cause } = error
  const [message, stack] = [errorText(error), errorStack(error)]
  const code = 'code' in error ? error.code : undefined
  const constraint = 'constraint' in error ? error.constraint : undefined
  return { type: name, message, stack, code, constraint, ...(cause === undefined ? {} : { cause: errorFields(cause) }) }
}

/** What each line says of its process. */
type LogSource = { readonly instance: string; readonly role: string }

const unknownSource: LogSource = { instance: processName, role: '' }

/**
 * Writes JSON lines to stdout, readable lines to a terminal. No line holds a secret, message text or full phone number.
 * A JSON line has `level` as a word, `time` (RFC 3339, UTC), `instance`, `role` and `msg`, and `request_id` where the
 * request that caused it is known.
 * @param to Default: stdout.
 * @param isKnown true for errors that are not logged
 */
export const makeLog = (
  level: Config['log'],
  to?: DestinationStream,
  isKnown: (error: unknown) => boolean = () => false,
  source: LogSource = unknownSource,
): Logger => {
  const redact = ['*.password', '*.key', '*.token', 'headers']
  const logMethod = function (this: Logger, args: Parameters<LogFn>, method: LogFn) {
    const [fields]: unknown[] = args
    if (fields instanceof Object && 'err' in fields && isKnown(fields.err)) return
    method.apply(this, args)
  }
  const serializers = { err: errorFields }
  const options = { level, redact, serializers, hooks: { logMethod }, mixin: contextFields }
  const json = {
    ...options,
    base: source,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  if (to) return pino(json, to)
  return pretty
    ? pino({ ...options, base: null }, pretty({ colorize: true, translateTime: 'HH:MM:ss', sync: true }))
    : pino(json)
}

/** Returns a log that reports a database outage once at its start and once at its end, and the outage detector. */
export const makeWatchedLog = (
  level: Config['log'],
  to?: DestinationStream,
  source?: LogSource,
): { log: Logger; outage: OutageMonitor } => {
  const outage: OutageMonitor = makeOutageMonitor({
    began: (err) => log.error({ err }, 'database: unavailable'),
    ended: (seconds, errors) => log.info({ seconds, errors }, 'database: available again'),
    late: (err, count) => log.warn({ err, count }, 'database: statements were given up'),
  })
  const log = makeLog(level, to, outage.isKnown, source)
  return { log, outage }
}
