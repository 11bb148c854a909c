import type { Duplex } from 'node:stream'

/** Milliseconds for which a peer may go on sending. Without them it might lose the last response. */
const lingerMs = 2_000

/** Sends a last text and ends a socket, also if the peer neither reads it nor stops sending. */
export const endSocket = (socket: Duplex, text: string): void => {
  const timer = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.once('close', () => clearTimeout(timer))
  socket.end(text)
  // Without a reader the end of the peer would never be noticed.
  socket.resume()
}
