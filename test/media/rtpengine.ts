import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { connectNg } from '../../src/connectors/media/rtpengine/ng.ts'
import { until } from '../platform.ts'
import { temporaryFolder } from '../servers.ts'

const freePort = async (): Promise<number> => {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  return port
}

export type Daemon = {
  readonly pid: number
  readonly port: number
  readonly dtmfPort: number
  readonly recordings: string
  stop(): Promise<void>
}

/** rtpengine as a process of its own on the loopback, without its kernel module. */
export const startRtpengine = async (): Promise<Daemon> => {
  const [port, dtmfPort, recordings] = [await freePort(), await freePort(), temporaryFolder()]
  const options = [
    '--foreground',
    '--log-stderr',
    '--log-level=4',
    '--table=-1',
    '--config-file=none',
    '--interface=127.0.0.1',
    `--listen-ng=127.0.0.1:${port}`,
    '--port-min=33000',
    '--port-max=34999',
    '--num-threads=1',
    '--recording-method=pcap',
    '--recording-format=raw',
    `--recording-dir=${recordings}`,
    `--dtmf-log-dest=127.0.0.1:${dtmfPort}`,
  ]
  const child = spawn('rtpengine', options, { stdio: ['ignore', 'ignore', 'pipe'] })
  process.on('exit', () => child.kill('SIGKILL'))
  let text = ''
  child.stderr.setEncoding('utf8').on('data', (part: string) => {
    text = (text + part).slice(-20_000)
  })
  const ng = await connectNg('127.0.0.1', port)
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`rtpengine has ended: ${text}`)
    return ng.ask('ping', {}).catch(() => null)
  })
  ng.close()
  return {
    pid: child.pid ?? 0,
    port,
    dtmfPort,
    recordings,
    stop: async () => {
      if (child.exitCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}
