import { useEffect } from 'preact/hooks'
import type { PhoneCall } from '../shell/phone-state.ts'
import { words } from '../words/en/phone.ts'
import { nameOf } from './names.ts'

/** While a call rings, the title of the window says so. */
export const useRingingTitle = (call: PhoneCall | undefined): void => {
  const name = call ? nameOf(call) : ''
  useEffect(() => {
    if (!call) return
    const before = document.title
    const ringing = `☎ ${words.announce.incoming(name, '')}`
    document.title = ringing
    return () => {
      // The page may have set another title meanwhile. News put a count before it.
      if (document.title.endsWith(ringing)) document.title = before
    }
  }, [call?.id, name])
}
