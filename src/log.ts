import pino, { type DestinationStream, type Logger } from 'pino'
import pretty from 'pino-pretty'
import type { Config } from './config.ts'
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
 */
export const makeLog = (level: Config['log'], to?: DestinationStream): Logger => {
  const redact = ['*.password', '*.key', '*.token', 'headers']
  const options = { level, base: null, redact, serializers: { err: told } }
  if (to) return pino(options, to)
  return process.stdout.isTTY
    ? pino(options, pretty({ colorize: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss', sync: true }))
    : pino(options)
}
