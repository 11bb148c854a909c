import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import type { MediaStreamOptions, MediaStreamTarget } from '../../src/ports/media-stream.ts'

/** A text frame of a stream: the fields that tests read. */
export type ReceivedFrame = {
  readonly event: string
  readonly sequenceNumber?: string
  readonly streamSid?: string
  readonly start?: Readonly<Record<string, unknown>>
  readonly media?: {
    readonly track: string
    readonly chunk: string
    readonly timestamp: string
    readonly payload: string
  }
  readonly mark?: { readonly name: string }
  readonly dtmf?: { readonly track: string; readonly digit: string }
  readonly stop?: Readonly<Record<string, unknown>>
}

/** A stream at the server. */
export type ServedStream = {
  readonly socket: WebSocket
  readonly headers: IncomingHttpHeaders
  readonly path: string
  readonly frames: readonly ReceivedFrame[]
  readonly binary: readonly Buffer[]
  /** Names of the marks that came back. */
  readonly marks: readonly string[]
  /** The code that closed the stream; null before that. */
  readonly closed: number | null
  /** The audio that came as text frames. */
  audio(track?: string): Buffer
  send(frame: Readonly<Record<string, unknown>>): void
  sendAudio(octets: Buffer): void
  mark(name: string): void
  clear(): void
}

export type StreamServer = {
  readonly url: string
  readonly streams: readonly ServedStream[]
  close(): Promise<void>
}

/**
 * A WebSocket server for media streams.
 * @param isEcho whether it sends the audio of each frame back
 * @param certificate with its key, of a server over TLS
 */
export const makeStreamServer = async (
  isEcho = false,
  certificate: { readonly cert: string; readonly key: string } | null = null,
): Promise<StreamServer> => {
  const streams: ServedStream[] = []
  const listener = certificate ? createSecureServer(certificate) : createServer()
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const server = new WebSocketServer({ server: listener })
  server.on('connection', (socket, { headers, url = '' }) => {
    const frames: ReceivedFrame[] = []
    const binary: Buffer[] = []
    const marks: string[] = []
    let stream: string | undefined
    let closed: number | null = null
    const send = (frame: Readonly<Record<string, unknown>>) =>
      socket.send(JSON.stringify({ streamSid: stream, ...frame }))
    const sendAudio = (octets: Buffer) => send({ event: 'media', media: { payload: octets.toString('base64') } })
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) {
        binary.push(data)
        if (isEcho) socket.send(data)
        return
      }
      const frame: ReceivedFrame = JSON.parse(data.toString())
      frames.push(frame)
      stream ??= frame.streamSid
      if (frame.mark) marks.push(frame.mark.name)
      if (frame.media && isEcho) sendAudio(Buffer.from(frame.media.payload, 'base64'))
    })
    socket.on('close', (code) => {
      closed = code
    })
    streams.push({
      ...{ socket, headers, path: url, frames, binary, marks, send, sendAudio },
      get closed() {
        return closed
      },
      audio: (track = 'inbound') =>
        Buffer.concat(
          frames.flatMap(({ media }) => (media?.track === track ? [Buffer.from(media.payload, 'base64')] : [])),
        ),
      mark: (name) => send({ event: 'mark', mark: { name } }),
      clear: () => send({ event: 'clear' }),
    })
  })
  // A server that listens at a port has an address of this form.
  const { port } = listener.address() as AddressInfo
  return {
    url: `${certificate ? 'wss' : 'ws'}://127.0.0.1:${port}/stream`,
    streams,
    close: async () => {
      for (const { socket } of streams) socket.terminate()
      server.close()
      listener.close()
      listener.closeAllConnections()
    },
  }
}

/** The target of a server at an IP address. */
export const streamTargetOf = (url: string): MediaStreamTarget => {
  const { protocol, hostname, port, host, pathname, search } = new URL(url)
  return {
    isSecure: protocol === 'wss:',
    host: hostname,
    isAddress: true,
    port: Number(port),
    path: pathname + search,
    hostHeader: host,
    addresses: [hostname],
  }
}

/** A two-way stream of µ-law. */
export const twoWayStream = {
  parameters: {},
  tracks: ['inbound'],
  isTwoWay: true,
  format: 'audio/x-mulaw;rate=8000',
  framing: 'json',
  mostSeconds: 600,
} as const

/** A two-way stream of µ-law to a server at an IP address. */
export const streamOptions = (url: string, more: Partial<MediaStreamOptions> = {}): MediaStreamOptions => ({
  target: streamTargetOf(url),
  headers: { 'user-agent': 'test' },
  ids: { stream: 'MZ00000000000000000000000000000001', account: 'AC1', call: 'CA1' },
  ...twoWayStream,
  ...more,
})
