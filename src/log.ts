import pino, { type DestinationStream, type LogFn, type Logger } from 'pino'
import type { Config } from './config.ts'
import { makeOutageMonitor, type OutageMonitor } from './platform/db/outage-monitor.ts'
import { errorStack, errorText } from './platform/lib/error-text.ts'

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

/**
 * Writes JSON lines to stdout, readable lines to a terminal. No line holds a secret, message text or full phone number.
 * @param to Default: stdout.
 * @param isKnown true for errors that are not logged
 */
export const makeLog = (
  level: Config['log'],
  to?: DestinationStream,
  isKnown: (error: unknown) => boolean = () => false,
): Logger => {
  const redact = ['*.password', '*.key', '*.token', 'headers']
  const logMethod = function (this: Logger, args: Parameters<LogFn>, method: LogFn) {
    const [fields]: unknown[] = args
    if (fields instanceof Object && 'err' in fields && isKnown(fields.err)) return
    method.apply(this, args)
  }
  const options = { level, base: null, redact, serializers: { err: errorFields }, hooks: { logMethod } }
  if (to) return pino(options, to)
  return pretty
    ? pino(options, pretty({ colorize: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss', sync: true }))
    : pino(options)
}

/** Returns a log that reports a database outage once at its start and once at its end, and the outage detector. */
export const makeWatchedLog = (
  level: Config['log'],
  to?: DestinationStream,
): { log: Logger; outage: OutageMonitor } => {
  const outage: OutageMonitor = makeOutageMonitor({
    began: (err) => log.error({ err }, 'database: unavailable'),
    ended: (seconds, errors) => log.info({ seconds, errors }, 'database: available again'),
    late: (err, count) => log.warn({ err, count }, 'database: statements were given up'),
  })
  const log = makeLog(level, to, outage.isKnown)
  return { log, outage }
}
