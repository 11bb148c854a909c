import type { Behaviour } from '../handsets.ts'
import { type Exchange, newId, Refusal, type Writing } from './exchange.ts'

// What somebody does on the phone of a line, beside the platform: its line is told of it.

/** How long a call lasts, milliseconds. */
const lasting = 1_000

const demandLine = (exchange: Exchange, line: string): void => {
  if (!exchange.isLine(line)) throw new Refusal('no_line', `${line} is not on the network`)
}

const demandThere = (exchange: Exchange, line: string, number: string): void => {
  if (number === line || !exchange.isThere(number))
    throw new Refusal('not_on_network', `${number} is not on the network`)
}

/** Writes to a number or to a group. @param url where the file lies @returns the message's id @throws Refusal */
export const writeOnPhone = (
  exchange: Exchange,
  line: string,
  { to, text, file, pin }: Writing,
  url: string | null,
): string => {
  demandLine(exchange, line)
  if ('number' in to) demandThere(exchange, line, to.number)
  const room = 'group' in to ? exchange.room(to.group, line) : null
  const id = newId()
  exchange.tell(line, {
    news: 'message',
    message: {
      id,
      from: 'number' in to ? to.number : line,
      own: true,
      pushname: exchange.profile(line).name,
      group: room && { id: room.id, name: room.name },
      at: Date.now(),
      text,
      file,
      pin,
    },
  })
  exchange.send(line, { sending: id, id, to, text, url, pin })
  return id
}

const isAnswering = ({ answers }: Behaviour): boolean =>
  answers !== 'busy' && answers !== 'no_answer' && answers !== 'reject'

/** Calls a number. @returns the call's id @throws Refusal */
export const callOnPhone = (exchange: Exchange, line: string, number: string, video: boolean): string => {
  demandLine(exchange, line)
  demandThere(exchange, line, number)
  if (exchange.isLine(number)) exchange.call(line, number, video)
  const id = newId()
  const at = Date.now()
  const call = { news: 'call', id, from: number, own: true, video } as const
  // Nobody takes a call on a number of the platform.
  const answered = !exchange.isLine(number) && isAnswering(exchange.parts.behaviour(number))
  exchange.tell(line, { ...call, at, state: 'offered' })
  exchange.tell(line, { ...call, at: at + lasting, state: 'ended', answered }, null, at + lasting)
  return id
}
