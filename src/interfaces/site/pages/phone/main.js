import { makeAccount } from './account.js'
import { makeCalls } from './calls.js'
import { by, focusNumber, notify, notifyOf, say, show } from './dom.js'
import { hideEnded } from './ended.js'
import { fillPad } from './pad.js'
import { makeRingtone } from './ring.js'
import { prepareSandbox } from './sandbox.js'
import { media, prepareSound } from './sound.js'
import { makeTalk } from './talk.js'

const isSandbox = document.body.dataset.sandbox === 'true'

const standing = (state, text) => {
  by('standing').dataset.state = state
  say('standing', text)
}

const reasons = {
  replaced: ['Signed in elsewhere', 'This user signed in on another page, where calls ring now.', 'Take calls here'],
  expired: ['Token expired', 'The token has expired.', 'Sign in again'],
  suspended: ['Suspended', 'This user was suspended and cannot make calls. Ask the manager of the account.', null],
}

const write = (number) => {
  by('number').value = number
  focusNumber()
}

/**
 * @param account what a key can do, for records and new tokens; null with a token alone
 * @param user as far as it is known
 */
const start = async (token, account = null, user = null) => {
  // The page itself shows errors to the user.
  const quiet = { logLevel: 'error', ringtoneUrl: makeRingtone() }
  const device = new Trunkline.Device({ token, baseUrl: location.origin, media, ...quiet })
  standing('waiting', 'Signing in …')
  const dial = async (number) => {
    if (talk.current() || by('call').disabled || number.trim() === '') return
    by('call').disabled = true
    notify(null)
    try {
      talk.follow(await device.connect({ to: number, headers: by('record').checked ? { Record: 'true' } : {} }))
    } catch (error) {
      notifyOf(error)
    } finally {
      by('call').disabled = by('standing').dataset.state !== 'here'
    }
  }
  const name = user ? `${user.first_name} ${user.last_name} · ready` : 'Ready'
  const here = () => {
    standing('here', name)
    by('call').disabled = false
  }
  device.on('registered', here)
  device.on('reconnected', here)
  device.on('reconnecting', () => standing('waiting', 'Reconnecting …'))
  device.on('incoming', (call) => talk.follow(call))
  device.on('tokenWillExpire', async ({ expiresAt }) => {
    try {
      if (account) await device.updateToken(await account.token(user.uuid))
      else notify(`The token ends at ${expiresAt.toLocaleTimeString()}: calls go on, then sign in with a new one.`)
    } catch (error) {
      notifyOf(error)
    }
  })
  device.on('unregistered', ({ reason }) => {
    const [short, long, label] = reasons[reason] ?? ['Signed out', null, null]
    standing('gone', short)
    if (reason === 'replaced') hideEnded()
    notify(long, label && { label, run: reason === 'replaced' ? takeBack : () => location.reload() })
    by('call').disabled = true
  })
  const takeBack = async () => {
    notify(null)
    standing('waiting', 'Signing in …')
    try {
      await device.register()
    } catch ({ message }) {
      standing('gone', 'Signed out')
      notify(message, { label: 'Try again', run: takeBack })
    }
  }
  await device.register()

  show('door', false)
  const calls = makeCalls(account, write)
  const talk = makeTalk(calls.ended, dial)
  show('sign-out', true)
  by('sign-out').onclick = () => location.reload()
  by('dial').onsubmit = (event) => {
    event.preventDefault()
    void dial(by('number').value)
  }
  focusNumber()
  await Promise.all([prepareSound(talk.current), account && prepareSandbox(account, user.uuid, write)])
}

const fail = (error) => {
  standing('away', 'Signed out')
  notifyOf(error)
}

const within = async (form, run) => {
  const button = form.querySelector('button')
  button.disabled = true
  notify(null)
  try {
    await run()
  } catch (error) {
    fail(error)
  } finally {
    button.disabled = false
  }
}

by('with-token').onsubmit = (event) => {
  event.preventDefault()
  const form = event.target
  void within(form, () => start(form.token.value.trim()))
}

by('with-key').onsubmit = (event) => {
  event.preventDefault()
  const form = event.target
  void within(form, async () => {
    const account = makeAccount(form.key.value.trim())
    const [user] = await account.users()
    if (!user) throw new Error('The account has no active user: add one on the command line.')
    await start(await account.token(user.uuid), account, user)
  })
}

const press = (key) => {
  const field = by('number')
  field.value += key === '0' && field.value === '' ? '+' : key
  focusNumber()
}
fillPad(document.querySelector('.pad[data-for=dial]'), press)
by('erase-last').onclick = () => {
  by('number').value = by('number').value.slice(0, -1)
  focusNumber()
}
const way = (isByKey) => {
  show('with-key', isByKey)
  show('with-token', !isByKey)
  say('other-way', isByKey ? 'Sign in with a voice token instead' : 'Sign in with an API key of the sandbox instead')
  by('other-way').onclick = () => way(!isByKey)
}
show('other-way', isSandbox)
way(isSandbox)

// A link may carry a token: browsers send the part after # to no server.
const [, brought] = /^#token=(.+)$/.exec(location.hash) ?? []
if (brought) {
  history.replaceState(null, '', location.pathname)
  start(brought).catch(fail)
}
