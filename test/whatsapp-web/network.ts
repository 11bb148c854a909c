import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { certificate } from '../certificate.ts'
import { inheritedEnvironment } from '../child.ts'
import { type Answer, type Platform, until } from '../platform.ts'
import { temporaryFolder } from '../servers.ts'

type Body = Answer['body']

/** The simulated network, in its own process. */
export type WebNetwork = {
  readonly settings: Record<string, unknown>
  /** Environment in which the platform's process trusts the network's certificate. */
  readonly env: Record<string, string>
  control(what: string, body: object): Promise<Body>
  freeze(): void
  thaw(): void
  stop(): Promise<void>
}

export const startWebNetwork = async (library: string): Promise<WebNetwork> => {
  const { cert, key } = certificate('IP:127.0.0.1')
  const file = join(temporaryFolder(), 'authority.pem')
  writeFileSync(file, cert)
  const env = { NODE_EXTRA_CA_CERTS: file }
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...inheritedEnvironment, ...env, WHATSAPP_LIBRARY: library, TLS_CERT: cert, TLS_KEY: key },
  })
  const ended = once(child, 'exit')
  const { value } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
  const { port, control } = JSON.parse(String(value))
  return {
    env,
    settings: { accept_notice: true, websocket_url: `wss://127.0.0.1:${port}/ws/chat` },
    control: async (what, body) => {
      const answer = await fetch(`http://127.0.0.1:${control}/${what}`, { method: 'POST', body: JSON.stringify(body) })
      if (!answer.ok) throw new Error(`${what}: ${await answer.text()}`)
      return answer.json()
    },
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    stop: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

const must = async ({ call }: Platform, path: string, body: object): Promise<Body> => {
  const answer = await call('POST', path, body)
  if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** Makes a channel that is not linked yet. @returns its uuid */
export const makeChannel = async (
  platform: Platform,
  network: WebNetwork,
  number: string,
  settings: object = {},
): Promise<string> => {
  await network.control('people', { number })
  const connection = await must(platform, '/operator/connections', {
    kind: 'whatsapp-web',
    name: `web ${number}`,
    settings: { ...network.settings, ...settings },
    shared: true,
  })
  const { uuid } = connection.connection
  return (await must(platform, '/open/msgapp/channel/create', { phone_number: number, connection: uuid })).channel.uuid
}

export const statusOf = async ({ call }: Platform, channel: string): Promise<Body> =>
  (await call('GET', `/open/msgapp/channel/${channel}/status`)).body

export const connected = (platform: Platform, channel: string): Promise<Body> =>
  until(async () => {
    const status = await statusOf(platform, channel)
    return status.connection_status === 'C' && status
  }, 60)

/** Makes a channel that a phone has linked by scanning its code. */
export const linkChannel = async (platform: Platform, network: WebNetwork, number: string): Promise<string> => {
  const channel = await makeChannel(platform, network, number)
  const qr = await until(async () => (await statusOf(platform, channel)).qr_code, 60)
  await network.control('scan', { number, qr })
  await connected(platform, channel)
  return channel
}
