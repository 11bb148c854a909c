import type { ServiceResult } from '../../ports/supplier.ts'
import type { WASocket } from './library.ts'
import { requestOutcome } from './request-outcome.ts'

const server = '@s.whatsapp.net'

/** Checks the signature of a JPEG file. */
const isJpeg = (image: Buffer): boolean => image.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))

/** Sets or removes our picture or a group's. The bytes are sent unchanged: the network accepts only JPEG. */
export const setPicture = async (
  socket: WASocket,
  image: Buffer | null,
  group?: string,
): Promise<ServiceResult<null>> => {
  if (image && !isJpeg(image)) return { outcome: 'refused', reason: 'the network accepts only JPEG pictures' }
  return requestOutcome(async () => {
    const attrs = { to: server, type: 'set', xmlns: 'w:profile:picture', ...(group ? { target: group } : {}) }
    const picture = image ? { content: [{ tag: 'picture', attrs: { type: 'image' }, content: image }] } : {}
    const response = await socket.query({ tag: 'iq', attrs, ...picture })
    if (!response) throw new Error('the network does not answer')
    return null
  }, true)
}

export const setStatus = (socket: WASocket, text: string): Promise<ServiceResult<null>> =>
  requestOutcome(async () => {
    await socket.updateProfileStatus(text)
    return null
  }, true)
