import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { openOwnSocket } from './own-addresses.ts'

// Loopback addresses simulate a network: 127.0.0.2 is this machine, 127.0.0.3 another machine.

const loopback = { address: '127.0.0.1', family: 'IPv4', internal: true } as const
const outer = { address: '127.0.0.2', family: 'IPv4', internal: false } as const

const openAt = async (t: TestContext, address: string) => {
  const socket = createSocket('udp4')
  t.after(() => socket.close())
  socket.bind(0, address)
  await once(socket, 'listening')
  return socket
}

test('the second address of a server on loopback accepts packets of this machine only', async (t) => {
  const own = await openOwnSocket([loopback, outer])
  assert.ok(own)
  t.after(() => own.socket.close())
  assert.equal(own.socket.address().address, '127.0.0.2')
  const taken: string[] = []
  let resolve = () => {}
  const last = new Promise<void>((done) => {
    resolve = done
  })
  own.receive((packet, from) => {
    taken.push(`${packet} from ${from.address}`)
    if (packet.equals(Buffer.from('the last one'))) resolve()
  })
  const { port } = own.socket.address()
  const say = async (address: string, text: string) => {
    const socket = await openAt(t, address)
    await new Promise((sent) => socket.send(text, port, '127.0.0.2', sent))
  }
  await say('127.0.0.2', 'one')
  await say('127.0.0.3', 'two')
  await say('127.0.0.1', 'the last one')
  await last
  assert.deepEqual(taken, ['one from 127.0.0.2', 'the last one from 127.0.0.1'])
})

test('a machine without a network has no second address; IPv4 is preferred, and link-local addresses are ignored', async (t) => {
  const linkLocal = { address: 'fe80::1', family: 'IPv6', internal: false } as const
  assert.equal(await openOwnSocket([loopback, linkLocal]), null)
  const own = await openOwnSocket([{ address: '2001:db8::1', family: 'IPv6', internal: false }, outer])
  t.after(() => own?.socket.close())
  assert.equal(own?.socket.address().address, '127.0.0.2')
})

test('an address that has just disappeared is not an error: the call goes on over loopback', async () => {
  assert.equal(await openOwnSocket([{ address: '203.0.113.7', family: 'IPv4', internal: false }]), null)
})
