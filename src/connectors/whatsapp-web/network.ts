import type { ChatChecked, ChatLine, ChatNetwork, ChatTools } from '../chat-port.ts'
import type { Asked, LinkState } from '../port.ts'
import { asked, gone } from './asked.ts'
import { check } from './checks.ts'
import { bareOf } from './codec/jid.ts'
import { openFile } from './files.ts'
import { changeGroup, createGroup, listGroups } from './groups.ts'
import { type Library, library, type Socket } from './library.ts'
import { makeLine, type WebLine } from './line.ts'
import { unaccepted } from './notice.ts'
import { addressOf } from './outgoing.ts'
import { setPicture, setStatus } from './profile.ts'
import { markRead } from './reading.ts'
import type { WhatsappWebSettings } from './settings.ts'

/** Numbers linked as WhatsApp Web: a socket for each, as the application on a computer has one. */
export const connectWhatsappWeb = (settings: WhatsappWebSettings, tools: ChatTools): ChatNetwork => {
  const lines = new Map<string, WebLine>()
  let loaded: Library | null = null
  const since = Date.now()
  let lastError: string | null = null
  let isClosed = false
  let submitted = 0

  /** Looked for again whenever a line begins: it may have been installed meanwhile. */
  const ready = async (): Promise<Library> => {
    try {
      if (!settings.accept_notice) throw new Error(unaccepted)
      loaded ??= await library(tools.home)
      lastError = null
      return loaded
    } catch (error) {
      lastError = error instanceof Error ? error.message : String(error)
      throw error
    }
  }
  ready().catch(() => {})

  /** Asks on behalf of a line, where it is linked. */
  const on = <T>(channel: string, work: (socket: Socket, line: WebLine) => Promise<Asked<T>>): Promise<Asked<T>> => {
    const line = lines.get(channel)
    const socket = line?.socket()
    return line && socket ? work(socket, line) : Promise.resolve(gone)
  }

  const waiting = new Map<string, ChatLine>()
  const begin = async (line: ChatLine) => {
    waiting.set(line.channel, line)
    tools.events.line(line.channel, { phase: 'connecting', reason: 'the number is being linked', fatal: false })
    try {
      const found = await ready()
      if (waiting.get(line.channel) !== line || isClosed) return
      lines.set(line.channel, makeLine({ line, settings, tools, library: found }))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      tools.events.line(line.channel, { phase: 'failed', reason, fatal: true })
    }
  }

  return {
    attach: (line) => void begin(line),
    detach: async (channel, logout) => {
      const line = lines.get(channel)
      waiting.delete(channel)
      lines.delete(channel)
      await line?.close(logout)
    },
    prove: async (channel) => (await lines.get(channel)?.prove()) ?? false,
    send: async (channel, message) => {
      submitted++
      return (await lines.get(channel)?.send(message)) ?? gone
    },
    check: async (channel, numbers, extra) => {
      const line = lines.get(channel)
      const socket = line?.socket()
      if (line && socket) return check(socket, line.people, numbers, extra)
      const none = { there: 'unknown', id: null, picture: null, pushname: null, status: null, business: null } as const
      return numbers.map((number): ChatChecked => ({ number, ...none }))
    },
    setPicture: (channel, image) => on(channel, (socket) => setPicture(socket, image)),
    setStatus: (channel, text) => on(channel, (socket) => setStatus(socket, text)),
    createGroup: (channel, group) => on(channel, (socket, { people }) => createGroup(socket, people, group)),
    groups: (channel) => on(channel, (socket, { people }) => listGroups(socket, people)),
    changeGroup: (channel, group, change) =>
      on(channel, (socket, { people, members }) =>
        changeGroup(socket, people, group, change).finally(() => members.forget(group)),
      ),
    keepContact: (channel, contact) => on(channel, (socket, { book }) => book.keep(socket, contact)),
    markRead: (channel, from, ids, authors) =>
      on(channel, (socket, line) => markRead(socket, line, from, ids, authors)),
    remove: (channel, from, id) =>
      on(channel, (socket, line) => {
        return asked(async () => {
          const remoteJid = (await line.placeOf(socket, from)) ?? bareOf(addressOf(from))
          await socket.sendMessage(remoteJid, { delete: { remoteJid, fromMe: true, id } }, {})
          return 'everyone' as const
        }, true)
      }),
    media: (channel, id) =>
      on(channel, (socket) => {
        const found = loaded
        if (!found) return Promise.resolve(gone)
        return asked(async () => ({ mimeType: null, body: await openFile(found, socket, id) }), true)
      }),
    state: (): LinkState => ({
      state: isClosed ? 'closed' : loaded ? 'up' : 'down',
      since,
      lastError,
      inFlight: 0,
      submitted,
    }),
    close: async () => {
      isClosed = true
      const all = [...lines.values()]
      lines.clear()
      await Promise.all(all.map((line) => line.close(false)))
    },
  }
}
