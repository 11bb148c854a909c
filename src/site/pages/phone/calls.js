import { by, clock, show } from './dom.js'

const outcomes = {
  hangup: '',
  canceled: 'taken back',
  rejected: 'rejected',
  busy: 'busy',
  no_answer: 'no answer',
  lost: 'lost',
  failed: 'failed',
}
const statuses = {
  BUSY: 'busy',
  NO_ANSWER: 'no answer',
  MISSED: 'missed',
  CANCELED: 'taken back',
  FAILED: 'failed',
  RINGING: 'ringing',
  ANSWERED: 'talking',
}

const element = (name, text, more = {}) => Object.assign(document.createElement(name), { textContent: text }, more)

const row = ({ isOut, number, at, seconds, outcome, price, recording }, dial) => {
  const line = document.createElement('li')
  const peer = element('button', `${isOut ? '↗' : '↙'} ${number}`, { type: 'button', className: 'link' })
  peer.addEventListener('click', () => dial(number))
  const time = new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })
  line.append(peer, element('span', outcome || clock(seconds)), element('span', time))
  if (price !== undefined && !outcome) line.append(element('span', `$${price.toFixed(4)}`))
  if (recording) line.append(Object.assign(new Audio(recording), { controls: true, preload: 'metadata' }))
  return line
}

const ofRecord = (cdr) => ({
  isOut: cdr.direction === 'O',
  number: cdr.direction === 'O' ? cdr.to_number : cdr.from,
  at: cdr.start_time ?? cdr.created_at,
  seconds: cdr.duration ?? 0,
  // Who calls hears the same of a line that is busy and of somebody who declines.
  outcome: cdr.direction === 'I' && cdr.status === 'BUSY' ? 'declined' : (statuses[cdr.status] ?? ''),
  price: cdr.call_cost?.call_price,
  recording: cdr.recording_url,
})

/** The list of calls: of the server where it may be asked, else of this page. @param dial called with a number */
export const makeCalls = (account, dial) => {
  const own = []
  const draw = (rows) => {
    by('calls').replaceChildren(...rows.map((one) => row(one, dial)))
    show('no-calls', rows.length === 0)
  }
  const look = async () => {
    if (!account) return draw(own)
    try {
      draw((await account.calls()).map(ofRecord))
    } catch {
      draw(own)
    }
  }
  void look()
  return {
    /** @param reason of the SDK; seconds 0 when nobody talked */
    ended: (call, at, seconds, reason) => {
      const isOut = call.direction === 'outbound'
      own.unshift({ isOut, number: call.remoteIdentity, at, seconds, outcome: outcomes[reason] ?? reason })
      own.length = Math.min(own.length, 8)
      void look()
      // What it cost, and its recording, are written a moment after it ended.
      if (account) setTimeout(look, 2000)
    },
  }
}
