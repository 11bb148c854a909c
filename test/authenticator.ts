import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto'

// A device with one passkey: what it answers to a browser's options (WebAuthn, 6 and 7), with attestation `none`.

const sha256 = (bytes: string | Buffer): Buffer => createHash('sha256').update(bytes).digest()

type Changes = {
  readonly origin?: string
  /** Does not verify its user. */
  readonly isUnverified?: boolean
  readonly counter?: number
}

export type Authenticator = {
  register(options: Record<string, unknown>, changes?: Changes): object
  assert(options: Record<string, unknown>, changes?: Changes): object
}

/** CBOR of a byte string of 24 to 255 bytes (RFC 8949, 3). */
const cborBytes = (bytes: Buffer): Buffer => Buffer.concat([Buffer.from([0x58, bytes.length]), bytes])
const cborText = (text: string): Buffer => Buffer.concat([Buffer.from([0x60 + text.length]), Buffer.from(text)])

/** @param origin of the page that the device serves */
export const makeAuthenticator = (origin: string): Authenticator => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const id = randomBytes(32)
  let counter = 0

  const clientData = (type: string, { challenge }: Record<string, unknown>, changes: Changes): Buffer =>
    Buffer.from(JSON.stringify({ type, challenge, origin: changes.origin ?? origin, crossOrigin: false }))

  const authenticatorData = (attested: Buffer | null, changes: Changes): Buffer => {
    const flags = 1 + (changes.isUnverified ? 0 : 4) + (attested ? 64 : 0)
    const count = Buffer.alloc(4)
    counter = changes.counter ?? counter + 1
    count.writeUInt32BE(counter)
    return Buffer.concat([sha256(new URL(origin).hostname), Buffer.from([flags]), count, attested ?? Buffer.alloc(0)])
  }

  const whole = (response: object) => ({
    id: id.toString('base64url'),
    rawId: id.toString('base64url'),
    type: 'public-key',
    response,
  })

  return {
    register: (options, changes = {}) => {
      // A COSE key: EC2, ES256, P-256 (RFC 9053, 7.1.1).
      const key = Buffer.concat([
        ...[Buffer.from('a5010203262001', 'hex'), Buffer.from('21', 'hex'), cborBytes(Buffer.from(x, 'base64url'))],
        ...[Buffer.from('22', 'hex'), cborBytes(Buffer.from(y, 'base64url'))],
      ])
      const length = Buffer.from([0, id.length])
      const data = authenticatorData(Buffer.concat([Buffer.alloc(16), length, id, key]), changes)
      const attestation = Buffer.concat([
        ...[Buffer.from([0xa3]), cborText('fmt'), cborText('none'), cborText('attStmt'), Buffer.from([0xa0])],
        ...[cborText('authData'), cborBytes(data)],
      ])
      return whole({
        clientDataJSON: clientData('webauthn.create', options, changes).toString('base64url'),
        attestationObject: attestation.toString('base64url'),
        transports: ['internal'],
      })
    },

    assert: (options, changes = {}) => {
      const client = clientData('webauthn.get', options, changes)
      const data = authenticatorData(null, changes)
      const signature = createSign('sha256').update(data).update(sha256(client)).sign(privateKey)
      return whole({
        clientDataJSON: client.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: signature.toString('base64url'),
      })
    },
  }
}
