import { by, clock, notify, notifyOf, say, show } from './dom.js'
import { hideEnded, showEnded } from './ended.js'
import { fillPad } from './pad.js'
import { showQuality } from './sound.js'

const titles = { idle: 'Telephone · Trunkline' }

/** The call on the page: one at a time. @param ended called with each ended call @param dial called with a number */
export const makeTalk = (ended, dial) => {
  let call = null
  let stop = () => {}
  /** @param time of the call so far, in its own element: screen readers read every change of the text */
  const state = (now, text, time = '') => {
    by('line').dataset.state = now
    if (by('what').textContent !== text) say('what', text)
    say('time', time)
    document.title = titles[now] ?? `${text} ${time} · Trunkline`
  }
  const press = (id, isOn) => by(id).setAttribute('aria-pressed', String(isOn))
  const name = (id, text) => {
    by(id).lastElementChild.textContent = text
  }
  const attempt = async (run) => {
    try {
      await run()
    } catch (error) {
      notifyOf(error)
    }
  }

  const talking = () => {
    const since = Date.now()
    const tick = () => {
      const seconds = Math.floor((Date.now() - since) / 1000)
      state('talking', call.isOnHold() ? 'On hold' : 'In call', clock(seconds))
    }
    tick()
    const timer = setInterval(tick, 500)
    stop = () => clearInterval(timer)
    return since
  }

  const follow = (next) => {
    call = next
    const began = Date.now()
    let since = null
    notify(null)
    hideEnded()
    say('who', call.remoteIdentity)
    say('dialled', '')
    const isIn = call.direction === 'inbound'
    name('hang-up', isIn ? 'Decline' : 'Hang up')
    state(isIn ? 'incoming' : 'calling', isIn ? 'Incoming call' : 'Calling …')
    press('mute', false)
    press('hold', false)
    press('keypad', false)
    pad.hidden = true
    call.on('ringing', () => {
      if (!isIn) state('calling', 'Ringing …')
    })
    call.on('accepted', () => {
      name('hang-up', 'Hang up')
      since = talking()
    })
    call.on('mute', ({ muted }) => press('mute', muted))
    call.on('hold', ({ onHold, by: whose }) => whose === 'local' && press('hold', onHold))
    call.on('quality', showQuality)
    // The reason of an ended call is shown at its end.
    call.on('error', (error) => error.code === 'MEDIA_FAILED' && notifyOf(error))
    call.on('disconnect', (end) => {
      stop()
      const seconds = since === null ? null : Math.round((Date.now() - since) / 1000)
      const over = call
      call = null
      showQuality(null)
      state('idle', '')
      showEnded(end, over, seconds, dial)
      ended(over, began, seconds ?? 0, end.reason)
    })
  }

  const digits = (key) => {
    if (!call) return
    call.sendDigits(key)
    say('dialled', (by('dialled').textContent + key).slice(-24))
  }
  const pad = document.querySelector('.pad[data-for=talk]')
  fillPad(pad, (key) => attempt(() => digits(key)))

  by('accept').onclick = () => attempt(() => call?.accept())
  by('hang-up').onclick = () =>
    attempt(() => (by('line').dataset.state === 'incoming' ? call?.reject() : call?.disconnect()))
  by('mute').onclick = () => call?.mute(!call.isMuted())
  by('hold').onclick = () => attempt(() => call?.hold(!call.isOnHold()))
  by('keypad').onclick = () => {
    pad.hidden = !pad.hidden
    press('keypad', !pad.hidden)
  }
  addEventListener('keydown', ({ key, target, ctrlKey, metaKey, altKey }) => {
    const isTyping = target instanceof HTMLInputElement || target instanceof HTMLSelectElement
    if (isTyping || ctrlKey || metaKey || altKey || by('line').dataset.state !== 'talking') return
    if (/^[0-9*#]$/.test(key)) void attempt(() => digits(key))
    else if (key.toLowerCase() === 'm') by('mute').click()
  })
  show('phone', true)
  return { follow, current: () => call }
}
