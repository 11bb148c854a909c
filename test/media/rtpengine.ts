import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { startEmbedded } from '../../src/adapters/media/embedded/embedded-engine.ts'
import { loopback } from '../../src/adapters/media/embedded/embedded-testing.ts'
import { connectNg } from '../../src/adapters/media/rtpengine/ng-client.ts'
import { startRtpengineEngine } from '../../src/adapters/media/rtpengine/rtpengine-engine.ts'
import type { MediaEngine } from '../../src/ports/media.ts'
import { freePort } from '../counterparts/program.ts'
import { until } from '../platform.ts'
import { temporaryFolder } from '../servers.ts'

const [firstPort, lastPort, rangeSize] = [10_000, 19_999, 500]

/**
 * A port range that no other test's daemon uses: rtpengine shares ports that another one has bound, and takes its
 * packets.
 */
const reserve = async (): Promise<{ from: number; to: number; free(): void }> => {
  for (let from = firstPort; from < lastPort; from += rangeSize) {
    const guard = createSocket('udp4')
    try {
      guard.bind({ port: from, address: '127.0.0.1', exclusive: true })
      await once(guard, 'listening')
      guard.unref()
      return { from: from + 2, to: from + rangeSize - 1, free: () => guard.close() }
    } catch {
      guard.close()
    }
  }
  throw new Error(`all ranges of ports from ${firstPort} to ${lastPort} are taken`)
}

export type Daemon = {
  readonly pid: number
  readonly port: number
  readonly dtmfPort: number
  readonly recordings: string
  stop(): Promise<void>
}

/** rtpengine as a separate process on the loopback, without its kernel module. */
export const startRtpengine = async (): Promise<Daemon> => {
  const [port, dtmfPort, recordings] = [await freePort(), await freePort(), temporaryFolder()]
  const range = await reserve()
  const options = [
    '--foreground',
    '--log-stderr',
    '--log-level=4',
    '--table=-1',
    '--config-file=none',
    '--interface=127.0.0.1',
    `--listen-ng=127.0.0.1:${port}`,
    `--port-min=${range.from}`,
    `--port-max=${range.to}`,
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
    return ng.request('ping', {}).catch(() => null)
  })
  ng.close()
  return {
    pid: child.pid ?? 0,
    port,
    dtmfPort,
    recordings,
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
      range.free()
    },
  }
}

/** The embedded engine that processes calls of rtpengine, with a thread of its own. */
export const openProcessor = (): Promise<MediaEngine> =>
  startEmbedded({
    ...loopback,
    fault: (reason) => {
      throw new Error(reason)
    },
  })

/** The engine with a daemon of its own, which ends with it. */
export const openRtpengine = async (): Promise<MediaEngine> => {
  const { port, dtmfPort, recordings, stop } = await startRtpengine()
  const dtmf = { address: '127.0.0.1', port: dtmfPort }
  const processor = await openProcessor()
  const engine = await startRtpengineEngine({ address: '127.0.0.1', port, dtmf, recordings, calls: 100, processor })
  return {
    ...engine,
    close: async () => {
      await engine.close()
      await stop()
    },
  }
}
