import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

// Kannel of Debian for comparison: bearerbox and smsbox with a generated configuration, on loopback ports.

const programs = { bearerbox: '/usr/sbin/bearerbox', smsbox: '/usr/sbin/smsbox' }

/** Returns whether Kannel is installed. */
export const hasKannel = (): boolean => Object.values(programs).every(existsSync)

export type Store = 'memory' | 'file' | 'spool'

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })

const waitUntilListening = async (port: number, what: string) => {
  for (let i = 0; i < 200; i++) {
    if (await isListening(port)) return
    await setTimeout(50)
  }
  throw new Error(`${what} does not answer`)
}

const stores: Record<Store, (folder: string) => string> = {
  memory: () => '',
  file: (folder) => `store-type = file\nstore-location = ${folder}/store`,
  spool: (folder) => `store-type = spool\nstore-location = ${folder}`,
}

/**
 * Starts both boxes with a transceiver bind to the SMSC and waits until they answer.
 * @param callback address that receives inbound messages
 */
export const startKannel = async (store: Store, smsc: number, window: number, callback: string) => {
  const folder = mkdtempSync(join(tmpdir(), 'trunkline-kannel-'))
  const [admin, boxes, http] = [await freePort(), await freePort(), await freePort()]
  const file = join(folder, 'kannel.conf')
  writeFileSync(
    file,
    `group = core
admin-port = ${admin}
admin-interface = 127.0.0.1
admin-password = bench
smsbox-port = ${boxes}
smsbox-interface = 127.0.0.1
box-allow-ip = 127.0.0.1
dlr-storage = internal
${stores[store](folder)}

group = smsc
smsc = smpp
smsc-id = sink
host = 127.0.0.1
port = ${smsc}
smsc-username = bench
smsc-password = bench
system-type = ""
transceiver-mode = true
max-pending-submits = ${window}

group = smsbox
bearerbox-host = 127.0.0.1
bearerbox-port = ${boxes}
sendsms-port = ${http}
sendsms-interface = 127.0.0.1
max-pending-requests = 100000

group = sendsms-user
username = bench
password = bench
concatenation = true
max-messages = 10

group = sms-service
keyword = default
get-url = "${callback}?from=%p"
max-messages = 0
`,
  )
  const start = (program: string): ChildProcess =>
    spawn(program, ['-v', '4', file], { cwd: folder, stdio: ['ignore', 'ignore', 'ignore'] })
  const bearerbox = start(programs.bearerbox)
  await waitUntilListening(boxes, 'bearerbox')
  const smsbox = start(programs.smsbox)
  await waitUntilListening(http, 'smsbox')
  return {
    port: http,
    pids: [bearerbox.pid ?? 0, smsbox.pid ?? 0],
    stop: async () => {
      for (const box of [smsbox, bearerbox]) {
        box.kill('SIGKILL')
        await once(box, 'exit')
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Returns a sendsms request, with a delivery callback (dlr-mask 1) if an address is given. */
export const sendsms = (from: string, to: string, text: string, callback: string | null): Buffer => {
  const fields = { username: 'bench', password: 'bench', from, to, text }
  const query = new URLSearchParams(callback ? { ...fields, 'dlr-mask': '1', 'dlr-url': callback } : fields)
  return Buffer.from(`GET /cgi-bin/sendsms?${query} HTTP/1.1\r\nhost: localhost\r\nconnection: keep-alive\r\n\r\n`)
}
