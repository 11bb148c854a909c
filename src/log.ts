import pino, { type DestinationStream, type LogFn, type Logger } from 'pino'
import pretty from 'pino-pretty'
import type { Config } from './config.ts'
import { makeOutage, type Outage } from './db/outage.ts'
import { errorStack, errorText } from './lib/error-text.ts'

/** The fields of an error that are logged. Fields of libraries, which may quote what they were given, are not. */
const told = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error
  const { name, cause } = error
  const [message, stack] = [errorText(error), errorStack(error)]
  const code = 'code' in error ? error.code : undefined
  const constraint = 'constraint' in error ? error.constraint : undefined
  return { type: name, message, stack, code, constraint, ...(cause === undefined ? {} : { cause: told(cause) }) }
}

/**
 * JSON lines on stdout, readable ones on a terminal. Nothing that is logged holds a secret, a text or a whole number.
 * @param to instead of stdout
 * @param isKnown errors whose lines are left out
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
  const options = { level, base: null, redact, serializers: { err: told }, hooks: { logMethod } }
  if (to) return pino(options, to)
  return process.stdout.isTTY
    ? pino(options, pretty({ colorize: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss', sync: true }))
    : pino(options)
}

/** A log that reports an outage of the database at its begin and its end, and the watch that it needs. */
export const makeWatchedLog = (level: Config['log'], to?: DestinationStream): { log: Logger; outage: Outage } => {
  const outage: Outage = makeOutage({
    began: (err) => log.error({ err }, 'database: unavailable'),
    ended: (seconds, errors) => log.info({ seconds, errors }, 'database: available again'),
  })
  const log = makeLog(level, to, outage.isKnown)
  return { log, outage }
}
