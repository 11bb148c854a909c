import { createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after } from 'node:test'
import { importJWK, type JWTPayload, jwtVerify } from 'jose'

/** Decrypts a message as a browser does: RFC 8291, 3.4, and RFC 8188. Written from the standards, for itself. */
export const decryptMessage = (body: Buffer, privateKey: Buffer, auth: Buffer): Buffer => {
  const browser = createECDH('prime256v1')
  browser.setPrivateKey(privateKey)
  const keyBytes = body.readUInt8(20)
  const [salt, server] = [body.subarray(0, 16), body.subarray(21, 21 + keyBytes)]
  const hkdf = (secret: Buffer, with_: Buffer, info: Buffer, bytes: number) =>
    Buffer.from(hkdfSync('sha256', secret, with_, info, bytes))
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), browser.getPublicKey(), server])
  const secret = hkdf(browser.computeSecret(server), auth, info, 32)
  const key = hkdf(secret, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
  const nonce = hkdf(secret, salt, Buffer.from('Content-Encoding: nonce\0'), 12)
  const decipher = createDecipheriv('aes-128-gcm', key, nonce)
  decipher.setAuthTag(body.subarray(-16))
  const record = Buffer.concat([decipher.update(body.subarray(21 + keyBytes, -16)), decipher.final()])
  return record.subarray(0, record.lastIndexOf(2))
}

/** Verifies the Authorization header: RFC 8292, 3. @returns the public key of the sender and the claims */
const verify = async (header: string, audience: string) => {
  const [, token = '', k = ''] = /^vapid t=([^,]+), k=(\S+)$/.exec(header) ?? []
  const point = Buffer.from(k, 'base64url')
  const coordinates = { x: point.subarray(1, 33).toString('base64url'), y: point.subarray(33).toString('base64url') }
  const key = await importJWK({ kty: 'EC', crv: 'P-256', ...coordinates }, 'ES256')
  const { payload } = await jwtVerify(token, key, { algorithms: ['ES256'], audience, requiredClaims: ['exp', 'sub'] })
  return { publicKey: k, claims: payload }
}

export type PushMessage = {
  browser: string
  headers: Record<string, string | undefined>
  message: Record<string, unknown>
  sender: string
  claims: JWTPayload
}

/** A push service of RFC 8030 over a socket, with browsers that subscribe, and decrypt what arrives. */
export const startPushService = async () => {
  type Browser = { readonly privateKey: Buffer; readonly auth: Buffer; status: number; retryAfter: string | null }
  const browsers = new Map<string, Browser>()
  const messages: PushMessage[] = []
  let requests = 0
  let origin = ''
  const server = createServer(async (request, response) => {
    requests++
    const name = request.url?.slice('/push/'.length) ?? ''
    const browser = browsers.get(name)
    const body = await buffer(request)
    const { authorization = '', ...headers } = request.headers
    if (!browser) return response.writeHead(410).end()
    if (browser.status >= 300) {
      return response.writeHead(browser.status, browser.retryAfter ? { 'retry-after': browser.retryAfter } : {}).end()
    }
    const { publicKey, claims } = await verify(authorization, origin)
    const message = JSON.parse(decryptMessage(body, browser.privateKey, browser.auth).toString())
    messages.push({ browser: name, headers: { ...Object(headers) }, message, sender: publicKey, claims })
    response.writeHead(201, { location: `${origin}/message/${messages.length}` }).end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  after(() => server.close())
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    messages,
    requests: () => requests,
    /** Makes the subscription of a browser, as PushManager.subscribe does. */
    subscribe: (name: string) => {
      const pair = createECDH('prime256v1')
      pair.generateKeys()
      const [privateKey, auth] = [pair.getPrivateKey(), randomBytes(16)]
      browsers.set(name, { privateKey, auth, status: 201, retryAfter: null })
      const keys = { p256dh: pair.getPublicKey('base64url'), auth: auth.toString('base64url') }
      return { endpoint: `${origin}/push/${name}`, keys }
    },
    /** Makes the service refuse messages of a browser. */
    refuse: (name: string, status: number, retryAfter: string | null = null) => {
      const browser = browsers.get(name)
      if (browser) Object.assign(browser, { status, retryAfter })
    },
    forget: (name: string) => browsers.delete(name),
  }
}
