import { by, clock, notify, notifyOf, say, show } from './dom.js'
import { fillPad } from './pad.js'
import { showQuality } from './sound.js'

const titles = { idle: 'Telephone · Trunkline' }

/** The call on the page: one at a time. @param ended told of each that is over */
export const makeTalk = (ended) => {
  let call = null
  let stop = () => {}
  const state = (now, text) => {
    by('line').dataset.state = now
    say('what', text)
    document.title = titles[now] ?? `${text} · Trunkline`
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
      state('talking', call.isOnHold() ? `On hold · ${clock(seconds)}` : clock(seconds))
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
    say('who', call.remoteIdentity)
    say('dialled', '')
    const isIn = call.direction === 'inbound'
    name('hang-up', isIn ? 'Decline' : 'Hang up')
    state(isIn ? 'incoming' : 'calling', isIn ? 'is calling' : 'Calling …')
    press('mute', false)
    press('hold', false)
    press('keypad', false)
    pad.hidden = true
    call.on('ringing', () => {
      if (!isIn) state('calling', 'It rings')
    })
    call.on('accepted', () => {
      name('hang-up', 'Hang up')
      since = talking()
    })
    call.on('mute', ({ muted }) => press('mute', muted))
    call.on('hold', ({ onHold, by: whose }) => whose === 'local' && press('hold', onHold))
    call.on('quality', showQuality)
    call.on('error', ({ message }) => notify(message))
    call.on('disconnect', ({ reason }) => {
      stop()
      const over = call
      call = null
      showQuality(null)
      state('idle', '')
      ended(over, began, since === null ? 0 : Math.round((Date.now() - since) / 1000), reason)
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
