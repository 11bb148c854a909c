import { by, clock, say, show } from './dom.js'

const titles = {
  canceled: 'Call cancelled',
  rejected: 'Call declined',
  busy: 'Busy',
  no_answer: 'No answer',
  lost: 'Call lost',
  failed: 'Call failed',
}

/** Phrases of SIP (RFC 3261, 21) that a carrier answers with. */
const phrases = new Map([
  ['Not Found', 'the number does not exist'],
  ['Gone', 'the number does not exist any more'],
  ['Address Incomplete', 'the number is incomplete'],
  ['Not Acceptable Here', 'the other side does not accept the audio formats'],
  ['Server Internal Error', 'the network has a fault. Try again later'],
  ['Bad Gateway', 'the network has a fault. Try again later'],
  ['Service Unavailable', 'the network cannot take the call now. Try again later'],
])

/** @returns the title and a sentence */
const words = ({ reason, by: whose, status, message }, who, isIn, seconds) => {
  const isOurs = whose === 'local'
  const missed = isIn && reason === 'canceled'
  const title = seconds === null ? (missed ? 'Missed call' : titles[reason]) : titles[reason]
  const after = seconds === null ? '' : ` after ${clock(seconds)}`
  const sentences = {
    hangup: isOurs ? `You hung up the call with ${who}.` : `${who} hung up.`,
    canceled: isOurs ? `You cancelled the call to ${who}.` : `${who} hung up before you answered.`,
    rejected: isOurs ? `You declined the call from ${who}.` : `${who} declined the call.`,
    busy: `${who} is busy.`,
    no_answer: `${who} did not answer.`,
    lost: `The connection of the call with ${who} was lost.`,
    failed: `The call ${isIn ? 'from' : 'to'} ${who} failed: ${phrases.get(message) ?? message}${status ? ` (${status})` : ''}.`,
  }
  const cut = { hangup: `The server ended the call with ${who}: ${message}.` }
  // The SDK's reason for a call without a media path.
  const silent = { lost: `No sound could pass between this browser and the server in the call with ${who}.` }
  const special = { ...(status >= 300 ? cut : {}), ...(message === 'RTP Timeout' ? silent : {}) }
  return [`${title ?? 'Call ended'}${after}`, special[reason] ?? sentences[reason]]
}

export const hideEnded = () => show('ended', false)

/**
 * Shows the result of a call until the next one: the other side, the duration and the reason of its end.
 * @param end from the SDK
 * @param seconds null when the call was not answered
 * @param again called with the number
 */
export const showEnded = (end, call, seconds, again) => {
  const isIn = call.direction === 'inbound'
  const [title, sentence] = words(end, call.remoteIdentity, isIn, seconds)
  say('ended-title', title)
  say('ended-why', sentence)
  by('ended').dataset.isFine = String(end.reason === 'hangup' || (end.by === 'local' && end.reason !== 'failed'))
  say('again', isIn ? 'Call back' : 'Call again')
  by('again').onclick = () => again(call.remoteIdentity)
  by('close-ended').onclick = hideEnded
  show('ended', true)
}
