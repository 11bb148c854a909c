import type { Behaviour } from '../handsets.ts'
import { type HandsetMessage, type MessageRouter, newId, Refusal } from './message-router.ts'

// Actions on the phone of a platform number, made outside the platform; the number is notified.

/** Duration of a call in milliseconds. */
const callMs = 1_000

const requirePlatformNumber = (exchange: MessageRouter, line: string): void => {
  if (!exchange.isPlatformNumber(line)) throw new Refusal('no_line', `${line} is not on the network`)
}

const requireOnNetwork = (exchange: MessageRouter, line: string, number: string): void => {
  if (number === line || !exchange.isOnNetwork(number))
    throw new Refusal('not_on_network', `${number} is not on the network`)
}

/** Writes to a number or a group. @param url URL of the file @returns the message's id @throws Refusal */
export const writeOnPhone = (
  exchange: MessageRouter,
  line: string,
  { to, text, file, pin }: HandsetMessage,
  url: string | null,
): string => {
  requirePlatformNumber(exchange, line)
  if ('number' in to) requireOnNetwork(exchange, line, to.number)
  const room = 'group' in to ? exchange.room(to.group, line) : null
  const id = newId()
  exchange.queueEvent(line, {
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
export const callOnPhone = (exchange: MessageRouter, line: string, number: string, video: boolean): string => {
  requirePlatformNumber(exchange, line)
  requireOnNetwork(exchange, line, number)
  if (exchange.isPlatformNumber(number)) exchange.call(line, number, video)
  const id = newId()
  const at = Date.now()
  const call = { news: 'call', id, from: number, own: true, video } as const
  // Calls to a number of the platform stay unanswered.
  const answered = !exchange.isPlatformNumber(number) && isAnswering(exchange.deps.behaviour(number))
  exchange.queueEvent(line, { ...call, at, state: 'offered' })
  exchange.queueEvent(line, { ...call, at: at + callMs, state: 'ended', answered }, null, at + callMs)
  return id
}
