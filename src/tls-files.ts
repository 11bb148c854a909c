import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { Config } from './config.ts'

export type TlsFiles = { readonly cert: Buffer; readonly key: Buffer }

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const readNamed = (setting: string, file: string): Buffer => {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new Error(`${setting}: ${file} cannot be read (${messageOf(error)}). Correct its path, or its rights`, {
      cause: error,
    })
  }
}

const parseKey = (key: Buffer, file: string): KeyObject => {
  try {
    return createPrivateKey(key)
  } catch (error) {
    const isEncrypted = /ENCRYPTED/.test(key.toString('latin1'))
    const fault = isEncrypted
      ? 'is protected by a passphrase. Store it without one'
      : 'holds no private key in PEM form'
    throw new Error(`TRUNKLINE_TLS_KEY: ${file} ${fault}`, { cause: error })
  }
}

const parseCertificate = (cert: Buffer, file: string): X509Certificate => {
  try {
    return new X509Certificate(cert)
  } catch (error) {
    throw new Error(`TRUNKLINE_TLS_CERT: ${file} holds no certificate in PEM form`, { cause: error })
  }
}

/**
 * Reads and checks the files of TRUNKLINE_TLS_CERT and TRUNKLINE_TLS_KEY; null without them.
 * @throws Error with the setting, the file and the fix
 */
export const readTlsFiles = ({ tlsCert, tlsKey }: Pick<Config, 'tlsCert' | 'tlsKey'>): TlsFiles | null => {
  if (tlsCert === null || tlsKey === null) return null
  const cert = readNamed('TRUNKLINE_TLS_CERT', tlsCert)
  const key = readNamed('TRUNKLINE_TLS_KEY', tlsKey)
  if (!parseCertificate(cert, tlsCert).checkPrivateKey(parseKey(key, tlsKey)))
    throw new Error(
      `TRUNKLINE_TLS_KEY: the key in ${tlsKey} does not belong to the first certificate in ${tlsCert}. Name the key of that certificate; the server's own certificate comes before those of its authorities`,
    )
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw new Error(`TRUNKLINE_TLS_CERT: ${tlsCert} and ${tlsKey} cannot be used (${messageOf(error)})`, {
      cause: error,
    })
  }
  return { cert, key }
}
