import type { Readable } from 'node:stream'
import type { FileContent, Library, WASocket } from './library.ts'

/** Data to fetch and decrypt a file, which is stored encrypted on the network's servers. */
type FileLocation = { readonly kind: string; readonly path: string; readonly key: string }

// Only a path: it is appended to the host name of the network's servers.
const path = /^\/[\x21-\x7e]{1,1000}$/

/** Id of a message's file; null when data is missing. */
export const fileId = (kind: string, { directPath, mediaKey }: FileContent): string | null => {
  if (!directPath || !path.test(directPath) || mediaKey?.length !== 32) return null
  const place: FileLocation = { kind, path: directPath, key: Buffer.from(mediaKey).toString('base64') }
  return JSON.stringify(place)
}

/** Opens a file from the servers that the network names, never from an address in a message. */
export const openFile = async (library: Library, socket: WASocket, id: string): Promise<Readable> => {
  // Written by fileId.
  const place = JSON.parse(id) as FileLocation
  if (!path.test(place.path)) throw new Error('not a path of the network')
  await socket.refreshMediaConn()
  const file = { mediaKey: Buffer.from(place.key, 'base64'), directPath: place.path }
  return library.downloadContentFromMessage(file, place.kind, { host: socket.getMediaHost() })
}
