// A telephone in a page, made with @trunkline/voice-sdk alone. Copy these three files, and let your server fill in the
// token: a key never belongs in a page.

const { Device } = globalThis.Trunkline

const element = (id) => document.getElementById(id)
const write = (id, text) => {
  element(id).textContent = text
}

/** The parts of the page that each state shows. */
const shownIn = {
  'sign-in': ['signed-out'],
  register: ['elsewhere'],
  dial: ['ready'],
  ended: ['ready'],
  call: ['calling', 'incoming', 'talking'],
  acts: ['calling', 'incoming', 'talking'],
  accept: ['incoming'],
  mute: ['talking'],
  keys: ['talking'],
}
let state = 'signed-out'
const show = (next) => {
  state = next
  document.body.dataset.state = next
  for (const [id, states] of Object.entries(shownIn)) element(id).hidden = !states.includes(next)
}

const report = (text) => {
  write('problem', text)
  element('problem').hidden = text === ''
}

/** Runs an act of the person, and shows its error: errors of the SDK have a code and a message. */
const attempt = async (act) => {
  report('')
  try {
    await act()
  } catch ({ code, message }) {
    report(code === 'MEDIA_DENIED' ? `${message}. Allow it next to the address of this page.` : message)
  }
}

// The call: one at a time.

let call = null
/** The state outside calls. */
let resting = 'signed-out'
const rest = (next) => {
  resting = next
  if (!call) show(next)
}

const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`

/** Says how a call ended. `end` is what the SDK reports: docs of the event `disconnect`. */
const sentenceOf = ({ reason, by, status, message }, peer) => {
  const isOurs = by === 'local'
  if (reason === 'hangup' && status >= 300) return `The server ended the call with ${peer}: ${message}.`
  const sentences = {
    hangup: isOurs ? `You hung up the call with ${peer}.` : `${peer} hung up.`,
    canceled: isOurs ? `You cancelled the call to ${peer}.` : `${peer} hung up before you answered.`,
    rejected: isOurs ? `You declined the call from ${peer}.` : `${peer} declined the call.`,
    busy: `${peer} is busy.`,
    no_answer: `${peer} did not answer.`,
    lost: `The connection of the call with ${peer} was lost.`,
  }
  return sentences[reason] ?? `The call with ${peer} failed: ${message}${status ? ` (${status})` : ''}.`
}

const follow = (next) => {
  call = next
  const isIncoming = call.direction === 'inbound'
  let timer
  write('peer', call.remoteIdentity)
  write('call-state', isIncoming ? 'Incoming call' : 'Calling …')
  write('time', '')
  write('keys-sent', '')
  write('hang-up', isIncoming ? 'Decline' : 'Hang up')
  element('mute').setAttribute('aria-pressed', 'false')
  show(isIncoming ? 'incoming' : 'calling')
  element(isIncoming ? 'accept' : 'hang-up').focus()

  call.on('ringing', () => {
    if (!isIncoming) write('call-state', 'Ringing …')
  })
  call.on('accepted', () => {
    const since = Date.now()
    const tick = () => write('time', clock(Math.floor((Date.now() - since) / 1000)))
    tick()
    timer = setInterval(tick, 1000)
    write('call-state', 'In call')
    write('hang-up', 'Hang up')
    show('talking')
  })
  call.on('mute', ({ muted }) => element('mute').setAttribute('aria-pressed', String(muted)))
  call.on('disconnect', (end) => {
    clearInterval(timer)
    write('ended', sentenceOf(end, call.remoteIdentity))
    call = null
    show(resting)
    element('number').focus()
  })
}

element('accept').onclick = () => attempt(() => call?.accept())
element('hang-up').onclick = () => attempt(() => (state === 'incoming' ? call?.reject() : call?.disconnect()))
element('mute').onclick = () => call?.mute(!call.isMuted())

const press = (key) => {
  if (state === 'talking') {
    call.sendDigits(key)
    write('keys-sent', (element('keys-sent').textContent + key).slice(-20))
  } else element('number').value += key === '0' && element('number').value === '' ? '+' : key
}
for (const keypad of document.querySelectorAll('.keypad'))
  for (const key of '123456789*0#') {
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: key })
    button.onclick = () => attempt(() => press(key))
    keypad.append(button)
  }
addEventListener('keydown', ({ key, ctrlKey, metaKey, altKey }) => {
  if (state === 'talking' && !ctrlKey && !metaKey && !altKey && /^[0-9*#]$/.test(key)) void attempt(() => press(key))
})

// The registration: the newest page of a user gets its calls.

const gone = {
  replaced: 'Calls ring on another page of this user now.',
  expired: 'The token has expired. Sign in with another one.',
  suspended: 'This user may not call any more.',
}

const signIn = async (token) => {
  write('status', 'Signing in …')
  const device = new Device({ token, logLevel: 'error' })
  const ready = () => {
    write('status', 'Ready')
    report('')
    rest('ready')
  }
  device.on('registered', ready)
  device.on('reconnected', () => write('status', 'Ready'))
  device.on('reconnecting', () => write('status', 'Reconnecting …'))
  device.on('incoming', follow)
  device.on('tokenWillExpire', ({ expiresAt }) => {
    // Your page asks your server for another token here, and calls device.updateToken(token).
    report(`The token ends at ${expiresAt.toLocaleTimeString()}. Sign in with another one then.`)
  })
  device.on('unregistered', ({ reason }) => {
    write('status', reason === 'replaced' ? 'Signed in elsewhere' : 'Signed out')
    report(gone[reason] ?? '')
    rest(reason === 'replaced' ? 'elsewhere' : 'signed-out')
  })
  element('register').onclick = () => attempt(() => device.register())
  element('dial').onsubmit = (event) => {
    event.preventDefault()
    element('connect').disabled = true
    void attempt(async () => {
      follow(await device.connect({ to: element('number').value.trim() }))
    }).finally(() => {
      element('connect').disabled = false
    })
  }
  try {
    await device.register()
  } catch (error) {
    write('status', 'Signed out')
    throw error
  }
  element('number').focus()
  if (!(await hasAddress())) report('Calls have no sound in this browser: it offers no network address for them.')
}

/** True if the browser offers a network address for sound. Some extensions and policies remove all of them. */
const hasAddress = async () => {
  const connection = new RTCPeerConnection()
  connection.addTransceiver('audio')
  const found = new Promise((resolve) => {
    connection.onicecandidate = ({ candidate }) => {
      if (candidate?.candidate) resolve(true)
      else if (candidate === null) resolve(false)
    }
    // Firefox without an address does not report the end. An address is found within 100 ms.
    setTimeout(resolve, 5_000, false)
  })
  await connection.setLocalDescription()
  return found.finally(() => connection.close())
}

element('sign-in').onsubmit = (event) => {
  event.preventDefault()
  void attempt(() => signIn(element('token').value.trim()))
}

// A link may carry a token: browsers send the part after # to no server.
const [, token] = /^#token=(.+)$/.exec(location.hash) ?? []
if (token) {
  history.replaceState(null, '', location.pathname)
  void attempt(() => signIn(token))
}
