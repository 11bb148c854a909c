import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { sessionKeyRefusal } from '../../platform/http/authenticate-session.ts'
import { refuse } from '../../platform/http/problem.ts'
import type { Session } from '../../platform/http/session.ts'
import { makeFairLimiter } from '../../platform/lib/fair-limiter.ts'
import { idAt, parse, uuid } from '../../platform/lib/id.ts'
import type { Services } from '../../services.ts'
import { refusals as tunnelRefusals } from '../tunnel/refusals.ts'
import { liveProtocol } from './contract.ts'
import { lateEventMs, maxSocketsOfAccount, socketLimits } from './limits.ts'
import { refusals } from './refusals.ts'

type Position = { readonly id: string; readonly isEvent: boolean }

/** A page that may connect, with its address and the position in the event log where it goes on. */
type AdmittedPage = { readonly session: Session; readonly address: string; readonly after: Position }

/**
 * Returns the id after which a page misses events, and whether it is that of an event.
 * @throws Problem
 */
const readPosition = (url: string): Position => {
  const query = new URLSearchParams(url.split('?', 2)[1] ?? '')
  const [after, since] = [query.get('after') || null, query.get('since') || null]
  const began = since === null ? null : Date.parse(since)
  if (Number.isNaN(began)) throw refusals.badSince()
  if (after !== null) return { id: parse('EVT', after) ?? refuse(tunnelRefusals.badAfter()), isEvent: true }
  return { id: began === null ? uuid() : idAt(Math.min(began, Date.now()) - lateEventMs), isEvent: false }
}

const offersProtocol = ({ headers }: IncomingMessage): boolean =>
  String(headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .some((name) => name.trim() === liveProtocol)

/**
 * Makes the function that admits pages: by their session, and by the sockets of the session and its account.
 * @throws Problem
 */
export const makeAdmission = ({ sessions, proxies }: Pick<Services, 'sessions' | 'proxies'>) => {
  const sockets = makeFairLimiter(socketLimits)
  const shares = makeFairLimiter({ perKey: maxSocketsOfAccount, total: socketLimits.total })

  return async (request: IncomingMessage, socket: Duplex): Promise<AdmittedPage> => {
    const address = proxies.address(request)
    const session = await sessions.ofUpgrade(request, address)
    const refusal = sessionKeyRefusal(session, { ip: address })
    if (refusal) throw refusal
    if (!offersProtocol(request)) throw refusals.badProtocol(liveProtocol)
    const after = readPosition(request.url ?? '')
    if (!sockets.tryAcquire(session.id)) throw refusals.tooManySockets(sockets.used(session.id))
    socket.once('close', () => sockets.release(session.id))
    // Many sessions of one account must not take the sockets of others before they subscribe.
    const share = session.accounts[0]?.account.id ?? session.id
    if (!shares.tryAcquire(share)) throw refusals.tooManySockets(shares.used(share))
    socket.once('close', () => shares.release(share))
    return { session, address, after }
  }
}
