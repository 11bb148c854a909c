import { once } from 'node:events'
import smpp, { type SmppPdu, type SmppSession } from 'smpp'

/** Statuses with which carriers refuse a bind beyond the agreed number (SMPP 3.4, 5.1.3). */
export const bindRefusals = { ESME_RBINDFAIL: 0x0d, ESME_RALYBND: 0x05 } as const

export type StrictSubmit = {
  readonly text: string
  readonly destination: string
  /** Number of the bind over which it came, from 1 in the order of the binds. */
  readonly bind: number
  /** Milliseconds of the monotonic clock. */
  readonly at: number
}

/** A carrier that counts binds, as contracts have it. A bind whose connection broke counts for some more seconds. */
export type StrictSmsc = {
  readonly port: number
  readonly submits: StrictSubmit[]
  /** Number of binds that were refused. */
  refused: number
  maxBinds: number
  lingerMs: number
  refusal: keyof typeof bindRefusals
  /** Whether connections are accepted. */
  isReachable: boolean
  /** Numbers of the binds that are up. */
  bound(): number[]
  /** Breaks all connections, and accepts no further one. */
  cut(): void
  close(): void
}

/** Starts the carrier: the npm package smpp, an independent implementation. */
export const startStrictSmsc = async (): Promise<StrictSmsc> => {
  const sessions = new Map<SmppSession, number>()
  let counted = 0
  let binds = 0
  const server = smpp.createServer((session) => {
    if (!smsc.isReachable) return void session.destroy()
    let hasUnbound = false
    session.on('error', () => {})
    session.on('close', () => {
      if (!sessions.delete(session)) return
      if (hasUnbound) counted--
      else setTimeout(() => counted--, smsc.lingerMs).unref()
    })
    session.on('bind_transceiver', (pdu: SmppPdu) => {
      if (counted >= smsc.maxBinds) {
        smsc.refused++
        session.send(pdu.response({ command_status: bindRefusals[smsc.refusal] }))
        return
      }
      counted++
      sessions.set(session, ++binds)
      session.send(pdu.response())
    })
    session.on('enquire_link', (pdu: SmppPdu) => session.send(pdu.response()))
    session.on('unbind', (pdu: SmppPdu) => {
      hasUnbound = true
      session.send(pdu.response())
    })
    session.on('submit_sm', (pdu: SmppPdu) => {
      smsc.submits.push({
        text: String(pdu.short_message?.message ?? ''),
        destination: `+${pdu.destination_addr}`,
        bind: sessions.get(session) ?? 0,
        at: performance.now(),
      })
      session.send(pdu.response({ message_id: `strict${smsc.submits.length}` }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const smsc: StrictSmsc = {
    port: typeof address === 'object' && address ? address.port : 0,
    submits: [],
    ...{ refused: 0, maxBinds: 1, lingerMs: 0, refusal: 'ESME_RBINDFAIL', isReachable: true },
    bound: () => [...sessions.values()],
    cut: () => {
      smsc.isReachable = false
      for (const session of sessions.keys()) session.destroy()
    },
    close: () => {
      for (const session of sessions.keys()) session.destroy()
      server.close()
    },
  }
  return smsc
}
