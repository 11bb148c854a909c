import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

// A network between a page and the platform, which can be cut.

/** Forwards connections to a local port. */
export const relayTcp = async (t: Pick<TestContext, 'after'>, port: number) => {
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    if (isCut) {
      near.destroy()
      return
    }
    const far = connect(port, '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        near.destroy()
        far.destroy()
        sockets.delete(socket)
      })
    }
    near.pipe(far).pipe(near)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  t.after(() => {
    cut()
    server.close()
  })
  const address = server.address()
  return {
    port: typeof address === 'object' ? address?.port : 0,
    cut,
    mend: () => {
      isCut = false
    },
  }
}

/** Forwards datagrams of one peer to a local port, once that port is set, and the answers back. */
export const relayUdp = async (t: Pick<TestContext, 'after'>) => {
  const [near, far] = [createSocket('udp4'), createSocket('udp4')]
  let [peer, to, isCut] = [0, 0, false]
  near.on('message', (packet, from) => {
    peer = from.port
    if (to !== 0 && !isCut) far.send(packet, to, '127.0.0.1')
  })
  far.on('message', (packet) => {
    if (!isCut) near.send(packet, peer, '127.0.0.1')
  })
  for (const socket of [near, far]) {
    socket.bind(0, '127.0.0.1')
    await once(socket, 'listening')
    t.after(() => socket.close())
  }
  return {
    port: near.address().port,
    toward: (port: number) => {
      to = port
    },
    cut: () => {
      isCut = true
    },
  }
}
