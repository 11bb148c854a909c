import { by, notify, say, show } from './dom.js'

/** Prepares a first call for a newcomer: a number, someone to call, and an incoming call. */
export const prepareSandbox = async (account, user, write) => {
  const attempt = (id, run) => {
    by(id).onclick = async () => {
      by(id).disabled = true
      notify(null)
      try {
        await run()
      } catch (error) {
        notify(error.message)
      } finally {
        by(id).disabled = false
      }
    }
  }
  const owned = (number) => {
    show('no-number', number === null)
    show('own-number', number !== null)
    // A call without a number to call from is refused.
    show('hints', number !== null)
    if (number === null) return
    say('own', number.phone_number)
    attempt('be-called', async () => {
      if (number.inbound_user_uuid !== user) await account.ringAt(number, user)
      number.inbound_user_uuid = user
      await account.beCalled(number)
    })
  }
  attempt('get-number', async () => owned(await account.buyNumber()))
  for (const hint of document.querySelectorAll('#hints button')) hint.onclick = () => write(hint.dataset.number)
  owned(await account.number())
  show('sandbox', true)
}
