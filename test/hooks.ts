import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// biome-ignore lint/suspicious/noExplicitAny: a test looks into bodies of every shape
type Body = any

/** A third party's server: receives webhooks and serves files. */
export type WebhookReceiver = {
  /** A new address, and the requests that it receives. */
  open(): { url: string; bodies: Body[] }
  /** The address of a file. */
  file(body: Buffer, type: string, name: string): string
  end(): Promise<void>
}

export const startWebhookReceiver = async (): Promise<WebhookReceiver> => {
  const boxes = new Map<string, Body[]>()
  const files = new Map<string, { body: Buffer; type: string }>()
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    const file = files.get(path)
    if (file) {
      response.writeHead(200, { 'content-type': file.type, 'content-length': file.body.length }).end(file.body)
      return
    }
    let text = ''
    for await (const part of request.setEncoding('utf8')) text += part
    boxes.get(path)?.push(JSON.parse(text))
    response.writeHead(boxes.has(path) ? 200 : 404).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // a TCP server
  const base = `http://127.0.0.1:${port}`
  return {
    open: () => {
      const path = `/hooks/${boxes.size}`
      const bodies: Body[] = []
      boxes.set(path, bodies)
      return { url: base + path, bodies }
    },
    file: (body, type, name) => {
      files.set(`/files/${name}`, { body, type })
      return `${base}/files/${name}`
    },
    end: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
