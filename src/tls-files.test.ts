import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { certificate } from '../test/certificate.ts'
import { needs } from '../test/needs.ts'
import { temporaryFolder } from '../test/servers.ts'
import { readTlsFiles } from './tls-files.ts'

test('a TLS file that cannot be used is refused with its setting and the fix', needs('openssl'), () => {
  const folder = temporaryFolder()
  const stored = (name: string, text: string) => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }
  const [one, other] = [certificate(), certificate()]
  const [tlsCert, tlsKey] = [stored('cert', one.cert), stored('key', one.key)]
  const read = (files: { tlsCert?: string; tlsKey?: string }) => () => readTlsFiles({ tlsCert, tlsKey, ...files })
  assert.deepEqual(read({})()?.cert.toString(), one.cert)
  assert.throws(read({ tlsCert: join(folder, 'none') }), /TRUNKLINE_TLS_CERT: .*none cannot be read \(ENOENT/)
  assert.throws(read({ tlsKey: join(folder, 'none') }), /TRUNKLINE_TLS_KEY: .*none cannot be read \(ENOENT/)
  assert.throws(read({ tlsCert: tlsKey }), /TRUNKLINE_TLS_CERT: .* holds no certificate in PEM form/)
  assert.throws(read({ tlsKey: tlsCert }), /TRUNKLINE_TLS_KEY: .* holds no private key in PEM form/)
  assert.throws(read({ tlsKey: stored('foreign', other.key) }), /TRUNKLINE_TLS_KEY: the key in .* does not belong to/)
})
