import { createServer } from 'node:https'
import { WebSocketServer } from 'ws'
import type { BinaryNode } from '../../src/adapters/whatsapp-web/library.ts'
import { finishLink, type UnlinkedDevice } from './linking.ts'
import { deliver, waitingKey, wereRead } from './messages.ts'
import { bytesOf, childOf, node, seconds } from './nodes.ts'
import { Noise } from './noise.ts'
import { queries, Refusal } from './queries.ts'
import type { Device, World } from './world.ts'

export type Network = {
  readonly unlinked: Set<UnlinkedDevice>
  /** While true, received nodes are dropped. */
  isDeaf: boolean
  listen(port: number): Promise<number>
}

type Socket = { send(bytes: Buffer): void; close(): void }

/** Serves one connection of a device. */
const serve = (world: World, network: Network, socket: Socket) => {
  const { library, devices } = world
  const noise = new Noise(library)
  let device: Device | null = null
  let waits: UnlinkedDevice | null = null

  const send = (told: BinaryNode) => socket.send(noise.pack(library.encodeBinaryNode(told)))

  const enter = (payload: Uint8Array) => {
    const { username, device: place, devicePairingData } = library.proto.ClientPayload.decode(payload)
    if (devicePairingData?.eIdent) {
      const refs = Array.from({ length: 6 }, (_, turn) => `2@ref${turn}-${Math.random().toString(36).slice(2)}`)
      const identityKey = Buffer.from(devicePairingData.eIdent)
      waits = {
        refs,
        noiseKey: Buffer.from(noise.client),
        identityKey,
        send,
        close: socket.close,
        hello: null,
        typed: null,
      }
      network.unlinked.add(waits)
      const shown = refs.map((ref) => node('ref', {}, Buffer.from(ref)))
      send(
        node('iq', { id: 'pair', type: 'set', from: 's.whatsapp.net', xmlns: 'md' }, [node('pair-device', {}, shown)]),
      )
      return
    }
    const found = devices.get(`${username}:${place}@s.whatsapp.net`)
    if (!found?.noiseKey.equals(Buffer.from(noise.client))) {
      send(node('failure', { reason: '401' }))
      return
    }
    found.send?.(node('stream:error', {}, [node('conflict', { type: 'replaced' })]))
    device = found
    found.send = send
    send(node('success', { t: seconds(), lid: found.lid }))
    for (const one of found.waiting.values()) send({ ...one, attrs: { ...one.attrs, offline: '0' } })
    send(node('ib', {}, [node('offline', { count: String(found.waiting.size) })]))
  }

  const answer = async (iq: BinaryNode): Promise<void> => {
    const { id = '', xmlns = '' } = iq.attrs
    const to = { id, from: 's.whatsapp.net' }
    const code = childOf(iq, 'link_code_companion_reg')
    if (waits && code) {
      if (code.attrs.stage === 'companion_hello') {
        const wrapped = bytesOf(childOf(code, 'link_code_pairing_wrapped_companion_ephemeral_pub'))
        waits.hello = { jid: code.attrs.jid ?? '', wrapped, ref: Buffer.from(waits.refs[0] ?? '') }
      } else waits.typed?.(code)
      return send(node('iq', { ...to, type: 'result' }))
    }
    if (childOf(iq, 'remove-companion-device') && device) {
      devices.delete(device.jid)
      devices.delete(device.lid)
    }
    try {
      const query = queries[xmlns]
      const content = query && device ? await query(world, device, iq) : []
      send(node('iq', { ...to, type: 'result' }, content))
    } catch (error) {
      const refused = error instanceof Refusal ? error : new Refusal(500, String(error))
      send(node('iq', { ...to, type: 'error' }, [node('error', { code: String(refused.code), text: refused.message })]))
    }
  }

  const hear = async (told: BinaryNode): Promise<void> => {
    if (network.isDeaf) return
    const { tag, attrs } = told
    const { id = '' } = attrs
    if (tag === 'iq') {
      if ((attrs.type === 'result' || attrs.type === 'error') && finishLink(told, send)) return
      if (attrs.type === 'get' || attrs.type === 'set') await answer(told)
    } else if (tag === 'message' && device) {
      const locked = world.find(attrs.to ?? '')
      // Numbers ending in 3 accept no first message from strangers.
      if (locked?.number.endsWith('3')) {
        locked.refusals++
        return send(node('ack', { class: 'message', id, from: attrs.to, error: '463' }))
      }
      await deliver(world, device, told)
      send(node('ack', { class: 'message', id, from: attrs.to, t: seconds() }))
    } else if (tag === 'ack' || (tag === 'receipt' && attrs.type !== 'retry')) {
      const about = tag === 'ack' ? waitingKey(attrs.class ?? '', id, attrs.type ?? '') : waitingKey('message', id, '')
      device?.waiting.delete(about)
      if (attrs.type === 'read') wereRead(world, told)
      if (tag === 'receipt') send(node('ack', { class: 'receipt', id, from: attrs.to, t: seconds() }))
    } else if (tag === 'receipt') process.stderr.write(`asked again for ${id}\n`)
  }

  let turn = Promise.resolve()
  return {
    take: (bytes: Buffer) =>
      noise.receive(bytes, {
        reply: (reply) => socket.send(reply),
        entered: enter,
        node: (frame) => {
          turn = turn
            .then(async () => hear(await library.decodeBinaryNode(frame)))
            .catch((error) => void process.stderr.write(`${error?.stack ?? error}\n`))
        },
      }),
    end: () => {
      if (waits) network.unlinked.delete(waits)
      if (device?.send === send) device.send = null
    },
  }
}

/** The network: device sockets and files on one port. */
export const makeNetwork = (world: World, { cert, key }: { cert: string; key: string }): Network => {
  const https = createServer({ cert, key }, (request, response) => {
    const path = request.url ?? ''
    if (request.method === 'POST') {
      const pieces: Buffer[] = []
      request.on('data', (piece) => pieces.push(piece))
      request.on('end', () => {
        const directPath = world.keep(Buffer.concat(pieces))
        response.end(JSON.stringify({ url: `https://${world.host}${directPath}`, direct_path: directPath }))
      })
      return
    }
    const file = world.files.get(path)
    response.writeHead(file ? 200 : 404).end(file)
  })
  const network: Network = {
    unlinked: new Set(),
    isDeaf: false,
    listen: (port) =>
      new Promise((resolve) => {
        https.listen(port, '127.0.0.1', () => {
          const address = https.address()
          const taken = address && typeof address === 'object' ? address.port : 0
          world.host = `127.0.0.1:${taken}`
          resolve(taken)
        })
      }),
  }
  new WebSocketServer({ server: https }).on('connection', (socket) => {
    const one = serve(world, network, { send: (bytes) => socket.send(bytes), close: () => socket.close() })
    socket.on('message', (bytes: Buffer) => {
      try {
        one.take(bytes)
      } catch (error) {
        process.stderr.write(`${error}\n`)
        socket.close()
      }
    })
    socket.on('close', one.end)
    socket.on('error', one.end)
  })
  return network
}
