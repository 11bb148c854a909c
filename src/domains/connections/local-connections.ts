import type { CarrierState } from '../../ports/sms.ts'
import { type ConnectionKind, type ConnectionPort, kinds } from './connection-kinds.ts'
import { settleSeconds } from './limits.ts'
import type { LiveState, LocalDriver, TestResult } from './remote-connections.ts'

/** Connections of one port, as this process runs them. */
export type PortConnections = {
  state(id: string): LiveState | null
  test(id: string): Promise<TestResult>
  /** A messaging network: tenants use its connections for their numbers. */
  readonly isChat: boolean
  /** The role of the processes that run them; null: every process runs them, on request. */
  readonly role: 'worker' | 'voice' | null
}

export type LocalConnections = LocalDriver & { of(kind: ConnectionKind): PortConnections }

/** Connections of one port, as their domain runs them. */
type Running = {
  state(id: string): LiveState | null
  states(): { id: string; state: LiveState }[]
}

type Testable = Running & { test(id: string): Promise<TestResult> }

type Deps = {
  readonly carriers: Running & {
    whenSettled(id: string, seconds: number): Promise<CarrierState | null>
    test(id: string): Promise<TestResult | null>
  }
  readonly suppliers: Testable
  readonly networks: Testable
  readonly voice: Testable & Pick<LocalDriver, 'examine'>
}

export const makeLocalConnections = ({ carriers, suppliers, networks, voice }: Deps): LocalConnections => {
  const ports: { readonly [port in ConnectionPort]: PortConnections } = {
    sms: {
      state: carriers.state,
      test: async (id) => {
        const state = await carriers.whenSettled(id, settleSeconds)
        if (!state) return { working: false, message: 'the connection ended during the request' }
        const tested = await carriers.test(id)
        if (tested) return tested
        return { working: state.state === 'up', message: state.lastError ?? state.state }
      },
      isChat: false,
      role: 'worker',
    },
    supplier: { state: suppliers.state, test: suppliers.test, isChat: false, role: null },
    chat: { state: networks.state, test: networks.test, isChat: true, role: 'worker' },
    voice: { state: voice.state, test: voice.test, isChat: false, role: 'voice' },
  }
  return {
    of: (kind) => ports[kinds[kind].port],
    states: () =>
      [carriers, suppliers, networks, voice].flatMap((one): { id: string; state: LiveState }[] => one.states()),
    test: async (id) => {
      const running = Object.values(ports).find((one) => one.state(id) !== null)
      return running ? await running.test(id) : { working: false, message: 'the connection ended during the request' }
    },
    examine: voice.examine,
  }
}
