import { by, clock, show } from './dom.js'

const outcomes = {
  hangup: '',
  canceled: 'cancelled',
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
  CANCELED: 'cancelled',
  FAILED: 'failed',
  RINGING: 'ringing',
  ANSWERED: 'in call',
}

const element = (name, text, more = {}) => Object.assign(document.createElement(name), { textContent: text }, more)

const row = ({ isOut, number, at, seconds, outcome, price, recording }, dial) => {
  const line = document.createElement('li')
  const peer = element('button', number, { type: 'button', className: 'link' })
  peer.prepend(element('span', isOut ? '↗ ' : '↙ ', { ariaHidden: 'true', className: 'arrow' }))
  peer.title = isOut ? 'Outbound call' : 'Inbound call'
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
  // The caller gets the same answer from a busy line and from a user who declines.
  outcome: cdr.direction === 'I' && cdr.status === 'BUSY' ? 'declined' : (statuses[cdr.status] ?? ''),
  price: cdr.call_cost?.call_price,
  recording: cdr.recording_url,
})

/**
 * The list of calls: from the server if the account may read it, else of this page.
 * @param dial called with a number
 */
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
    /** @param reason from the SDK; seconds 0 when the call was not answered */
    ended: (call, at, seconds, reason) => {
      const isOut = call.direction === 'outbound'
      own.unshift({ isOut, number: call.remoteIdentity, at, seconds, outcome: outcomes[reason] ?? reason })
      own.length = Math.min(own.length, 8)
      void look()
      // The server writes the charge and the recording shortly after the call ends.
      if (account) setTimeout(look, 2000)
    },
  }
}
