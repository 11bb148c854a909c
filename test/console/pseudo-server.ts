import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { temporaryFolder } from '../servers.ts'

// An installation whose console is in the pseudo-locale: the assets and the page of that build, and the server itself
// for everything else.

const types: readonly (readonly [end: string, type: string])[] = [
  ['.css', 'text/css'],
  ['.svg', 'image/svg+xml'],
  ['.webmanifest', 'application/manifest+json'],
  ['', 'text/javascript'],
]

const typeOf = (path: string): string => types.find(([end]) => path.endsWith(end))?.[1] ?? ''

/** @param url of the installation */
export const servePseudo = async (url: string): Promise<{ readonly url: string; close(): void }> => {
  const dist = temporaryFolder()
  execFileSync(process.execPath, ['console/build.mjs', '--pseudo', dist])
  const { page }: { page: string } = JSON.parse(readFileSync(join(dist, 'manifest.json'), 'utf8'))
  const { port: target } = new URL(url)

  const pass = (request: IncomingMessage, reply: ServerResponse) => {
    const { method, url: path, headers } = request
    const upstream = send({ port: target, host: '127.0.0.1', method, path, headers }, (answer) => {
      const isPage = String(answer.headers['content-type']).startsWith('text/html')
      if (!isPage) return answer.pipe(reply.writeHead(answer.statusCode ?? 500, answer.headers))
      const { link: _, 'content-length': __, 'content-encoding': ___, ...rest } = answer.headers
      answer.resume()
      return reply.writeHead(answer.statusCode ?? 500, rest).end(page.replace('$frame', 'full'))
    })
    upstream.on('error', () => reply.destroy())
    request.pipe(upstream)
  }

  const server = createServer((request, reply) => {
    const { pathname } = new URL(request.url ?? '/', url)
    const file = join(dist, pathname.replace('/console/', ''))
    if (pathname.startsWith('/console/assets/') && existsSync(file))
      reply.writeHead(200, { 'content-type': typeOf(pathname) }).end(readFileSync(file))
    else pass(request, reply)
  })
  server.on('upgrade', ({ method, url: path, rawHeaders }, socket, head) => {
    const upstream = connect(Number(target), '127.0.0.1', () => {
      const lines = Array.from(
        { length: rawHeaders.length / 2 },
        (_, i) => `${rawHeaders[2 * i]}: ${rawHeaders[2 * i + 1]}`,
      )
      upstream.write(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
      upstream.write(head)
      socket.pipe(upstream).pipe(socket)
    })
    for (const end of [socket, upstream])
      end.on('error', () => {
        socket.destroy()
        upstream.destroy()
      })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  // A server that listens on a port has an address of this shape.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
