import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import type { Browser } from 'playwright-core'
import { type GatewaySettings, startGateway } from '../../src/adapters/sip-gateway/gateway.ts'
import { type CallDecision, makeCallControl, openCarrier, trunkOf } from '../../src/adapters/sip-gateway/testing.ts'
import { until } from '../platform.ts'
import { openTab, type Tab } from './tab.ts'

// The built browser SDK in a real browser, against our gateway: the tests cover the files that customers load.

export const sdkFile = join(import.meta.dirname, '../../packages/voice-sdk/dist/voice.js')

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token, reduced to the parts that a browser reads. @param seconds until its expiry */
export const tokenOf = (user: string, seconds: number, issuer: string, more = {}): string => {
  const exp = Math.floor(Date.now() / 1_000) + seconds
  return `${encode({ alg: 'none' })}.${encode({ iss: issuer, sub: user, exp, ...more })}.none`
}

const claimsOf = (request: IncomingMessage): { sub: string; exp: number } | null => {
  const [, payload = ''] = (request.headers.authorization ?? '').split('.')
  try {
    return JSON.parse(Buffer.from(payload, 'base64url').toString())
  } catch {
    return null
  }
}

/** A gateway behind a web server that serves pages and credentials, with one carrier behind the gateway. */
export const openSdkFixture = async (
  t: TestContext,
  browser: Browser,
  decide: CallDecision,
  settings: Pick<GatewaySettings, 'media'> & Partial<GatewaySettings>,
) => {
  const callControl = makeCallControl(decide)
  const registers: string[] = []
  const generations = new Map<string, number>()
  const refusals = new Map<string, { status: number; error_message: string }>()
  const gateway = await startGateway({
    ...{
      bind: '127.0.0.1',
      port: 0,
      domain: 'us.test',
      realm: 'us.test',
      secret: 's',
      callControl: callControl.callControl,
    },
    fault: (error) => console.error(error),
    ...settings,
  })
  const credentials = async (request: IncomingMessage, response: ServerResponse, url: string) => {
    const claims = claimsOf(request)
    const refused = claims && refusals.get(claims.sub)
    const isStale = !claims || claims.exp * 1_000 <= Date.now()
    const { renew } = JSON.parse((await text(request)) || '{}')
    if (refused || isStale) {
      response.writeHead(refused ? refused.status : 401, { 'content-type': 'application/json' })
      response.end(JSON.stringify(refused ?? { error_message: 'The token is wrong' }))
      return
    }
    const { sub, exp } = claims
    const generation = (generations.get(sub) ?? 0) + (renew && generations.has(sub) ? 0 : 1)
    generations.set(sub, generation)
    const username = `${exp * 1_000}:${sub}`
    const sip = {
      uri: `sip:${sub}@us.test`,
      ws_url: `${url.replace('http', 'ws')}/voice`,
      realm: 'us.test',
      generation,
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ sip: { ...sip, username, password: `password of ${username}` }, ice_servers: [] }))
  }
  /** Further pages by their path. */
  const pages = new Map<string, string>()
  const http = createServer((request, response) => {
    if (request.url === '/open/sdk/credentials') void credentials(request, response, url)
    else if (request.url === '/sdk/voice.js') response.end(readFileSync(sdkFile))
    else {
      response.writeHead(200, { 'content-type': 'text/html' })
      response.end(
        pages.get(request.url ?? '') ?? '<!doctype html><title>page</title><script src="/sdk/voice.js"></script>',
      )
    }
  })
  const sockets = new Set<Duplex>()
  let open: typeof gateway | null = gateway
  http.on('upgrade', (request, socket, head) => {
    sockets.add(socket)
    if (open) void open.acceptWebSocket(request, socket, head, '127.0.0.1')
    else socket.destroy()
  })
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  const address = http.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  t.after(async () => {
    await gateway.close(0)
    http.closeAllConnections()
    http.close()
  })
  const carrier = await openCarrier(t)
  await gateway.apply([trunkOf(carrier.port)])
  await until(async () => gateway.trunk('carrier')?.state === 'up')

  /** @param user letters only @returns a page with a registered Device, unless `isStarted` is false */
  const tab = async (user: string, options: object = {}, seconds = 3_600, isStarted = true): Promise<Tab> => {
    const opened = await openTab(t, browser, `${url}/`, registers)
    const given = { token: tokenOf(user, seconds, url), ...options }
    if (isStarted) await opened.run(`start(${JSON.stringify(given)})`)
    return opened
  }
  return {
    ...{ callControl, gateway, carrier, url, registers, refusals, generations, sockets, shown: pages, tab },
    /** Breaks every connection; new ones break at once, until the link is mended. */
    cut: () => {
      open = null
      for (const socket of sockets) socket.destroy()
    },
    /** @param to another gateway that replaces this one from now on */
    mend: (to = gateway) => {
      open = to
    },
  }
}
