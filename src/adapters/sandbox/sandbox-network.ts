import { Readable } from 'node:stream'
import type {
  ChatChannel,
  ChatChannelState,
  ChatDeps,
  ChatEvents,
  ChatGroup,
  ChatNetwork,
  ChatNumberCheck,
  ChatParticipant,
} from '../../ports/chat.ts'
import type { ChatParty, ChatPeer } from '../../ports/chat-message.ts'
import type { ServiceResult } from '../../ports/supplier.ts'
import type {
  AttachResult,
  CheckedNumber,
  GroupChange,
  Inbound,
  Notification,
  Operation,
  Operations,
  Participant,
  Peer,
} from './codec.ts'
import { maxMissedPings } from './limits.ts'
import { type RequestOutcome, SandboxLink, type SandboxSettings } from './link.ts'

const remoteOf = (number: string, pushname: string | null = null): ChatParty => ({
  number,
  remote: `${number.slice(1)}@c.us`,
  pushname,
})

const peerOf = (peer: ChatPeer): Peer => (peer.group === undefined ? { number: peer.number } : { group: peer.group })

const kinds = ['image', 'video', 'audio'] as const
const mediaOf = (file: NonNullable<Inbound['file']>) => ({
  ref: { id: file.id },
  type: kinds.find((kind) => file.mimeType.startsWith(`${kind}/`)) ?? ('document' as const),
  mimeType: file.mimeType,
  name: file.name,
  size: file.size,
})

/** Maps a result to the port's outcome. @param repeatable true when a repeated request has no further effect */
const outcomeOf = <T, V>(heard: RequestOutcome<T>, value: (taken: T) => V, repeatable = false): ServiceResult<V> => {
  switch (heard.outcome) {
    case 'done':
      return { outcome: 'done', value: value(heard.value) }
    case 'refused':
      return heard.seconds === undefined
        ? { outcome: 'refused', reason: heard.reason }
        : { outcome: 'later', seconds: heard.seconds, reason: heard.reason }
    case 'unsent':
      return { outcome: 'later', seconds: 1, reason: heard.reason }
    case 'lost':
      return repeatable
        ? { outcome: 'later', seconds: 1, reason: heard.reason }
        : { outcome: 'unknown', reason: heard.reason }
  }
}

const nothing = () => null

const participantOf = (one: Participant): ChatParticipant => ({ ...one, invited: one.code === 403 })

const checkedOf = (found: CheckedNumber, extra: boolean): ChatNumberCheck => ({
  number: found.number,
  there: found.there ? 'yes' : 'no',
  id: found.there ? found.number.slice(1) : null,
  picture: found.picture,
  pushname: found.there ? found.pushname : null,
  status: extra ? found.status : null,
  business:
    found.business && extra
      ? {
          verified_name: found.pushname,
          short_name: found.pushname.split(' ')[0] ?? found.pushname,
          lang_code: 'en',
          currency: 'USD',
          verified_level: 1,
          enterprise: false,
          description: 'A business of the sandbox',
          categories: [{ id: '1223524174334504', localized_display_name: 'Other business' }],
        }
      : found.business
        ? {}
        : null,
})

const unknownOf = (number: string): ChatNumberCheck => ({
  number,
  there: 'unknown',
  id: null,
  picture: null,
  pushname: null,
  status: null,
  business: null,
})

const groupOf = ({ id, name, description, members }: Operations['groups']['take']['groups'][number]): ChatGroup => ({
  id,
  name,
  description,
  readOnly: false,
  members: members.map(({ number, admin, creator }) => ({ ...remoteOf(number), admin, creator })),
})

/** Publishes an event of the network for a channel. */
const publish = async (events: ChatEvents, channel: string, event: Notification): Promise<void> => {
  switch (event.news) {
    case 'ready':
      return events.line(channel, readyOf(event.me))
    case 'message': {
      const { from, pushname, file, own = false, ...rest } = event.message
      return events.inbound(channel, {
        ...rest,
        from: remoteOf(from, pushname),
        media: file && mediaOf(file),
        own,
      })
    }
    case 'receipt':
      return events.receipt(channel, { id: event.id, level: event.level, at: event.at, by: remoteOf(event.by) })
    case 'failure':
      return events.failure(channel, { id: event.id, code: event.code, reason: event.reason, at: event.at })
    case 'edited':
      return events.edited(channel, { id: event.id, text: event.text, at: event.at })
    case 'reaction':
      return events.reaction(channel, { id: event.id, by: remoteOf(event.by), emoji: event.emoji, at: event.at })
    case 'call': {
      const { id, own = false, answered = false, video, at, state } = event
      return events.call(channel, { id, from: remoteOf(event.from), own, group: null, video, at, state, answered })
    }
    case 'group': {
      const { id, group, name, what, at } = event
      return events.group(channel, { id, group, name, what, who: event.who.map((number) => remoteOf(number)), at })
    }
  }
}

const readyOf = ({ pushname, server, business }: Extract<AttachResult, { state: 'ready' }>): ChatChannelState => ({
  phase: 'connected',
  reason: 'the network let the number in',
  fatal: false,
  me: { pushname, server, business },
})

/** The numbers that are attached over one socket. */
const makeLines = (settings: SandboxSettings, { events, log }: ChatDeps) => {
  /** By channel id; below, channel ids by number. */
  const lines = new Map<string, ChatChannel>()
  const channels = new Map<string, string>()

  const attachNumber = async ({ channel, number, name }: ChatChannel) => {
    const heard = await link.request('attach', { line: number, name })
    if (channels.get(number) !== channel) return
    if (heard.outcome === 'done') {
      const { value } = heard
      if (value.state === 'ready') events.line(channel, readyOf(value))
      else {
        const { qr, until } = value
        events.line(channel, { phase: 'pairing', reason: 'scan the code with a phone', fatal: false, qr, until })
      }
    } else if (heard.outcome === 'refused') events.line(channel, { phase: 'failed', reason: heard.reason, fatal: true })
    else if (link.isUp) link.reset(heard.reason)
  }

  const link = new SandboxLink(settings, {
    up: () => {
      log('connected')
      for (const line of lines.values()) void attachNumber(line)
    },
    down: (reason) => {
      log('disconnected', { reason })
      for (const channel of lines.keys()) events.line(channel, { phase: 'disconnected', reason, fatal: false })
    },
    notified: async (notification) => {
      const channel = channels.get(notification.line)
      if (channel === undefined) throw new Error('the number is not attached')
      await publish(events, channel, notification)
    },
  })

  /** Sends a request for a channel. */
  const request = async <C extends Operation>(channel: string, call: C, input: Omit<Operations[C]['give'], 'line'>) => {
    const line = lines.get(channel)
    if (!line) return { outcome: 'unsent', reason: 'the number is not attached' } as const
    // `line` is the only omitted property.
    return link.request(call, { ...input, line: line.number } as Operations[C]['give'])
  }

  let missedPings = 0
  let ping: Promise<boolean> | null = null
  const roundTrip = (): Promise<boolean> => {
    ping ??= link.request('ping', {}, 4_000).then(({ outcome }) => {
      ping = null
      missedPings = outcome === 'done' ? 0 : missedPings + 1
      if (missedPings >= maxMissedPings && link.isUp) link.reset('the network does not answer')
      return outcome === 'done'
    })
    return ping
  }

  return {
    request,
    state: () => link.state,
    close: () => link.close(),
    attach: (line: ChatChannel) => {
      lines.set(line.channel, line)
      channels.set(line.number, line.channel)
      events.line(line.channel, { phase: 'connecting', reason: 'the number is being attached', fatal: false })
      if (link.isUp) void attachNumber(line)
    },
    detach: async (channel: string, logout: boolean) => {
      const line = lines.get(channel)
      if (!line) return
      lines.delete(channel)
      if (channels.get(line.number) === channel) channels.delete(line.number)
      await link.request('detach', { line: line.number, logout }, 4_000)
    },
    ping: async (channel: string) => lines.has(channel) && (await roundTrip()),
  }
}

/** The sandbox's chat network, over one socket for all numbers. */
export const connectSandbox = (settings: SandboxSettings, deps: ChatDeps): ChatNetwork => {
  const { request, attach, detach, ping, state, close } = makeLines(settings, deps)

  const change = async (channel: string, group: string, what: GroupChange) =>
    outcomeOf(await request(channel, 'change', { group, change: what }), (taken) =>
      taken.participants.map(participantOf),
    )

  const pieces = async function* (channel: string, id: string, first: Operations['media']['take']) {
    let taken = first
    for (let offset = 0; ; ) {
      const piece = Buffer.from(taken.piece, 'base64')
      yield piece
      offset += piece.length
      if (taken.end) return
      const heard = await request(channel, 'media', { id, offset })
      if (heard.outcome !== 'done') throw new Error(heard.reason)
      taken = heard.value
    }
  }

  return {
    ...{ attach, detach, ping, state },
    send: async (channel, { id, to, text, file, pin }) => {
      const sent = file && {
        type: file.type,
        mimeType: file.mimeType,
        name: file.name,
        size: file.size,
        url: file.url,
      }
      const heard = await request(channel, 'send', { id, to: peerOf(to), text, file: sent, pin })
      return outcomeOf(heard, ({ id, at }) => ({ id, at }), true)
    },
    check: async (channel, numbers, extra) => {
      const heard = await request(channel, 'check', { numbers, extra })
      if (heard.outcome !== 'done') return numbers.map(unknownOf)
      const found = new Map(heard.value.found.map((one) => [one.number, one]))
      return numbers.map((number) => {
        const one = found.get(number)
        return one ? checkedOf(one, extra) : unknownOf(number)
      })
    },
    setPicture: async (channel, image) =>
      outcomeOf(await request(channel, 'picture', { image: image?.toString('base64') ?? null }), nothing, true),
    setStatus: async (channel, text) => outcomeOf(await request(channel, 'status', { text }), nothing, true),
    createGroup: async (channel, { name, description, participants }) =>
      outcomeOf(await request(channel, 'create', { name, description, participants }), (created) => ({
        id: created.id,
        participants: created.participants.map(participantOf),
      })),
    groups: async (channel) =>
      outcomeOf(await request(channel, 'groups', {}), ({ groups }) => groups.map(groupOf), true),
    changeGroup: (channel, group, what) =>
      change(
        channel,
        group,
        what.act === 'picture' ? { act: what.act, image: what.image?.toString('base64') ?? null } : what,
      ),
    saveContact: async (channel, { number, firstName, lastName }) =>
      outcomeOf(await request(channel, 'contact', { number, firstName, lastName }), nothing, true),
    markRead: async (channel, from, ids) =>
      outcomeOf(await request(channel, 'read', { from: peerOf(from), ids }), nothing, true),
    remove: async (channel, _from, id) => outcomeOf(await request(channel, 'remove', { id }), ({ from }) => from, true),
    media: async (channel, id) => {
      const heard = await request(channel, 'media', { id, offset: 0 })
      return outcomeOf(heard, (first) => ({ mimeType: null, body: Readable.from(pieces(channel, id, first)) }), true)
    },
    close: async () => close(),
  }
}
