import type { Network } from '../network.ts'
import { Book } from './book.ts'
import { Exchange } from './exchange.ts'
import { ChatFaults } from './faults.ts'
import { Files } from './files.ts'
import { Groups } from './groups.ts'
import { ChatServer } from './server.ts'

/** The chat network, all of it. */
export type ChatPlace = {
  readonly book: Book
  readonly files: Files
  readonly exchange: Exchange
  readonly groups: Groups
  readonly faults: ChatFaults
  readonly server: ChatServer
  close(): void
}

/**
 * A chat network beside the carrier, with the same handsets in it.
 * @param controlPort where its pictures are shown
 */
export const chatPlace = (home: string, network: Network, token: string, controlPort: () => number): ChatPlace => {
  const book = new Book(home)
  const files = new Files(home)
  const faults = new ChatFaults()
  const exchange = new Exchange({
    book,
    files,
    behaviour: (number) => network.handsets.behaviour(number),
    pictureUrl: (id) => `http://127.0.0.1:${controlPort()}/pictures/${id}`,
    post: (letter) => server.post(letter),
  })
  const groups = new Groups(exchange, files)
  const server = new ChatServer({ book, files, exchange, groups, faults, token })
  return {
    book,
    files,
    exchange,
    groups,
    faults,
    server,
    close: () => {
      server.close()
      book.close()
    },
  }
}
