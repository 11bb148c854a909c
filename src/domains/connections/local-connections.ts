import type { CarrierState } from '../../ports/sms.ts'
import type { ConnectionKind } from './connection-kinds.ts'
import { settleSeconds } from './limits.ts'
import type { LiveState, LocalDriver, TestResult } from './remote-connections.ts'

/** Connections of one kind, as this process runs them. */
export type KindConnections = {
  state(id: string): LiveState | null
  test(id: string): Promise<TestResult>
  /** A messaging network: tenants use its connections for their numbers. */
  readonly isChat: boolean
  /** The role of the processes that run them; null: every process runs them, on request. */
  readonly role: 'worker' | 'voice' | null
}

export type LocalConnections = LocalDriver & { of(kind: ConnectionKind): KindConnections }

/** Connections of one kind, as their domain runs them. */
type Running = {
  state(id: string): LiveState | null
  states(): { id: string; state: LiveState }[]
}

type Testable = Running & { test(id: string): Promise<TestResult> }

type Deps = {
  readonly carriers: Running & { whenSettled(id: string, seconds: number): Promise<CarrierState | null> }
  readonly suppliers: Testable
  readonly networks: Testable
  readonly voice: Testable & Pick<LocalDriver, 'examine'>
}

export const makeLocalConnections = ({ carriers, suppliers, networks, voice }: Deps): LocalConnections => {
  const chat: KindConnections = { state: networks.state, test: networks.test, isChat: true, role: 'worker' }
  const links: { readonly [K in ConnectionKind]: KindConnections } = {
    smpp: {
      state: carriers.state,
      test: async (id) => {
        const state = await carriers.whenSettled(id, settleSeconds)
        if (!state) return { working: false, message: 'the connection ended during the request' }
        return { working: state.state === 'bound', message: state.lastError ?? state.state }
      },
      isChat: false,
      role: 'worker',
    },
    didww: { state: suppliers.state, test: suppliers.test, isChat: false, role: null },
    sandbox: chat,
    xmpp: chat,
    'sip-trunk': { state: voice.state, test: voice.test, isChat: false, role: 'voice' },
    'whatsapp-cloud': chat,
    'whatsapp-web': chat,
  }
  return {
    of: (kind) => links[kind],
    states: () =>
      [carriers, suppliers, networks, voice].flatMap((one): { id: string; state: LiveState }[] => one.states()),
    test: async (id) => {
      const running = Object.values(links).find((one) => one.state(id) !== null)
      return running ? await running.test(id) : { working: false, message: 'the connection ended during the request' }
    },
    examine: voice.examine,
  }
}
