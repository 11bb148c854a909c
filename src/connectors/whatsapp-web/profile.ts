import type { Asked } from '../port.ts'
import { asked } from './asked.ts'
import type { Socket } from './library.ts'

const server = '@s.whatsapp.net'

/** What begins every JPEG file. */
const isJpeg = (image: Buffer): boolean => image.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))

/** Sets or takes away our picture, or that of a group. The bytes go as they are: the network takes JPEG alone. */
export const setPicture = async (socket: Socket, image: Buffer | null, group?: string): Promise<Asked<null>> => {
  if (image && !isJpeg(image)) return { outcome: 'refused', reason: 'the network takes pictures as JPEG alone' }
  return asked(async () => {
    const attrs = { to: server, type: 'set', xmlns: 'w:profile:picture', ...(group ? { target: group } : {}) }
    const picture = image ? { content: [{ tag: 'picture', attrs: { type: 'image' }, content: image }] } : {}
    const told = await socket.query({ tag: 'iq', attrs, ...picture })
    if (!told) throw new Error('the network does not answer')
    return null
  }, true)
}

export const setStatus = (socket: Socket, text: string): Promise<Asked<null>> =>
  asked(async () => {
    await socket.updateProfileStatus(text)
    return null
  }, true)
