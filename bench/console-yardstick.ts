import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

const root = join(import.meta.dirname, '..')

/** Paints fifty rows, and moves to the next one on `j`. */
const script = `const list = document.getElementById('rows')
const add = (parent, name, className, text = '') => {
  const element = parent.appendChild(document.createElement(name))
  element.className = className
  element.textContent = text
  return element
}
for (let i = 0; i < 50; i++) {
  const row = add(add(list, 'li', ''), 'div', 'inbox-row')
  const link = add(row, 'a', 'inbox-link')
  link.href = '#' + i
  link.dataset.row = i
  const [first, second] = [add(link, 'span', 'inbox-line'), add(link, 'span', 'inbox-line')]
  add(first, 'span', 'inbox-name cut', '+44 7700 9' + (10000 + i))
  add(first, 'time', 'inbox-time', '12:' + (10 + i))
  add(second, 'span', 'inbox-preview cut', 'Message ' + i + ' of the bench, as long as most of them')
}
let next = 0
addEventListener('keydown', ({ key }) => key === 'j' && document.querySelectorAll('[data-row]')[next++].focus())`

/** Serves the page that the console is compared with. */
export const serveYardstick = async (): Promise<{ readonly url: string; close(): void }> => {
  const dist = join(root, 'console/dist')
  const { style }: { style: string } = JSON.parse(readFileSync(join(dist, 'manifest.json'), 'utf8'))
  const files = new Map<string, readonly [type: string, body: Buffer]>([
    ['/', ['text/html; charset=utf-8', gzipSync(readFileSync(join(root, 'test/console/yardstick.html')))]],
    ['/style.css', ['text/css', gzipSync(readFileSync(join(dist, style)))]],
    ['/yardstick.js', ['text/javascript', gzipSync(script)]],
  ])
  const server = createServer(({ url = '/' }, reply) => {
    const [type, body] = files.get(url) ?? ['text/plain', gzipSync('')]
    reply.writeHead(files.has(url) ? 200 : 404, { 'content-type': type, 'content-encoding': 'gzip' }).end(body)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  // A server that listens on a port has an address of this shape.
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() }
}
