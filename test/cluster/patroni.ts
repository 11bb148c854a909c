import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { quoteIdentifier } from '../../src/platform/db/identifier.ts'
import { connect } from '../../src/platform/db/sql.ts'
import { freePort } from '../counterparts/program.ts'
import { until } from '../platform.ts'
import { oldest } from '../servers.ts'
import { type Member, startMember } from './processes.ts'

// Three members of etcd, and two of Patroni with PostgreSQL, one of them a synchronous standby.

/** A node that was killed recovers, rewinds and follows: half a minute on a quiet machine. */
const patienceSeconds = 240

/** Settings of Patroni that docs/operating/failover.md promises with. */
const dynamicSettings = {
  ttl: 20,
  loop_wait: 5,
  retry_timeout: 7,
  maximum_lag_on_failover: 1_048_576,
  synchronous_mode: true,
  postgresql: {
    use_pg_rewind: true,
    parameters: { wal_log_hints: 'on', max_connections: 200, min_wal_size: '512MB', wal_keep_size: '512MB' },
  },
} as const

/** The role and the database of the platform. */
const [role, rolePassword, database] = ['trunkline', 'a-password-of-the-platform', 'trunkline']
const superuserPassword = 'a-password-of-the-superuser'

export type DatabaseNode = Member & {
  /** Port of PostgreSQL. */
  readonly port: number
  /** Port of Patroni's HTTP interface. */
  readonly apiPort: number
  /** Whether Patroni says that this is the primary: what HAProxy asks. */
  isPrimary(): Promise<boolean>
}

const startEtcd = async (folder: string): Promise<{ members: Member[]; hosts: string }> => {
  const names = ['etcd-1', 'etcd-2', 'etcd-3']
  const ports = await Promise.all(
    names.map(async (name) => ({ name, client: await freePort(), peer: await freePort() })),
  )
  const cluster = ports.map(({ name, peer }) => `${name}=http://127.0.0.1:${peer}`).join(',')
  const members = ports.map(({ name, client, peer }) =>
    startMember(folder, name, [
      ...['etcd', '--enable-v2', '--name', name, '--data-dir', 'data', '--initial-cluster-state', 'new'],
      ...[
        '--listen-client-urls',
        `http://127.0.0.1:${client}`,
        '--advertise-client-urls',
        `http://127.0.0.1:${client}`,
      ],
      ...[
        '--listen-peer-urls',
        `http://127.0.0.1:${peer}`,
        '--initial-advertise-peer-urls',
        `http://127.0.0.1:${peer}`,
      ],
      ...['--initial-cluster', cluster, '--initial-cluster-token', 'trunkline-test'],
      // Twice the default of 100 ms and 1 s: members of a busy machine would elect a leader again and again.
      ...['--heartbeat-interval', '200', '--election-timeout', '2000'],
    ]),
  )
  return { members, hosts: ports.map(({ client }) => `127.0.0.1:${client}`).join(',') }
}

const startNode = async (folder: string, name: string, hosts: string): Promise<DatabaseNode> => {
  const [port, apiPort] = [await freePort(), await freePort()]
  const own = join(folder, name)
  const settings = {
    scope: 'trunkline',
    name,
    restapi: { listen: `127.0.0.1:${apiPort}`, connect_address: `127.0.0.1:${apiPort}` },
    // Not etcd3: Patroni 3.0.2 overwrites the leader there when it goes on after its lease, and acknowledged commits are lost.
    etcd: { hosts },
    bootstrap: {
      dcs: dynamicSettings,
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums'],
      pg_hba: [
        'local all all trust',
        'host all all 127.0.0.1/32 scram-sha-256',
        'host replication replicator 127.0.0.1/32 scram-sha-256',
      ],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: join(own, 'data'),
      bin_dir: oldest,
      pgpass: join(own, 'pgpass'),
      authentication: {
        superuser: { username: 'postgres', password: superuserPassword },
        replication: { username: 'replicator', password: 'a-password-of-the-standby' },
        rewind: { username: 'rewinder', password: 'a-password-of-the-rewinder' },
      },
      parameters: { unix_socket_directories: own },
    },
  }
  const file = join(folder, `${name}.yaml`)
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(settings), { mode: 0o644 })
  return {
    ...startMember(folder, name, ['patroni', file]),
    port,
    apiPort,
    isPrimary: async () => (await ask(apiPort, 'GET', '/primary')).status === 200,
  }
}

/** @returns status 0 when nothing answers */
const ask = async (
  port: number,
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; text: string }> => {
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      // A switchover is answered once it is done; a node that hangs answers nothing.
      signal: AbortSignal.timeout(method === 'POST' ? 60_000 : 5_000),
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    return { status: answer.status, text: await answer.text() }
  } catch (error) {
    return { status: 0, text: String(error) }
  }
}

/** As Patroni lists its members: `role` is leader, sync_standby or replica. */
type ListedMember = { readonly name: string; readonly role: string; readonly state: string }

const listed = async (nodes: readonly DatabaseNode[]): Promise<readonly ListedMember[]> => {
  for (const { apiPort } of nodes) {
    const { status, text } = await ask(apiPort, 'GET', '/cluster')
    if (status !== 200) continue
    const { members }: { members: ListedMember[] } = JSON.parse(text) // Patroni's REST API
    return members
  }
  return []
}

export type PatroniCluster = {
  readonly etcd: readonly Member[]
  readonly nodes: readonly DatabaseNode[]
  /** The address of the platform's database on a port. */
  urlAt(port: number): string
  /** The primary and its synchronous standby, once both run. */
  whenHealthy(): Promise<{ primary: DatabaseNode; standby: DatabaseNode }>
  /** Whether a synchronous standby is listed. */
  hasStandby(): Promise<boolean>
  /** Makes the standby the primary, as an operator does before maintenance. */
  switchover(): Promise<void>
}

/** Makes the role and the database of the platform. */
const makeDatabase = async (port: number): Promise<void> => {
  const url = `postgres://postgres:${superuserPassword}@127.0.0.1:${port}/postgres`
  const superuser = connect({ url, connections: 1, unlimited: true })
  try {
    await superuser.raw(`create role ${quoteIdentifier(role)} login password '${rolePassword}'`)
    await superuser.raw(`create database ${quoteIdentifier(database)} owner ${quoteIdentifier(role)}`)
  } finally {
    await superuser.end()
  }
}

/** Starts etcd and Patroni below the folder, and makes the platform's database. */
export const startPatroni = async (folder: string): Promise<PatroniCluster> => {
  const { members: etcd, hosts } = await startEtcd(folder)
  const nodes = [await startNode(folder, 'node-1', hosts), await startNode(folder, 'node-2', hosts)]
  const nodeOf = (members: readonly ListedMember[], role: string) => {
    const found = members.find((one) => one.role === role && ['running', 'streaming'].includes(one.state))
    return nodes.find(({ name }) => name === found?.name)
  }
  const whenHealthy = () =>
    until(
      async () => {
        const members = await listed(nodes)
        const [primary, standby] = [nodeOf(members, 'leader'), nodeOf(members, 'sync_standby')]
        return primary && standby && (await primary.isPrimary()) ? { primary, standby } : null
      },
      patienceSeconds,
      200,
    )
  const { primary } = await whenHealthy()
  await makeDatabase(primary.port)
  return {
    etcd,
    nodes,
    urlAt: (port) => `postgres://${role}:${rolePassword}@127.0.0.1:${port}/${database}`,
    whenHealthy,
    hasStandby: async () => (await listed(nodes)).some((one) => one.role === 'sync_standby'),
    switchover: async () => {
      const { primary, standby } = await whenHealthy()
      const order = { leader: primary.name, candidate: standby.name }
      const { status, text } = await ask(primary.apiPort, 'POST', '/switchover', order)
      assert.equal(status, 200, text)
    },
  }
}
