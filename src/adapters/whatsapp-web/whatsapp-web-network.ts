import type { ChatChannel, ChatDeps, ChatNetwork, ChatNumberCheck } from '../../ports/chat.ts'
import type { LinkState } from '../../ports/sms.ts'
import type { ServiceResult } from '../../ports/supplier.ts'
import { type ChannelSession, makeChannelSession } from './channel-session.ts'
import { bareOf } from './codec/jid.ts'
import { changeGroup, createGroup, listGroups } from './groups.ts'
import { type Library, openLibrary, type WASocket } from './library.ts'
import { markRead } from './mark-read.ts'
import { openFile } from './media-download.ts'
import { noticeNotAccepted } from './notice.ts'
import { checkNumbers } from './number-checks.ts'
import { addressOf } from './outgoing.ts'
import { setPicture, setStatus } from './profile.ts'
import { notLinked, requestOutcome } from './request-outcome.ts'
import type { WhatsappWebSettings } from './whatsapp-web-settings.ts'

/** Numbers linked as WhatsApp Web, each with its own socket, like the desktop application. */
export const connectWhatsappWeb = (settings: WhatsappWebSettings, tools: ChatDeps): ChatNetwork => {
  const sessions = new Map<string, ChannelSession>()
  let loaded: Library | null = null
  const since = Date.now()
  let lastError: string | null = null
  let isClosed = false
  let submitted = 0

  /** Checked again for each number: the library may have been installed meanwhile. */
  const loadedLibrary = async (): Promise<Library> => {
    try {
      if (!settings.accept_notice) throw new Error(noticeNotAccepted)
      loaded ??= await openLibrary(tools.home)
      lastError = null
      return loaded
    } catch (error) {
      lastError = error instanceof Error ? error.message : String(error)
      throw error
    }
  }
  loadedLibrary().catch(() => {})

  /** Runs a request for a linked number. */
  const withSocket = <T>(
    channel: string,
    work: (socket: WASocket, line: ChannelSession) => Promise<ServiceResult<T>>,
  ): Promise<ServiceResult<T>> => {
    const line = sessions.get(channel)
    const socket = line?.socket()
    return line && socket ? work(socket, line) : Promise.resolve(notLinked)
  }

  const waiting = new Map<string, ChatChannel>()
  const start = async (line: ChatChannel) => {
    waiting.set(line.channel, line)
    tools.events.line(line.channel, { phase: 'connecting', reason: 'the number is being linked', fatal: false })
    try {
      const found = await loadedLibrary()
      if (waiting.get(line.channel) !== line || isClosed) return
      sessions.set(line.channel, makeChannelSession({ line, settings, tools, library: found }))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      tools.events.line(line.channel, { phase: 'failed', reason, fatal: true })
    }
  }

  return {
    attach: (line) => void start(line),
    detach: async (channel, logout) => {
      const line = sessions.get(channel)
      waiting.delete(channel)
      sessions.delete(channel)
      await line?.close(logout)
    },
    ping: async (channel) => (await sessions.get(channel)?.ping()) ?? false,
    send: async (channel, message) => {
      submitted++
      return (await sessions.get(channel)?.send(message)) ?? notLinked
    },
    check: async (channel, numbers, extra) => {
      const line = sessions.get(channel)
      const socket = line?.socket()
      if (line && socket) return checkNumbers(socket, line.aliases, numbers, extra)
      const none = { there: 'unknown', id: null, picture: null, pushname: null, status: null, business: null } as const
      return numbers.map((number): ChatNumberCheck => ({ number, ...none }))
    },
    setPicture: (channel, image) => withSocket(channel, (socket) => setPicture(socket, image)),
    setStatus: (channel, text) => withSocket(channel, (socket) => setStatus(socket, text)),
    createGroup: (channel, group) => withSocket(channel, (socket, { aliases }) => createGroup(socket, aliases, group)),
    groups: (channel) => withSocket(channel, (socket, { aliases }) => listGroups(socket, aliases)),
    changeGroup: (channel, group, change) =>
      withSocket(channel, (socket, { aliases, members }) =>
        changeGroup(socket, aliases, group, change).finally(() => members.invalidate(group)),
      ),
    saveContact: (channel, contact) =>
      withSocket(channel, (socket, { addressBook }) => addressBook.save(socket, contact)),
    markRead: (channel, from, ids, authors) =>
      withSocket(channel, (socket, line) => markRead(socket, line, from, ids, authors)),
    remove: (channel, from, id) =>
      withSocket(channel, (socket, line) => {
        return requestOutcome(async () => {
          const remoteJid = (await line.resolveJid(socket, from)) ?? bareOf(addressOf(from))
          await socket.sendMessage(remoteJid, { delete: { remoteJid, fromMe: true, id } }, {})
          return 'everyone' as const
        }, true)
      }),
    media: (channel, id) =>
      withSocket(channel, (socket) => {
        const found = loaded
        if (!found) return Promise.resolve(notLinked)
        return requestOutcome(async () => ({ mimeType: null, body: await openFile(found, socket, id) }), true)
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
      const all = [...sessions.values()]
      sessions.clear()
      await Promise.all(all.map((line) => line.close(false)))
    },
  }
}
