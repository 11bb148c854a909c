import { errorStack, errorText } from '../../lib/error-text.ts'
import type { ChatLine, ChatLineState, ChatTools } from '../chat-port.ts'
import { type Addresses, maskedJid } from './addresses.ts'
import { Archive, type Archived } from './archive.ts'
import { type Administration, exists, Probes, type There } from './checks.ts'
import { bareOf } from './codec/jid.ts'
import { ns } from './codec/names.ts'
import { type Xml, xml } from './codec/xml.ts'
import { type GroupsTools, learnMembers } from './groups.ts'
import { Intake } from './intake.ts'
import type { Memory } from './memory.ts'
import { presenceOf } from './persona.ts'
import { Rooms } from './rooms.ts'
import type { Services } from './services.ts'
import type { Wire } from './wire.ts'

/** Clocks differ, and what is kept is kept a moment later: so much before the newest message the archive is read again. */
const overlapMs = 300_000

/** After an archive did not answer. */
const repairMs = 2_000

/** Who asked for the presence of a number of a component, and is told when it changes. */
const mostWatchers = 1_000

export type LineTools = {
  readonly line: ChatLine
  readonly tools: ChatTools
  readonly wire: Wire
  readonly addresses: Addresses
  readonly memory: Memory
  /** One link for all numbers: the server keeps nothing for us, and we show ourselves. */
  readonly isComponent: boolean
  readonly administration: Administration | null
  services(wire: Wire): Promise<Services>
}

/** One number on the network, over all the links that it takes. */
export class Line {
  readonly parts: LineTools
  readonly rooms: Rooms
  readonly intake: Intake
  readonly groups: GroupsTools
  /** What was missed is read: until then nobody knows whether an earlier try to send came through. */
  isRepaired = false
  hasArchive = false
  private readonly archive: Archive
  private readonly probes = new Probes()
  private readonly watchers = new Set<string>()
  /** Another one for each new stream. */
  private life = 0
  private later: NodeJS.Timeout | null = null

  constructor(parts: LineTools) {
    this.parts = parts
    const { line, tools, wire, addresses, memory } = parts
    const { channel } = line
    const { events } = tools
    this.archive = new Archive(wire)
    this.intake = new Intake(parts, () => this.rooms)
    const { intake } = this
    this.rooms = new Rooms({
      wire,
      addresses,
      memory,
      nick: line.name || line.number,
      known: intake.known,
      inbound: (message) => intake.keepInbound(message),
      receipt: (receipt) => intake.keep(() => events.receipt(channel, receipt)),
      reaction: (reaction) => intake.keep(() => events.reaction(channel, reaction)),
      edited: (edit) => intake.keep(() => events.edited(channel, edit)),
      changed: (event) => intake.keep(() => events.group(channel, event)),
    })
    this.groups = {
      wire,
      addresses,
      rooms: this.rooms,
      service: async () => (await parts.services(wire)).groups,
      exists: (number) => this.exists(number),
    }
  }

  tell(phase: ChatLineState['phase'], reason: string, fatal = false): void {
    const { line, tools, wire } = this.parts
    const me = { pushname: line.name, server: wire.self, business: false }
    tools.events.line(line.channel, { phase, reason, fatal, ...(phase === 'connected' && { me }) })
  }

  /** The link is there. @param resumed it is the one from before: nothing was missed */
  up(resumed: boolean): Promise<void> {
    return this.noting(() => this.begin(resumed))
  }

  /** What we remember may not be written at this moment: then groups are entered again after the next break. */
  private async noting(act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      this.parts.tools.log('not-begun', { reason: errorText(error) })
    }
  }

  private async begin(resumed: boolean): Promise<void> {
    const { wire, memory, isComponent } = this.parts
    if (!resumed) {
      this.life++
      this.isRepaired = false
      this.rooms.leftAll()
    }
    const { life } = this
    if (!isComponent && !resumed) {
      // Copies of what other devices of the account send and receive (XEP-0280); then we are there.
      await wire.request(xml('iq', '', { type: 'set' }, xml('enable', ns.carbons)))
      wire.send(presenceOf(undefined, memory.now.status, null))
    }
    const isThere = await wire.ping()
    if (life !== this.life || !isThere || !wire.isUp) return
    this.tell('connected', 'linked')
    if (!this.isRepaired) await this.repair(life)
  }

  down(reason: string, fatal: boolean): void {
    this.tell(fatal ? 'failed' : 'disconnected', reason, fatal)
  }

  close(): void {
    this.life++
    this.rooms.leftAll()
    if (this.later) clearTimeout(this.later)
    this.intake.close()
  }

  /** @returns once what came is kept, for what is kept */
  async stanza(stanza: Xml, cut: boolean): Promise<void> {
    try {
      if (cut) this.parts.tools.log('stanza-too-large', { from: maskedJid(stanza.attrs.from), kind: stanza.name })
      else if (stanza.name === 'presence') await this.presence(stanza)
      else if (stanza.name === 'iq') await this.intake.question(stanza)
      else if (stanza.name === 'message' && !this.archive.take(stanza)) await this.intake.message(stanza, this.probes)
    } catch (error) {
      // Whatever somebody sends, the link stays: a fault of ours is told, and the next stanza comes.
      this.parts.tools.log('stanza-fault', { reason: errorStack(error), from: maskedJid(stanza.attrs.from) })
    }
  }

  async exists(number: string): Promise<There> {
    const { wire, addresses, administration, isComponent } = this.parts
    const jid = addresses.jidOf(number)
    // Under our own address are our own numbers alone.
    if (isComponent && addresses.isOurs(number)) return 'yes'
    return exists(wire, this.probes, administration, jid)
  }

  /** Shows ourselves anew: a server tells everybody, a component who asked. */
  async show(): Promise<void> {
    const { wire, memory, isComponent } = this.parts
    if (!isComponent) wire.send(presenceOf(undefined, memory.now.status, null))
    else for (const watcher of this.watchers) await this.showTo(watcher)
    for (const { jid, nick } of this.rooms.all()) {
      wire.send(presenceOf(`${jid}/${nick}`, memory.now.status, null))
    }
  }

  private async showTo(jid: string): Promise<void> {
    const { wire, memory } = this.parts
    const image = memory.now.picture ? await memory.image() : null
    wire.send(presenceOf(jid, memory.now.status, image))
  }

  private async presence(stanza: Xml): Promise<void> {
    const { wire, isComponent } = this.parts
    const { type, from = '' } = stanza.attrs
    if (type !== 'subscribe' && type !== 'probe') {
      await this.rooms.takePresence(stanza)
      return
    }
    // Who wants to see that we are there may.
    if (type === 'subscribe') wire.send(xml('presence', '', { type: 'subscribed', to: bareOf(from) }))
    if (!isComponent) return
    if (this.watchers.size < mostWatchers) this.watchers.add(bareOf(from))
    await this.showTo(from)
  }

  /** Reads what was missed: first our own archive, then the groups'. */
  private async repair(life: number): Promise<void> {
    const { wire, line, memory, isComponent } = this.parts
    // Never from before the number was linked for the first time: that was somebody else's to read.
    const since = Math.max(memory.now.first, (this.intake.newest ?? line.since ?? 0) - overlapMs)
    if (isComponent) this.isRepaired = true
    else {
      this.intake.unsure = null
      const read = await this.archive.readSince(since, wire.self, (one) => this.intake.archived(one))
      if (life !== this.life) return
      if (read !== 'all') this.parts.tools.log('archive-not-read', { reason: this.archive.lastError })
      if (read === 'lost') {
        if (wire.isUp) this.later = setTimeout(() => void this.noting(() => this.repair(life)), repairMs)
        return
      }
      this.hasArchive = read === 'all'
      // A server that was killed may have archived one message and not delivered it: that one is sent again, under its id.
      if (life > 1 && this.intake.unsure !== null) this.intake.known.delete(this.intake.unsure)
      this.isRepaired = true
    }
    for (const jid of Object.keys(memory.now.rooms)) {
      if (life !== this.life) return
      await this.enter(jid, since)
    }
  }

  /** Goes into a group, and reads what was written there meanwhile. @param since null: we were never there */
  async enter(jid: string, since: number | null): Promise<boolean> {
    const joined = await this.rooms.join(jid, since)
    if (joined.outcome !== 'done') {
      this.parts.tools.log('group-not-entered', { group: jid, reason: joined.reason })
      return false
    }
    const keep = (one: Archived) => this.rooms.takeMessage(one.message, one)
    if (since !== null) await this.archive.readSince(since, jid, keep)
    await learnMembers(this.groups, jid)
    return true
  }
}
