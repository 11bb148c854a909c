import type { VoiceArrival, VoiceDesk, VoicePerson } from '../../voice-port.ts'
import { DigestServer } from '../codec/digest/server.ts'
import { contactsOf, expiresOf, fromOf, type NameAddr, toOf } from '../codec/fields.ts'
import { header, type SipRequest } from '../codec/message.ts'
import type { Answer } from '../codec/reply.ts'
import type { Timers } from '../codec/timers.ts'
import type { Flow } from '../codec/transport/flow.ts'
import { uriOf, userOf } from '../codec/uri.ts'
import { isBrowser, keyOf, returnMs } from './parts.ts'

/** A browser that is here. */
export type Binding = {
  readonly person: VoicePerson
  /** User part of its address. */
  readonly identity: string
  readonly generation: number
  /** URI under which it is called. */
  readonly contact: string
  readonly flow: Flow
}

export type RegistrarEvents = {
  /** Somebody is here by another connection than before. Told before the answer to REGISTER has left. */
  arrived(binding: Binding): void
  /** The same device came back over another connection. */
  moved(from: Flow, to: Flow): void
  /** Somebody is not here any more, and not waited for. */
  left(person: VoicePerson): void
  /** This connection has no say any more. */
  dismissed(flow: Flow, why: 'replaced' | 'expired' | 'suspended'): void
}

export type RegistrarSettings = {
  readonly desk: Pick<VoiceDesk, 'password' | 'admit' | 'left'>
  readonly realm: string
  /** Makes the nonces ours. */
  readonly secret: string
  readonly timers: Timers
  /** Unix milliseconds. */
  now(): number
  readonly events: RegistrarEvents
  /** Users of one account who may be registered at a time. */
  readonly mostOfAccount: number
}

type Kept = Binding & { stop(): void }

const mostSeconds = 600

const refusal = (status: number, reason: string): Answer => ({ status, reason })

export const identityOf = (address: NameAddr): string | null => {
  const uri = uriOf(address.uri)
  return uri && userOf(uri)
}

/** The header that counts a user's devices; null when it is absent or no number. */
const generationOf = (request: SipRequest): number | null => {
  const value = header(request, 'X-Device-Gen')
  return value !== null && /^\d{1,15}$/.test(value) ? Number(value) : null
}

/**
 * Who is here (RFC 3261, 10), one device for each user: the newest. Digest over ephemeral credentials, whose username is `<expiry>:<user>`;
 * nobody registers as somebody else.
 */
export class Registrar {
  private readonly settings: RegistrarSettings
  private readonly digest: DigestServer
  private readonly people = new Map<string, Kept>()
  private readonly flows = new Map<string, Kept>()
  /** Registered users, by account. */
  private readonly counts = new Map<string, number>()

  constructor(settings: RegistrarSettings) {
    const { realm, secret, now } = settings
    this.settings = settings
    this.digest = new DigestServer({ realm, secret, now, algorithms: ['MD5'] })
  }

  /** Who has registered over this connection. */
  of(flow: Flow): Binding | null {
    return this.flows.get(flow.id) ?? null
  }

  /** Where somebody can be called; null while the connection is broken. */
  find(person: VoicePerson): Binding | null {
    const found = this.people.get(keyOf(person))
    return found?.flow.isOpen ? found : null
  }

  /** True for somebody who is here, and while a broken connection may come back. */
  expects(person: VoicePerson): boolean {
    return this.people.has(keyOf(person))
  }

  async register(request: SipRequest, flow: Flow): Promise<Answer> {
    if (!isBrowser(flow)) return refusal(403, 'Registrations come over WebSocket')
    const claim = this.digest.claim(request)
    if (!claim) return this.challenge(false)
    const password = await this.settings.desk.password(claim.username)
    if (password === null) return refusal(403, 'The credentials are unknown or have ended')
    const verdict = this.digest.verify(request, claim, password)
    if (verdict === 'stale') return this.challenge(true)
    if (verdict === 'bad') return refusal(403, 'The credentials are wrong')
    const owner = claim.username.slice(claim.username.indexOf(':') + 1)
    if (identityOf(fromOf(request)) !== owner || identityOf(toOf(request)) !== owner)
      return refusal(403, 'claims and SIP identity do not match')
    return this.take(request, flow, { username: claim.username, password, identity: owner })
  }

  /** The connection broke: its device may come back. */
  closed(flow: Flow): void {
    const kept = this.flows.get(flow.id)
    if (!kept) return
    kept.stop()
    kept.stop = this.settings.timers.after(returnMs, () => this.leave(kept, 'expired'))
  }

  drop(person: VoicePerson, why: 'suspended' | 'expired'): void {
    const kept = this.people.get(keyOf(person))
    if (!kept) return
    this.leave(kept, why)
    this.settings.events.dismissed(kept.flow, why)
  }

  private challenge(stale: boolean): Answer {
    return {
      status: 401,
      headers: this.digest.challenge(stale).map((value) => ['WWW-Authenticate', value] as const),
    }
  }

  private async take(
    request: SipRequest,
    flow: Flow,
    claimed: Pick<VoiceArrival, 'username' | 'password' | 'identity'>,
  ): Promise<Answer> {
    const { identity } = claimed
    const contacts = contactsOf(request)
    const [contact] = contacts === '*' ? [] : contacts
    const asked = expiresOf(request, contact) ?? mostSeconds
    if (contacts === '*' || asked === 0) return this.withdraw(flow, identity)
    // What is asked without a Contact is what is known (10.3, step 8).
    if (!contact) return this.granted(this.flows.get(flow.id)?.contact ?? null, 0)
    if (contacts.length > 1) return refusal(400, 'One Contact Wanted')
    const { desk, now } = this.settings
    const admitted = await desk.admit({ ...claimed, generation: generationOf(request) })
    if ('refused' in admitted) return admitted.refused
    const { account, user, generation, until } = admitted.value
    const seconds = Math.min(asked, mostSeconds, Math.floor((until - now()) / 1_000))
    if (seconds <= 0) return refusal(403, 'The credentials have ended')
    return this.bind({ person: { account, user }, identity, generation, contact: contact.uri, flow }, seconds)
  }

  private bind(binding: Binding, seconds: number): Answer {
    const { flow, generation, person } = binding
    const before = this.people.get(keyOf(person))
    const sharing = this.flows.get(flow.id)
    if (before && generation < before.generation) return refusal(403, 'A newer device has registered')
    if (sharing && sharing !== before) return refusal(403, 'One user a connection')
    // It broke while the desk was asked.
    if (!flow.isOpen) return refusal(480, 'The connection is gone')
    if (!before && (this.counts.get(person.account) ?? 0) >= this.settings.mostOfAccount)
      return { status: 503, reason: 'Too Many Users', headers: [['Retry-After', '60']] }
    if (before) this.supersede(before, binding)
    const kept: Kept = { ...binding, stop: () => {} }
    kept.stop = this.settings.timers.after(seconds * 1_000, () => {
      this.leave(kept, 'expired')
      this.settings.events.dismissed(flow, 'expired')
    })
    this.people.set(keyOf(person), kept)
    this.counts.set(person.account, (this.counts.get(person.account) ?? 0) + 1)
    this.flows.set(flow.id, kept)
    if (before?.flow.id !== flow.id) this.settings.events.arrived(kept)
    return this.granted(binding.contact, seconds)
  }

  private supersede(before: Kept, { flow, generation }: Binding): void {
    const { desk, events } = this.settings
    this.forget(before)
    if (generation > before.generation) desk.left(before.person, 'replaced')
    if (before.flow.id === flow.id) return
    if (generation === before.generation) events.moved(before.flow, flow)
    else events.dismissed(before.flow, 'replaced')
  }

  private withdraw(flow: Flow, identity: string): Answer {
    const kept = this.flows.get(flow.id)
    if (kept?.identity === identity) this.leave(kept, 'requested')
    return { status: 200 }
  }

  private granted(contact: string | null, seconds: number): Answer {
    const kept = [...this.flows.values()].find((one) => one.contact === contact)
    return contact === null || !kept
      ? { status: 200 }
      : { status: 200, headers: [['Contact', `<${contact}>;expires=${seconds || 1}`]] }
  }

  private leave(kept: Kept, why: 'expired' | 'suspended' | 'requested'): void {
    this.forget(kept)
    this.settings.desk.left(kept.person, why)
    this.settings.events.left(kept.person)
  }

  private forget(kept: Kept): void {
    kept.stop()
    if (this.people.get(keyOf(kept.person)) === kept) {
      this.people.delete(keyOf(kept.person))
      const left = (this.counts.get(kept.person.account) ?? 1) - 1
      if (left === 0) this.counts.delete(kept.person.account)
      else this.counts.set(kept.person.account, left)
    }
    if (this.flows.get(kept.flow.id) === kept) this.flows.delete(kept.flow.id)
  }
}
