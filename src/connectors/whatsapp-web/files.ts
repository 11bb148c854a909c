import type { Readable } from 'node:stream'
import type { FileContent, Library, Socket } from './library.ts'

/** What is needed to fetch a file and to open it: it lies encrypted on the network's servers. */
type Place = { readonly kind: string; readonly path: string; readonly key: string }

// A path of the network's own servers and nothing else: it is put behind their name.
const path = /^\/[\x21-\x7e]{1,1000}$/

/** Names a file of a message; null where something is missing. */
export const fileId = (kind: string, { directPath, mediaKey }: FileContent): string | null => {
  if (!directPath || !path.test(directPath) || mediaKey?.length !== 32) return null
  const place: Place = { kind, path: directPath, key: Buffer.from(mediaKey).toString('base64') }
  return JSON.stringify(place)
}

/** The bytes of a file, from the servers that the network names: never from an address that a message names. */
export const openFile = async (library: Library, socket: Socket, id: string): Promise<Readable> => {
  // Made by fileId.
  const place = JSON.parse(id) as Place
  if (!path.test(place.path)) throw new Error('no path of the network')
  await socket.refreshMediaConn()
  const file = { mediaKey: Buffer.from(place.key, 'base64'), directPath: place.path }
  return library.downloadContentFromMessage(file, place.kind, { host: socket.getMediaHost() })
}
