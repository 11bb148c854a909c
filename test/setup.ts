import { startPlatform } from './platform.ts'
import { memoryFolder, oldest, type Server, startRunServer, startServer, variables } from './servers.ts'

const servers: Server[] = []

const start = async (variable: string, binaries?: string) => {
  const server = await (binaries ? startServer({ durable: false, binaries }) : startRunServer())
  servers.push(server)
  process.env[variable] = server.url
}

/** A home after a first start. Every platform gets a copy unless it names another home. */
const furnish = async () => {
  const home = memoryFolder()
  const platform = await startPlatform(home, { TRUNKLINE_RTP_PORTS: '0', TRUNKLINE_WEBRTC_PORTS: '0' })
  await platform.end()
  process.env[variables.home] = home
}

/**
 * Runs once before all test files: their processes inherit what is created here.
 * @param wanted what several files will use; a file that is run by itself starts what is missing
 */
export const globalSetup = async (wanted: { onOldest: boolean; platforms: boolean }): Promise<void> => {
  const oldestToo = oldest && wanted.onOldest ? [start(variables.oldest, oldest)] : []
  await Promise.all([start(variables.newest), ...oldestToo, ...(wanted.platforms ? [furnish()] : [])])
}

export const globalTeardown = async (): Promise<void> => {
  await Promise.all(servers.map((server) => server.stop()))
}
