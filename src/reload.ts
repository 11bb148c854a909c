import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { isatty } from 'node:tty'
import type { Logger } from 'pino'
import { type Config, environment, settings } from './config.ts'
import { readOne } from './platform/lib/setting.ts'

/** A certificate, with its chain, and its key, as PEM. */
export type TlsPair = { readonly cert: Buffer; readonly key: Buffer }

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const readSetting = (name: string, path: string): Buffer => {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new Error(`${name} cannot be read: ${reasonOf(error)}`)
  }
}

/**
 * Reads the certificate of the settings; null without one.
 * @throws Error that names the setting, if a file cannot be read, or if the two do not belong together
 */
export const readCertificate = ({ tlsCert, tlsKey }: Pick<Config, 'tlsCert' | 'tlsKey'>): TlsPair | null => {
  if (tlsCert === null || tlsKey === null) return null
  const pair = { cert: readSetting('TRUNKLINE_TLS_CERT', tlsCert), key: readSetting('TRUNKLINE_TLS_KEY', tlsKey) }
  try {
    createSecureContext(pair)
  } catch (error) {
    throw new Error(
      `TRUNKLINE_TLS_CERT (${tlsCert}) and TRUNKLINE_TLS_KEY (${tlsKey}) are no certificate and its key: ${reasonOf(error)}`,
    )
  }
  return pair
}

type ReloadDeps = {
  readonly config: Pick<Config, 'tlsCert' | 'tlsKey'>
  readonly log: Logger
  readonly setCertificate: (tls: TlsPair) => void
}

const reloadLevel = (log: Logger): void => {
  try {
    const level = readOne(environment(), settings.log) as Config['log'] // the type of that setting
    log.level = level
    log.info({ log_level: level }, 'process: log level read again')
  } catch (error) {
    log.error({ err: error }, 'process: reading the log level failed, it stays as it is')
  }
}

/** Reads the log level and the certificate again. A fault is logged, and the old value stays. */
export const reloadSettings = ({ config, log, setCertificate }: ReloadDeps): void => {
  reloadLevel(log)
  try {
    const pair = readCertificate(config)
    if (pair === null) return
    setCertificate(pair)
    const { validTo, fingerprint256 } = new X509Certificate(pair.cert)
    log.info({ valid_to: validTo, fingerprint: fingerprint256 }, 'process: certificate read again')
  } catch (error) {
    log.error({ err: error }, 'process: reading the certificate failed, the old one stays in use')
  }
}

/** Returns those of the standard streams that are a terminal. */
const terminals = (): number[] => [0, 1, 2].filter((descriptor) => isatty(descriptor))

/**
 * Returns a function that decides whether a SIGHUP means that the terminal of the process was closed. Without a terminal,
 * and while it is open, the signal is a request to read settings again. Windows sends it only when a console closes.
 */
export const makeHangUpDetector = (): (() => boolean) => {
  const atStart = terminals()
  return () => process.platform === 'win32' || atStart.some((descriptor) => !isatty(descriptor))
}
