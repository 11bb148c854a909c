import { hash } from 'node:crypto'
import type { Seal } from '../../platform/lib/secret.ts'
import type { BrowserKeys } from './message-encryption.ts'

/** The address of a browser at its push service, and its keys. */
export type PushTarget = BrowserKeys & { readonly endpoint: string }

const placeOf = (id: string) => `push ${id}`

export const sealTarget = (seal: Seal, id: string, { endpoint, p256dh, auth }: PushTarget): Buffer =>
  seal.closeBytes(
    Buffer.from(JSON.stringify({ endpoint, p256dh: p256dh.toString('base64url'), auth: auth.toString('base64url') })),
    placeOf(id),
  )

export const openTarget = (
  seal: Seal,
  { id, sealed_target }: { readonly id: string; readonly sealed_target: Buffer },
): PushTarget => {
  const { endpoint, p256dh, auth } = JSON.parse(seal.openBytes(sealed_target, placeOf(id)).toString('utf8'))
  return { endpoint, p256dh: Buffer.from(p256dh, 'base64url'), auth: Buffer.from(auth, 'base64url') }
}

/** Finds the browser again, without its secret address. */
export const endpointHash = (endpoint: string): Buffer => hash('sha256', endpoint, 'buffer')
