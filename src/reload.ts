import { X509Certificate } from 'node:crypto'
import { isatty } from 'node:tty'
import type { Logger } from 'pino'
import { type Config, environment, settings } from './config.ts'
import { readOne } from './platform/lib/setting.ts'
import { readTlsFiles, type TlsFiles } from './tls-files.ts'

type ReloadDeps = {
  readonly config: Pick<Config, 'tlsCert' | 'tlsKey'>
  readonly log: Logger
  readonly setCertificate: (tls: TlsFiles) => void
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
    const files = readTlsFiles(config)
    if (files === null) return
    setCertificate(files)
    const { validTo, fingerprint256 } = new X509Certificate(files.cert)
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
