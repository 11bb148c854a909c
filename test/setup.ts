import { startPlatform } from './platform.ts'
import { oldest, type Server, startServer, temporaryFolder, variables } from './servers.ts'

const servers: Server[] = []

const start = async (variable: string, binaries?: string) => {
  const server = await startServer({ durable: false, ...(binaries ? { binaries } : {}) })
  servers.push(server)
  process.env[variable] = server.url
}

/** A home as the first start leaves it, of which every platform gets a copy that wants no other. */
const furnish = async () => {
  const home = temporaryFolder()
  const platform = await startPlatform(home, { TRUNKLINE_RTP_PORTS: '0', TRUNKLINE_WEBRTC_PORTS: '0' })
  await platform.end()
  process.env[variables.home] = home
}

/**
 * Once before all test files: their processes inherit what is made here.
 * @param isWhole many of them will start platforms
 */
export const globalSetup = async (isWhole: boolean): Promise<void> => {
  const oldestToo = oldest ? [start(variables.oldest, oldest)] : []
  await Promise.all([start(variables.newest), ...oldestToo, ...(isWhole ? [furnish()] : [])])
}

export const globalTeardown = async (): Promise<void> => {
  await Promise.all(servers.map((server) => server.stop()))
}
