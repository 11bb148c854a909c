import { oldest, type Server, startServer, variables } from './servers.ts'

const servers: Server[] = []

const start = async (variable: string, binaries?: string) => {
  const server = await startServer({ durable: false, ...(binaries ? { binaries } : {}) })
  servers.push(server)
  process.env[variable] = server.url
}

/** Once before all test files: their processes inherit the addresses. */
export const globalSetup = async (): Promise<void> => {
  await Promise.all([start(variables.newest), ...(oldest ? [start(variables.oldest, oldest)] : [])])
}

export const globalTeardown = async (): Promise<void> => {
  await Promise.all(servers.map((server) => server.stop()))
}
