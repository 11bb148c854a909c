import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { canConnect, freePort } from '../counterparts/program.ts'
import type { DatabaseNode } from './patroni.ts'
import { type Member, startMember } from './processes.ts'

/** The configuration of docs/operating/failover.md, with the ports of a test. */
const configuration = (
  ports: { readonly database: number; readonly http: number; readonly stats: number },
  nodes: readonly Pick<DatabaseNode, 'name' | 'port' | 'apiPort'>[],
  apis: readonly number[],
): string => `global
  maxconn 4096

defaults
  timeout connect 2s
  timeout check 2s
  timeout client 1h
  timeout server 1h

listen database
  bind 127.0.0.1:${ports.database}
  mode tcp
  option tcpka
  option httpchk
  http-check send meth GET uri /primary
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${nodes.map(({ name, port, apiPort }) => `  server ${name} 127.0.0.1:${port} check port ${apiPort}\n`).join('')}
listen http
  bind 127.0.0.1:${ports.http}
  mode http
  timeout client 65s
  timeout server 65s
  timeout tunnel 1h
  retries 3
  retry-on conn-failure
  option redispatch 1
  option httpchk
  http-check send meth GET uri /readyz
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1
${apis.map((port, i) => `  server api-${i + 1} 127.0.0.1:${port} check\n`).join('')}
listen stats
  bind 127.0.0.1:${ports.stats}
  mode http
  stats enable
  stats uri /
`

export type LoadBalancer = Member & {
  /** Port that leads to the primary. */
  readonly databasePort: number
  /** Port that leads to the ready processes with the role `api`. */
  readonly httpPort: number
  /** Whether it sends requests to the process `api-1` or `api-2`. */
  usesApi(name: string): Promise<boolean>
}

/** Starts HAProxy in front of the database nodes and of the processes with the role `api`. */
export const startProxy = async (
  folder: string,
  nodes: readonly DatabaseNode[],
  apis: readonly number[],
): Promise<LoadBalancer> => {
  const [database, http, stats] = [await freePort(), await freePort(), await freePort()]
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, configuration({ database, http, stats }, nodes, apis), { mode: 0o644 })
  const proxy = startMember(folder, 'haproxy', ['haproxy', '-db', '-f', file])
  await proxy.program().reaches('it listens', () => canConnect(http))
  return {
    ...proxy,
    databasePort: database,
    httpPort: http,
    usesApi: async (name) => {
      const listed = await (await fetch(`http://127.0.0.1:${stats}/;csv`)).text()
      return listed.split('\n').some((line) => line.startsWith(`http,${name},`) && line.includes(',UP,'))
    },
  }
}
