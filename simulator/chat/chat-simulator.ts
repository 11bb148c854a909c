import type { SmsNetwork } from '../sms/sms-network.ts'
import { ChatFaults } from './chat-faults.ts'
import { Groups } from './chat-groups.ts'
import { ChatServer } from './chat-server.ts'
import { ChatState } from './chat-state.ts'
import { MessageRouter } from './message-router.ts'
import { StoredFiles } from './stored-files.ts'

/** All parts of the simulated chat network. */
export type ChatSimulator = {
  readonly state: ChatState
  readonly files: StoredFiles
  readonly router: MessageRouter
  readonly groups: Groups
  readonly faults: ChatFaults
  readonly server: ChatServer
  close(): void
}

/**
 * Makes a chat network with the same handsets as the carrier.
 * @param controlPort port that serves its pictures
 */
export const makeChatSimulator = (
  home: string,
  network: SmsNetwork,
  token: string,
  controlPort: () => number,
): ChatSimulator => {
  const book = new ChatState(home)
  const files = new StoredFiles(home)
  const faults = new ChatFaults()
  const exchange = new MessageRouter({
    state: book,
    files,
    behaviour: (number) => network.handsets.behaviour(number),
    pictureUrl: (id) => `http://127.0.0.1:${controlPort()}/pictures/${id}`,
    notify: (letter) => server.enqueue(letter),
  })
  const groups = new Groups(exchange, files)
  const server = new ChatServer({ state: book, files, router: exchange, groups, faults, token })
  return {
    state: book,
    files,
    router: exchange,
    groups,
    faults,
    server,
    close: () => {
      server.close()
      book.close()
    },
  }
}
