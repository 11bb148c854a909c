import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config } from './config.ts'

/** A port of a setting, as it will be bound. */
type PortBinding = {
  readonly setting: string
  readonly host: string
  readonly port: number
  readonly transport: 'tcp' | 'udp'
}

const portBindings = ({ host, port, sandbox, sandboxSmppPort, sandboxSipPort }: Config): PortBinding[] => {
  const local = { host: '127.0.0.1' }
  const sip = { ...local, setting: 'TRUNKLINE_SANDBOX_SIP_PORT', port: sandboxSipPort }
  const ofSandbox: PortBinding[] = [
    { ...local, setting: 'TRUNKLINE_SANDBOX_SMPP_PORT', port: sandboxSmppPort, transport: 'tcp' },
    { ...sip, transport: 'tcp' },
    { ...sip, transport: 'udp' },
  ]
  return [{ setting: 'TRUNKLINE_PORT', host, port, transport: 'tcp' }, ...(sandbox ? ofSandbox : [])]
}

/** Binds a port for a moment. @throws the error of the operating system */
const bindOnce = async ({ host, port, transport }: PortBinding): Promise<void> => {
  if (transport === 'tcp') {
    const server = createServer().listen({ host, port })
    await once(server, 'listening')
    server.close()
    await once(server, 'close')
    return
  }
  const socket = createSocket('udp4')
  try {
    socket.bind({ address: host, port })
    await once(socket, 'listening')
  } finally {
    socket.close()
  }
}

const reasonOf = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? error.code : null
  if (code === 'EADDRINUSE') return 'is in use by another program. Stop that program, or set another port'
  if (code === 'EACCES') return 'needs more rights than this user has. Set a port above 1023'
  return `cannot be bound (${error instanceof Error ? error.message : error}). Set an address of this machine`
}

/**
 * Checks that the configured ports are free, so that a start fails before it creates anything.
 * @throws Error with the port, the setting and the fix
 */
export const checkPorts = async (config: Config): Promise<void> => {
  for (const binding of portBindings(config)) {
    if (binding.port === 0) continue
    await bindOnce(binding).catch((error: unknown) => {
      const { setting, host, port, transport } = binding
      const names = setting === 'TRUNKLINE_PORT' ? 'TRUNKLINE_PORT (or TRUNKLINE_HOST)' : setting
      throw new Error(`${transport.toUpperCase()} port ${port} of ${host} ${reasonOf(error)}: ${names}`, {
        cause: error,
      })
    })
  }
}
